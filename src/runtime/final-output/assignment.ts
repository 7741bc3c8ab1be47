import type { Deliverable } from "../../contract/outcomes.ts";
import { quoteBlock } from "../../contract/phrases.ts";
import { sql } from "kysely";
import type { AgentRow } from "../../agents/table.ts";
import { memberById } from "../../capabilities/members.ts";
import { holds } from "../../capabilities/rights.ts";
import { aboutSubject, parseData } from "../../events/ledger.ts";
import { contentFor, type Reader } from "../../knowledge/showing.ts";
import type { MessageRow } from "../../mail/table.ts";
import { deliverablesOf } from "../../outcomes/deliverables.ts";
import type { OutcomeRow } from "../../outcomes/outcome.ts";
import { contextOf, excerpt, resultFor } from "../../outcomes/results.ts";
import { escalatedTo } from "../../outcomes/review.ts";
import { deliveredLines } from "../../outcomes/texts.ts";
import { selection } from "../../store/query.ts";
import type { ReadTx } from "../../store/store.ts";

/**
 * The work as text, for a brain without tools to look it up: the outcome, the results to build on, the waiting messages and
 * submissions, and the directives it can use. Text of others is quoted as data. The rehearsal brain parses these headings
 * (brains/rehearsal/speaker.ts).
 */
const mostMessages = 10;
const mostReviews = 5;

export async function assignmentFor(
  reader: Reader,
  agent: AgentRow,
  first: OutcomeRow | undefined,
): Promise<string> {
  if (first === undefined) return "";
  const sections = first.kind === "inbox" ? await inboxIn(reader, agent) : await workIn(reader, first);
  const mayHire = await holds(reader.tx, agent.id, "org:hire", "use");
  return `${[...sections, howToAnswer(first, mayHire)].join("\n")}\n`;
}

async function workIn(reader: Reader, outcome: OutcomeRow): Promise<string[]> {
  const lines = [`## Your work now: ${JSON.stringify(outcome.title)} (${outcome.kind} ${outcome.id})`, ""];
  if (outcome.description !== "") lines.push(quoteBlock(excerpt(outcome.description, outcome.id)), "");
  if (outcome.acceptance !== null)
    lines.push("Acceptance criteria:", quoteBlock(excerpt(outcome.acceptance, outcome.id)), "");
  lines.push(...(await sentBackIn(reader, outcome)));
  const context = await contextOf(reader, outcome.id);
  if (context.length > 0) lines.push("## Results to build on", "");
  for (const { id, title, file, text, truncated, deliverables } of context)
    lines.push(
      `### ${JSON.stringify(title)} (outcome ${id})`,
      quoteBlock(truncated ? `${text}\n… (the rest is in kb://${file})` : text),
      ...deliverablesIn(deliverables),
      "",
    );
  return lines;
}

const deliverablesIn = (delivered: readonly Deliverable[]): string[] =>
  delivered.length === 0 ? [] : ["Deliverables:", quoteBlock(deliveredLines(delivered))];

/** The reason why the last submission was sent back. The notice about it went to a session that has ended. */
async function sentBackIn(reader: Reader, outcome: OutcomeRow): Promise<string[]> {
  const { tx } = reader;
  const result = await resultFor(reader, outcome.id);
  if (result === undefined) return [];
  const about = { subject: outcome.id, before: Number.MAX_SAFE_INTEGER, limit: 200 };
  const reopened = (await tx.all(aboutSubject, about)).find(
    ({ operation }) => operation === "outcome.reopen",
  );
  const { reason } = reopened === undefined ? {} : parseData(reopened.data);
  if (typeof reason !== "string") return [];
  const before = Buffer.from(result.content).toString("utf8");
  const parts = ["Your last submission was sent back:", quoteBlock(excerpt(reason, null, 2048)), ""];
  return [...parts, "You submitted:", quoteBlock(excerpt(before, result.file_id, 4096)), ""];
}

async function inboxIn(reader: Reader, agent: AgentRow): Promise<string[]> {
  const { tx } = reader;
  const lines = ["## Messages for you", ""];
  for (const message of await shownMessages(tx, agent, tx.now)) {
    const from =
      message.from_system === 1
        ? "Agency"
        : message.from_id === null
          ? "the board"
          : (await memberById(tx, message.from_id))?.name;
    lines.push(
      `From ${from ?? "an agent that has left the company"}:`,
      quoteBlock(await bodyOf(reader, message, 4096)),
      "",
    );
  }
  const waiting = await shownReviews(tx, agent.id, tx.now);
  if (waiting.length > 0) lines.push("## Submissions waiting for your verdict", "");
  for (const { id, title, acceptance, blocked_reason } of waiting) {
    const result = await resultFor(reader, id);
    const text =
      result === undefined ? "(submitted without a note)" : Buffer.from(result.content).toString("utf8");
    lines.push(`### ${JSON.stringify(title)} (outcome ${id})`);
    if (blocked_reason !== null) lines.push(quoteBlock(`${blocked_reason}.`), "", "Last submission:");
    lines.push(quoteBlock(excerpt(text, result?.file_id ?? null, 4096)));
    lines.push(...deliverablesIn(await deliverablesOf(tx, reader.actor, id)));
    if (acceptance !== null) lines.push("Acceptance criteria:", quoteBlock(excerpt(acceptance, id, 2048)));
    lines.push("");
  }
  return lines;
}

/** Hiring is offered only to an agent that may hire. An integration outcome can neither be delegated nor hired for. */
function howToAnswer(first: OutcomeRow, mayHire: boolean): string {
  const isIntegration = first.kind === "integration";
  return [
    "## If you have no tools",
    "",
    first.kind === "inbox"
      ? "Your final output is read. To start work because of a message, print directives. To send mail, put @name on the first line."
      : "Your final output becomes the result of this outcome.",
    ...(isIntegration
      ? ["This outcome combines the results of others. It can't be delegated again."]
      : [
          "You can also print directives, each at the start of a line:",
          ...(mayHire
            ? [
                "HIRE[<role>]: <mandate>   or   HIRE[<role> | model=<model> effort=<low|medium|high|xhigh|max>]: <mandate>",
              ]
            : []),
          "DELEGATE[<id or role of a direct report>]: <subtask>",
          'Or a code fence named plan with JSON: [{"title": …, "assignee": …, "dependsOn": [<titles>]}].',
        ]),
    "To decide a submission: VERDICT[<outcome id>]: PASS   or   VERDICT[<outcome id>]: REWORK <what is missing>   or   VERDICT[<outcome id>]: CLOSE <why>",
  ].join("\n");
}

/**
 * The messages that an assignment made at that time shows, oldest first. With autoReply, the agent's output goes to the writer
 * of the oldest message. So the agent is shown the messages of that writer only, and the next session gets the others.
 */
export async function shownMessages(
  tx: ReadTx,
  agent: Pick<AgentRow, "id" | "auto_reply">,
  at: number,
): Promise<MessageRow[]> {
  const waiting = await tx.all(waitingAt, { to_id: agent.id, at, limit: mostMessages });
  const first = waiting.find(({ from_system }) => from_system === 0);
  if (agent.auto_reply === 0 || first === undefined) return waiting;
  return waiting.filter(({ from_system, from_id }) => from_system === 1 || from_id === first.from_id);
}

/**
 * The submissions that waited for the agent's verdict at that time, oldest first, then the escalations it was asked to decide.
 */
export async function shownReviews(tx: ReadTx, agentId: string, at: number): Promise<OutcomeRow[]> {
  const submitted = await tx.all(submittedTo, { delegated_by: agentId, at, limit: mostReviews });
  const escalated = await escalatedTo(tx, { agentId, at, limit: mostReviews });
  return [...submitted, ...escalated].slice(0, mostReviews);
}

export async function bodyOf(reader: Reader, message: MessageRow, most: number): Promise<string> {
  const sent = await contentFor(reader, message.file_id, message.version);
  if (sent === undefined) return "(the text was deleted, or you can't read it any more)";
  return excerpt(Buffer.from(sent.content).toString("utf8"), sent.file_id, most);
}

const waitingAt = selection(
  "messages",
  ["to_id"],
  (p: { at: number; limit: number }) =>
    sql`and delivered_at <= ${p.at} and acknowledged_at is null order by num limit ${p.limit}`,
);

const submittedTo = selection(
  "outcomes",
  ["delegated_by"],
  (p: { at: number; limit: number }) =>
    sql`and status = 'submitted' and updated_at <= ${p.at} order by num limit ${p.limit}`,
);
