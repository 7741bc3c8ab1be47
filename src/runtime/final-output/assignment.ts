import { sql } from "kysely";
import type { AgentRow } from "../../agents/table.ts";
import { memberById } from "../../capabilities/members.ts";
import { holds } from "../../capabilities/rights.ts";
import { aboutSubject, parseData } from "../../events/ledger.ts";
import { fileById } from "../../knowledge/table.ts";
import type { MessageRow } from "../../mail/table.ts";
import type { OutcomeRow } from "../../outcomes/outcome.ts";
import { contextOf, excerpt, resultOf } from "../../outcomes/results.ts";
import { escalatedTo } from "../../outcomes/review.ts";
import { query } from "../../store/query.ts";
import type { ReadTx } from "../../store/store.ts";

/**
 * The work itself in words, for a brain that has no tools to look it up: what it is, the results it builds on, the messages
 * that wait, and what it can say to have something done. Text of others is quoted as data.
 */
const mostMessages = 10;
const mostReviews = 5;

export async function assignmentFor(
  tx: ReadTx,
  agent: AgentRow,
  first: OutcomeRow | undefined,
): Promise<string> {
  if (first === undefined) return "";
  const sections = first.kind === "inbox" ? await inboxIn(tx, agent) : await workIn(tx, first);
  const mayHire = await holds(tx, agent.id, "org:hire", "use");
  return `${[...sections, howToAnswer(first, mayHire)].join("\n")}\n`;
}

async function workIn(tx: ReadTx, outcome: OutcomeRow): Promise<string[]> {
  const lines = [`## Your work now: ${JSON.stringify(outcome.title)} (${outcome.kind} ${outcome.id})`, ""];
  if (outcome.description !== "") lines.push(quoted(excerpt(outcome.description, outcome.id)), "");
  if (outcome.acceptance !== null)
    lines.push("Acceptance criteria:", quoted(excerpt(outcome.acceptance, outcome.id)), "");
  lines.push(...(await sentBackIn(tx, outcome)));
  const context = await contextOf(tx, outcome.id);
  if (context.length > 0) lines.push("## The results it builds on", "");
  for (const { id, title, file, text, truncated } of context)
    lines.push(
      `### ${JSON.stringify(title)} (outcome ${id})`,
      quoted(truncated ? `${text}\n… the rest is in kb://${file}` : text),
      "",
    );
  return lines;
}

/** Whoever tries again must know what was missing: its notice was shown to a session that is gone. */
async function sentBackIn(tx: ReadTx, outcome: OutcomeRow): Promise<string[]> {
  const result = await resultOf(tx, outcome.id);
  if (result === null) return [];
  const about = { subject: outcome.id, before: Number.MAX_SAFE_INTEGER, limit: 200 };
  const reopened = (await tx.all(aboutSubject, about)).find(
    ({ operation }) => operation === "outcome.reopen",
  );
  const { reason } = reopened === undefined ? {} : parseData(reopened.data);
  if (typeof reason !== "string") return [];
  const before = Buffer.from(result.content).toString("utf8");
  const parts = ["It was sent back:", quoted(excerpt(reason, null, 2048)), ""];
  return [...parts, "What was submitted before:", quoted(excerpt(before, result.file, 4096)), ""];
}

async function inboxIn(tx: ReadTx, agent: AgentRow): Promise<string[]> {
  const lines = ["## Messages for you", ""];
  for (const message of await shownMessages(tx, agent.id, tx.now)) {
    const from =
      message.from_system === 1
        ? "Agency"
        : message.from_id === null
          ? "the board"
          : (await memberById(tx, message.from_id))?.name;
    lines.push(`From ${from ?? "somebody who has left"}:`, quoted(await bodyOf(tx, message, 4096)), "");
  }
  const waiting = await shownReviews(tx, agent.id, tx.now);
  if (waiting.length > 0) lines.push("## Waiting for your verdict", "");
  for (const { id, title, acceptance, blocked_reason } of waiting) {
    const result = await resultOf(tx, id);
    const text = result === null ? "(no result in words)" : Buffer.from(result.content).toString("utf8");
    lines.push(`### ${JSON.stringify(title)} (outcome ${id})`);
    if (blocked_reason !== null) lines.push(quoted(`${blocked_reason}.`), "", "What was submitted last:");
    lines.push(quoted(excerpt(text, result?.file ?? null, 4096)));
    if (acceptance !== null) lines.push("Acceptance criteria:", quoted(excerpt(acceptance, id, 2048)));
    lines.push("");
  }
  return lines;
}

/** Hiring is offered to whoever may hire, and neither it nor delegating where results are put together. */
function howToAnswer(first: OutcomeRow, mayHire: boolean): string {
  const isPuttingTogether = first.kind === "integration";
  return [
    "## If you have no tools",
    "",
    first.kind === "inbox"
      ? "What you print last counts. To have work done for a message, print directives; to write to somebody, begin with @name."
      : "What you print last is taken for the result of this work.",
    ...(isPuttingTogether
      ? ["This puts together what came back: it is not handed out again."]
      : [
          "Directives, each at the start of a line:",
          ...(mayHire
            ? [
                "HIRE[<role>]: <mandate>   or   HIRE[<role> | model=<model> effort=<low|medium|high|xhigh|max>]: <mandate>",
              ]
            : []),
          "DELEGATE[<id or role of a direct report>]: <subtask>",
          'or a fence named plan with JSON: [{"title": …, "assignee": …, "dependsOn": [<titles>]}].',
        ]),
    "To judge what was submitted to you: VERDICT[<outcome id>]: PASS   or   VERDICT[<outcome id>]: REWORK <what is missing>",
  ].join("\n");
}

/** The messages an assignment of that moment shows, oldest first. */
export const shownMessages = (tx: ReadTx, agentId: string, at: number): Promise<MessageRow[]> =>
  tx.all(waitingAt, { agentId, at, limit: mostMessages });

/** What was submitted to an agent by that moment and is not decided, oldest first; then what it was asked to decide. */
export async function shownReviews(tx: ReadTx, agentId: string, at: number): Promise<OutcomeRow[]> {
  const one = { agentId, at, limit: mostReviews };
  return [...(await tx.all(submittedTo, one)), ...(await tx.all(escalatedTo, one))].slice(0, mostReviews);
}

export async function bodyOf(tx: ReadTx, message: MessageRow, most: number): Promise<string> {
  const file = await fileById(tx, message.file_id);
  if (file === undefined || file.deleted_at !== null) return "(its text is gone)";
  const content = await tx.blobs.read(file.id, file.hash);
  return excerpt(Buffer.from(content).toString("utf8"), file.id, most);
}

function quoted(text: string): string {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
}

const waitingAt = query((db, p: { agentId: string; at: number; limit: number }) =>
  db
    .selectFrom("messages")
    .selectAll()
    .where("to_id", "=", p.agentId)
    .where("delivered_at", "<=", p.at)
    .where("acknowledged_at", "is", null)
    .orderBy("num")
    .limit(p.limit),
);

const submittedTo = query((db, p: { agentId: string; at: number; limit: number }) =>
  db
    .selectFrom("outcomes as o")
    .selectAll("o")
    .where("o.delegated_by", "=", p.agentId)
    .where("o.status", "=", "submitted")
    .where(sql<boolean>`o.updated_at <= ${p.at}`)
    .orderBy("o.num")
    .limit(p.limit),
);
