import { check, sentencesOf } from "../../contract/problems.ts";
import { PlanTasks, type PlanTask } from "../../contract/outcomes.ts";
import { efforts } from "../../contract/hiring.ts";
import { Name, text as textOf } from "../../contract/words.ts";
import { malformed } from "./texts.ts";

/**
 * The directives by which a brain without tools asks for something in its final output. Each is one line, at the very
 * start of the line and outside code fences:
 *
 *   HIRE[<role>]: <mandate>
 *   HIRE[<role> | model=<model> effort=<low|medium|high|xhigh|max>]: <mandate>
 *   DELEGATE[<id or role>]: <subtask>
 *   VERDICT[<outcome id>]: PASS
 *   VERDICT[<outcome id>]: REWORK <what is missing>
 *
 * A plan is a code fence named `plan` that contains its tasks as JSON: a list, or {"tasks": [...]}. A line that is almost a
 * directive (with a bullet in front, or in small letters) and a plan that can't be parsed become `malformed`, and the
 * agent is told. A request must never be dropped silently, or be taken for the result of the work.
 *
 * A line that repeats what the session was given is not a request of the agent. A brain that repeats its briefing must not
 * carry out its examples, or what others wrote into a message, a title or a result. An example is passed over; a
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
      readonly passes: boolean;
      readonly reason: string;
    }
  | { readonly kind: "malformed"; readonly line: string; readonly why: string };

/** Almost a directive: after a bullet, a number or an emphasis, indented, or in small letters. */
const almost =
  /^[ \t]*(?:(?:[-*+•–—]|\d{1,3}[.)])[ \t]+)?[*_]{0,3}(?:HIRE|DELEGATE|VERDICT)[ \t]?\[[^[\]]+\][*_]{0,3}:/i;

const begins = /^(HIRE|DELEGATE|VERDICT)\[/;

const mostDirectives = 50;
const mostMandate = 20_000;

export function directivesIn(output: string, given = ""): Directive[] {
  const own = new Set<string>();
  const quoted = new Set<string>();
  for (const line of linesOf(given)) {
    const bare = line.replace(/^(?:[ \t]*>)+ ?/, "");
    (bare === line ? own : quoted).add(bare.trim());
  }
  const found: Directive[] = [];
  const add = (directive: Directive, lines: readonly string[]): void => {
    const words = lines.map((line) => line.trim()).filter((line) => line !== "");
    if (words.every((line) => own.has(line))) return;
    const isRepeated = words.every((line) => own.has(line) || quoted.has(line));
    found.push(isRepeated ? { kind: "malformed", line: directive.line, why: malformed.repeated } : directive);
  };
  let fence: { mark: string; isPlan: boolean; lines: string[] } | null = null;
  for (const line of linesOf(output.replace(/^\uFEFF/, ""))) {
    if (found.length > mostDirectives) break;
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    if (fence !== null) {
      if (mark !== null && closes(fence.mark, mark)) {
        if (fence.isPlan) add(planIn(fence.lines.join("\n")), fence.lines);
        fence = null;
      } else fence.lines.push(line);
      continue;
    }
    if (mark !== null) {
      const isPlan = /^plan(\s|$)/i.test((mark[2] ?? "").trim());
      fence = { mark: mark[1] ?? "", isPlan, lines: [] };
      continue;
    }
    const word = begins.exec(line)?.[1];
    if (word !== undefined) add(readLine(word, line), [line]);
    else if (almost.test(line)) add({ kind: "malformed", line, why: malformed.notAtStart }, [line]);
  }
  // Only the end of a long output is kept, so a mark that seems to open a fence may have closed one. Directives after it
  // would then be skipped silently.
  const swallowed = fence?.isPlan === true ? "a plan" : fence?.lines.find((line) => begins.test(line));
  if (swallowed !== undefined) found.push(cannotUse(swallowed, malformed.openFence));
  if (found.length <= mostDirectives) return found;
  return [...found.slice(0, mostDirectives), cannotUse("the rest", malformed.tooMany(mostDirectives))];
}

const cannotUse = (line: string, why: string): Directive => ({ kind: "malformed", line, why });

const linesOf = (text: string): string[] => text.split(/\r?\n/);

function closes(opened: string, [, mark = "", rest = ""]: RegExpExecArray): boolean {
  return mark[0] === opened[0] && mark.length >= opened.length && rest.trim() === "";
}

function readLine(word: string, line: string): Directive {
  const no = (why: string): Directive => cannotUse(line, why);
  const parts = /^[A-Z]+\[([^[\]]*)\]:[ \t]*(.*)$/.exec(line);
  if (parts === null) return no(malformed.format(word));
  const inside = (parts[1] ?? "").trim();
  const rest = (parts[2] ?? "").trim();
  if (inside === "") return no(malformed.emptyBrackets);
  if (rest === "") return no(malformed.noText);
  if (!textOf(mostMandate).safeParse(rest).success) return no(malformed.badText(mostMandate));
  if (word === "HIRE") return readHire(line, inside, rest, no);
  if (word === "DELEGATE") return { kind: "delegate", line, to: inside, subtask: rest };
  const verdict = /^(PASS|REWORK)(?:[ \t:,.–—-]+(.*))?$/.exec(rest);
  const reason = (verdict?.[2] ?? "").trim();
  if (verdict === null || (verdict[1] === "REWORK" && reason === "")) return no(malformed.verdict);
  return { kind: "verdict", line, outcome: inside.toLowerCase(), passes: verdict[1] === "PASS", reason };
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

function planIn(json: string): Directive {
  const line = `a plan (${json.replace(/\s+/g, " ").trim().slice(0, 100).toWellFormed()})`;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    return cannotUse(line, malformed.notJson(error instanceof Error ? error.message : ""));
  }
  const list = typeof value === "object" && value !== null && "tasks" in value ? value.tasks : value;
  const checked = check(PlanTasks, list, "tasks");
  if ("data" in checked) return { kind: "plan", line, tasks: checked.data };
  return cannotUse(line, malformed.notTasks(sentencesOf(checked.problems).replace(/\.$/, "")));
}
