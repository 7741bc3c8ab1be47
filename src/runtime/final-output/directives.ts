import {
  fencesOf,
  isPlanFence,
  type Lost,
  resemblesDirective,
  startsDirective,
} from "../../contract/directives.ts";
import { check, sentencesOf } from "../../contract/problems.ts";
import { PlanTasks, type PlanTask, type Verdict, verdicts } from "../../contract/delegation.ts";
import { efforts } from "../../contract/agents.ts";
import { Name, text as textOf } from "../../contract/words.ts";
import { malformed } from "./texts.ts";

/**
 * Directives: requests of a brain without tools, in its final output. Each is one line, at the very start of the line and
 * outside code fences:
 *
 *   HIRE[<role>]: <mandate>
 *   HIRE[<role> | model=<model> effort=<low|medium|high|xhigh|max>]: <mandate>
 *   DELEGATE[<id or role>]: <subtask>
 *   VERDICT[<outcome id>]: PASS
 *   VERDICT[<outcome id>]: REWORK <what is missing>
 *   VERDICT[<outcome id>]: CLOSE <why it is given up>
 *
 * A plan is a code fence named `plan` that contains its tasks as JSON: a list, or {"tasks": [...]}.
 *
 * These become `malformed`, and the agent is told: a line that is almost a directive (with a bullet in front, or in small
 * letters), a plan that can't be parsed or is not in such a fence, and directives in the part of the output that was cut off.
 * A request must never be dropped silently, or be taken for the result of the work.
 *
 * A line that repeats the session's input is not a request of the agent. A brain that repeats its briefing must not carry out
 * the examples in it, or what others wrote into a message, a title or a result. An example is passed over; a
 * directive that another author wrote goes back to the agent.
 */
export type Directive =
  | {
      readonly kind: "hire";
      readonly line: string;
      readonly role: string;
      readonly mandate: string;
      readonly model: string | undefined;
      readonly effort: PlanTask["effort"];
    }
  | { readonly kind: "delegate"; readonly line: string; readonly to: string; readonly subtask: string }
  | { readonly kind: "plan"; readonly line: string; readonly tasks: readonly PlanTask[] }
  | {
      readonly kind: "verdict";
      readonly line: string;
      readonly outcome: string;
      readonly verdict: Verdict;
      readonly note: string;
    }
  | { readonly kind: "malformed"; readonly line: string; readonly why: string };

const mostDirectives = 50;
const mostMandate = 20_000;

/** `given` is the session's input. `lost` is what the cut-off part of its output contained. */
export function directivesIn(output: string, given = "", lost?: Lost): Directive[] {
  const own = new Set<string>();
  const quoted = new Set<string>();
  for (const line of linesOf(given)) {
    const bare = line.replace(/^(?:[ \t]*>)+ ?/, "");
    (bare === line ? own : quoted).add(bare.trim());
  }
  const isGiven = (line: string): boolean => own.has(line) || quoted.has(line);
  /** Whether the agent itself says this line: it is neither quoted nor repeated. */
  const isSaid = (line: string): boolean => !/^[ \t]*>/.test(line) && !isGiven(line.trim());
  const found = (lost?.directives ?? []).map((line) => cannotUse(line, malformed.tooEarly));
  const add = (directive: Directive, lines: readonly string[]): void => {
    const words = lines.map((line) => line.trim()).filter((line) => line !== "");
    if (words.length > 0 && words.every((line) => own.has(line))) return;
    found.push(
      words.length > 0 && words.every(isGiven) ? cannotUse(directive.line, malformed.repeated) : directive,
    );
  };
  const start = lost?.fence ?? null;
  const follow = fencesOf(start);
  let isCut = start !== null;
  let open = start;
  let inside: string[] = [];
  /** The lines outside of fences. They may contain a plan without a fence. */
  const outside: string[] = [];
  for (const line of linesOf(`${lost?.line ?? ""}${output}`.replace(/^\uFEFF/, ""))) {
    if (found.length > mostDirectives) break;
    const { at, fence } = follow(line);
    open = at === "closing" ? null : fence;
    if (at === "opening") inside = [];
    else if (at === "inside") inside.push(line);
    else if (at === "closing" && fence !== null) {
      if (isPlanFence(fence)) add(isCut ? cannotUse("a plan", malformed.tooEarly) : planIn(inside), inside);
      else if (mayHoldPlan.test(fence.name) && resemblesPlan(inside.filter(isSaid)))
        found.push(cannotUse(planLine(inside), malformed.planElsewhere));
      isCut = false;
    } else {
      const word = startsDirective.exec(line)?.[1];
      if (word !== undefined) add(readLine(word, line), [line]);
      else if (resemblesDirective.test(line)) add(cannotUse(line, malformed.notAtStart), [line]);
      else outside.push(line);
    }
  }
  const said = outside.filter(isSaid);
  if (said.some((line) => wronglyFenced.test(line)) || resemblesPlan(said))
    found.push(cannotUse(planLine(said), malformed.planElsewhere));
  // Only the end of a long output is kept, so a mark that seems to open a fence may have closed one. Directives after such a
  // mark would be skipped silently.
  const swallowed =
    open === null
      ? undefined
      : isPlanFence(open) || (mayHoldPlan.test(open.name) && resemblesPlan(inside))
        ? "a plan"
        : inside.find((line) => startsDirective.test(line));
  if (swallowed !== undefined) found.push(cannotUse(swallowed, malformed.openFence));
  if (found.length <= mostDirectives) return found;
  return [...found.slice(0, mostDirectives), cannotUse("the rest", malformed.tooMany(mostDirectives))];
}

const cannotUse = (line: string, why: string): Directive => ({ kind: "malformed", line, why });

const linesOf = (text: string): string[] => text.split(/\r?\n/);

/**
 * Names of fences in which brains put a plan by mistake. In a fence of another language, or one named `text`, the same lines
 * are an example.
 */
const mayHoldPlan = /^(?:json\w*|ya?ml|\S*plan\S*|tasks?)?(?:\s|$)/i;

/** The beginning of a plan that does not count as a fence, because it is indented or in a list. */
const wronglyFenced = /^[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]*)*(?:`{3,}|~{3,})[ \t]*plan\b/i;

/** Tasks with a title and an assignee each, as JSON or YAML, whether they can be parsed or not. */
function resemblesPlan(lines: readonly string[]): boolean {
  const has = (pattern: RegExp): boolean => lines.some((line) => pattern.test(line));
  const isJson = has(/["']title["']\s*:/) && has(/["']assignee["']\s*:/);
  const isYaml =
    has(/^[ \t]*-[ \t]+(?:title|assignee)[ \t]*:/) &&
    has(/^[ \t]*(?:-[ \t]+)?title[ \t]*:/) &&
    has(/^[ \t]*(?:-[ \t]+)?assignee[ \t]*:/);
  return isJson || isYaml;
}

const planLine = (lines: readonly string[]): string =>
  `a plan (${lines.join(" ").replace(/\s+/g, " ").trim().slice(0, 100).toWellFormed()})`;

function readLine(name: string, line: string): Directive {
  const no = (why: string): Directive => cannotUse(line, why);
  const parts = /^[A-Z]+\[([^[\]]*)\]:[ \t]*(.*)$/.exec(line);
  if (parts === null) return no(malformed.format(name));
  const inside = (parts[1] ?? "").trim();
  const rest = (parts[2] ?? "").trim();
  if (inside === "") return no(malformed.emptyBrackets);
  if (rest === "") return no(malformed.noText);
  if (!textOf(mostMandate).safeParse(rest).success) return no(malformed.badText(mostMandate));
  if (name === "HIRE") return readHire(line, inside, rest, no);
  if (name === "DELEGATE") return { kind: "delegate", line, to: inside, subtask: rest };
  const [, word, text = ""] = /^(PASS|REWORK|CLOSE)(?:[ \t:,.–—-]+(.*))?$/.exec(rest) ?? [];
  const verdict = verdicts.find((known) => known === word?.toLowerCase());
  const note = text.trim();
  if (verdict === undefined || (verdict !== "pass" && note === "")) return no(malformed.verdict);
  return { kind: "verdict", line, outcome: inside.toLowerCase(), verdict, note };
}

function readHire(line: string, inside: string, mandate: string, no: (why: string) => Directive): Directive {
  const [who = "", options, ...more] = inside.split("|");
  const role = Name.safeParse(who);
  if (!role.success) return no(malformed.role);
  if (more.length > 0 || /(?:^|[\s,;])(?:model|effort)\s*=/i.test(who)) return no(malformed.optionPlace);
  let model: string | undefined;
  let effort: PlanTask["effort"];
  for (const option of (options ?? "").split(/[\s,;]+/).filter((word) => word !== "")) {
    const [, key, value = ""] = /^(model|effort)=(.+)$/.exec(option) ?? [];
    const known = efforts.find((name) => name === value);
    if (key === "model" && model === undefined && value.length <= 100) model = value;
    else if (key === "effort" && effort === undefined && known !== undefined) effort = known;
    else return no(malformed.option(option.slice(0, 60), efforts));
  }
  if (options !== undefined && model === undefined && effort === undefined) return no(malformed.noOption);
  return { kind: "hire", line, role: role.data, mandate, model, effort };
}

function planIn(lines: readonly string[]): Directive {
  const line = planLine(lines);
  let value: unknown;
  try {
    value = JSON.parse(lines.join("\n"));
  } catch (error) {
    return cannotUse(line, malformed.notJson(error instanceof Error ? error.message : ""));
  }
  const list = typeof value === "object" && value !== null && "tasks" in value ? value.tasks : value;
  const checked = check(PlanTasks, list, "tasks");
  if ("data" in checked) return { kind: "plan", line, tasks: checked.data };
  return cannotUse(line, malformed.notTasks(sentencesOf(checked.problems).replace(/\.$/, "")));
}
