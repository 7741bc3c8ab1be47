import { measures } from "../contract/budgets.ts";
import { z } from "zod";
import { listComments, listRevisions } from "../contract/approvals.ts";
import { explainAccess } from "../contract/capabilities.ts";
import { viewCompany } from "../contract/companies.ts";
import { viewLinks } from "../contract/knowledge.ts";
import { flagOf, type Output } from "../contract/operation.ts";
import { measuredAmount, dollars, plural, thousands } from "../contract/phrases.ts";
import { moveSentence, planReorganization, Reorganization } from "../contract/reorganization.ts";
import { viewSession } from "../contract/sessions.ts";
import { authorOf } from "./approvals.ts";
import { type Drawing, lasting, plain, type Screens, stated, styled, when } from "./look.ts";
import { indented } from "./show.ts";
import { section } from "./texts.ts";

/** One thing on a page: a first line that says what it is, then labelled lines, then the next commands. */
export const recordScreens: Screens = {
  "companies view": (output, look) => drawCompany(viewCompany.output.parse(output), look),
  "sessions view": (output, look) => drawSession(viewSession.output.parse(output), look),
  "access explain": (output) => drawExplanation(explainAccess.output.parse(output)),
  "approvals comments": (output, look) => drawComments(listComments.output.parse(output), look),
  "approvals revisions": (output, look) => drawRevisions(listRevisions.output.parse(output), look),
  "kb links": (output) => drawLinks(viewLinks.output.parse(output)),
  "reorg plan": (output) => {
    const plan = planReorganization.output.parse(output);
    return [
      `This would make ${plural(plan.moves.length, "change")}:`,
      ...recordLines(plan),
      "Apply it: agency reorg apply '<the same change>'",
    ].join("\n");
  },
  "reorg apply": (output, look) => drawReorganization(Reorganization.parse(output), look),
  "reorg view": (output, look) => drawReorganization(Reorganization.parse(output), look),
};

/** Lines with a label. Those without a value are left out. */
export const labelled = (rows: Readonly<Record<string, string | null | undefined>>): string[] =>
  Object.entries(rows).flatMap(([label, value]) =>
    value === null || value === undefined || value === "" ? [] : [`${label.padEnd(11)}${indented(value)}`],
  );

/** The settings, by the flags that change them. */
function drawCompany(company: Output<typeof viewCompany>, look: Drawing): string {
  const { name, slug, state, settings, frozenAt, frozenReason, createdAt } = company;
  const flags = Object.entries(settings).map(([key, value]) => ({
    setting: flagOf(key),
    value: amountIn(value) ?? plain(value, look),
  }));
  const width = Math.max(...flags.map(({ setting }) => setting.length)) + 2;
  return [
    `${styled("bold", name)} (${stated(state)})`,
    ...labelled({
      Frozen: frozenAt && `${when(frozenAt, look.now)}${frozenReason === null ? "" : `: ${frozenReason}`}`,
      Created: when(createdAt, look.now),
    }),
    "",
    styled("bold", "Settings"),
    ...flags.map(({ setting, value }) => `  ${setting.padEnd(width)}${value}`),
    "",
    `To change one: agency companies update --company ${slug} --max-sessions 8`,
  ].join("\n");
}

const Amount = z.object({
  usd: z.number().nullish(),
  tokens: z.number().nullish(),
  sessions: z.number().nullish(),
});

function amountIn(value: unknown): string | undefined {
  const amount = Amount.strict().safeParse(value);
  if (!amount.success || Object.keys(amount.data).length === 0) return undefined;
  const parts = measures.flatMap((measure) => {
    const limit = amount.data[measure];
    return limit == null ? [] : [measuredAmount(measure, limit)];
  });
  return parts.join(", ") || "no limit";
}

function drawSession(session: Output<typeof viewSession>, look: Drawing): string {
  const { id, agent, startedAt, endedAt, endReason, end, outcome, usage, toolCalls, summary } = session;
  const { inputTokens, outputTokens, costUsd } = usage;
  const took = Date.parse(endedAt ?? new Date(look.now).toISOString()) - Date.parse(startedAt);
  return [
    `${styled("bold", `Session ${id} of ${agent.name}`)} ${stated(end)}`,
    ...labelled({
      "Work on": outcome?.title,
      Started: when(startedAt, look.now),
      Ended: endedAt && `${when(endedAt, look.now)}, after ${lasting(took)}: ${endReason ?? "done"}`,
      Used: `${dollars(costUsd)}, ${thousands(inputTokens + outputTokens)} tokens${toolCalls === null ? "" : `, ${plural(toolCalls, "tool call")}`}`,
      Models: session.models.map(({ model }) => model).join(", "),
      "Last line": session.lastLine,
      Summary: summary,
    }),
    "",
    endedAt === null
      ? `Follow it: agency sessions follow ${id}`
      : `What it did: agency sessions transcript ${id}`,
  ].join("\n");
}

function drawExplanation({
  allowed,
  agent,
  level,
  resource,
  because,
  fix,
}: Output<typeof explainAccess>): string {
  return [
    `${agent.name} ${allowed ? "can" : "can't"} ${level} ${resource}. ${because}`,
    ...fix.flatMap(({ says, operation, input }) => {
      const { to, resource: on, level: wanted } = Object(input);
      return [
        says,
        ...(operation === "permission.grant"
          ? [`  agency access grant ${String(to)} ${String(on)} --level ${String(wanted)}`]
          : []),
      ];
    }),
  ].join("\n");
}

function drawComments({ comments }: Output<typeof listComments>, look: Drawing): string {
  if (comments.length === 0) return 'No comments. To write one: agency comment <request> "<text>"';
  return comments
    .map(({ by, kind, body, createdAt }) =>
      [
        `${authorOf(by)}, ${when(createdAt, look.now)}${kind === "comment" ? "" : ` (${kind.replaceAll("_", " ")})`}:`,
        `    │ ${indented(body)}`,
      ].join("\n"),
    )
    .join("\n\n");
}

function drawRevisions({ revisions }: Output<typeof listRevisions>, look: Drawing): string {
  return revisions
    .map(({ revision, by, at, note, diff }) =>
      [
        `Revision ${revision} by ${authorOf(by)}, ${when(at, look.now)}`,
        ...(note === null ? [] : [`    │ ${indented(note)}`]),
        ...diff.map(
          ({ field, before, after }) => `  ${field}: ${plain(before, look)} → ${plain(after, look)}`,
        ),
      ].join("\n"),
    )
    .join("\n");
}

function drawLinks({ links, backlinks }: Output<typeof viewLinks>): string {
  const drawn = ({ id, description, state }: (typeof links)[number]): string =>
    `${description ?? "a file that is missing"} (${id})${state === "live" ? "" : `, ${state}`}`;
  if (links.length + backlinks.length === 0) return "It links to no file, and no file links to it.";
  return [...section("Links to:", links.map(drawn)), ...section("Linked from:", backlinks.map(drawn))].join(
    "\n",
  );
}

export const recordLines = ({ moves, warnings }: Pick<Reorganization, "moves" | "warnings">): string[] => [
  ...moves.map((move) => `  ${moveSentence(move)}`),
  ...warnings.map((warning) => `  ! ${warning}`),
];

function drawReorganization(done: Reorganization, look: Drawing): string {
  const { id, summary, status, appliedAt, undoable } = done;
  return [
    `${styled("bold", summary)} (${stated(status)} ${when(appliedAt, look.now)})`,
    ...recordLines(done),
    ...(undoable.possible ? [`To undo this, run: agency reorg undo ${id}`] : []),
  ].join("\n");
}
