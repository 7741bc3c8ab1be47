import * as contract from "../contract/sessions.ts";
import { modelsUsed } from "../budgets/model-use.ts";
import { notFound } from "../contract/refusal.ts";
import { agentById } from "../agents/table.ts";
import { type Call, type Guarded, guarded } from "../dispatch/guarded.ts";
import { cursorParts, defaultPage, pageAfter, type PageInput } from "../dispatch/page.ts";
import { oversees } from "../capabilities/structure.ts";
import { type Viewer, visible, visibleText } from "../capabilities/visible.ts";
import { holds } from "../capabilities/rights.ts";
import { mcpServers } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import type { PlacedEntry, TranscriptEntry } from "../contract/sessions.ts";
import { redactText } from "../redaction/redact.ts";
import type { CallContext } from "../dispatch/context.ts";
import type { Actor } from "../events/ledger.ts";
import type { ReadTx } from "../store/store.ts";
import { asText, type TranscriptPart } from "../processes/transcript.ts";
import { appendToLog } from "./log.ts";
import {
  endOf,
  countSessions,
  lastLinesOf,
  markSummarized,
  sessionById,
  type SessionFilter,
  type SessionRow,
  sessionsAbout,
  sessionsPage,
  type ShownSession,
} from "./sessions.ts";
import { onlySessionsSummarize } from "./texts.ts";

export interface Transcripts {
  readonly read: (tx: ReadTx, sessionId: string, after?: number) => Promise<TranscriptPart>;
}

/** The transcripts, and the parts of them that were already read. */
interface Listening extends Transcripts {
  readonly heard: Map<string, Heard>;
}

export function sessionHandlers({ read }: Transcripts): Guarded[] {
  const transcripts: Listening = { read, heard: new Map() };
  const onTranscript = guarded(contract.viewTranscript, async (call) => {
    const { actor, input } = call;
    const session = await sessionFor(call.tx, actor, input.id);
    const part =
      actor.agentId === null
        ? await transcripts.read(call.tx, input.id, input.after)
        : await overseen(call, transcripts, input.id, input.after);
    if (actor.agentId !== null) await call.record(session.agent_id, { session: input.id });
    return { ...part, id: input.id, transcript: asText(part.entries), entries: [...part.entries] };
  });
  const onList = guarded(contract.listSessions, async (call) => {
    const { tx, actor, companyId, input } = call;
    const { outcome } = input;
    const overseer = actor.agentId ?? undefined;
    const end = input.live === true ? "running" : input.end;
    // An agent can see only the titles of some outcomes. So it must not find sessions by other titles.
    const { text } = input;
    const about =
      text === undefined ? undefined : await sessionsAbout(tx, companyId, text, overseer === undefined);
    return page(call, transcripts, { companyId, overseer, outcome, end, about });
  });

  const onListOfAgent = guarded(contract.listAgentSessions, async (call) => {
    const { tx, actor, input } = call;
    if (actor.agentId !== null && !(await oversees(tx, actor.agentId, input.id)))
      throw notFound("agent", input.id);
    return page(call, transcripts, { agentId: input.id, outcome: input.outcome, end: input.end });
  });

  const onView = guarded(contract.viewSession, async (call) => {
    const { tx, actor, input } = call;
    const row = await sessionFor(tx, actor, input.id);
    const [shown] = await sessionsPage(tx, { agentId: row.agent_id, before: `${row.id}g`, limit: 1 });
    if (shown === undefined) throw notFound("session", row.id);
    const isPerson = actor.agentId === null;
    return {
      ...(await present(call, transcripts, shown)),
      summary: row.summary,
      // Both texts contain parts of files, and results of other agents.
      briefing: isPerson ? row.briefing : null,
      assignment: isPerson ? row.assignment : null,
      models: await modelsUsed(tx, row.id),
    };
  });

  return [onList, onListOfAgent, onView, onTranscript, onSummary];
}

/** The session, if the actor may look at it: a person, the agent itself or its manager. */
async function sessionFor(tx: ReadTx, { agentId }: Viewer, id: string): Promise<SessionRow> {
  const row = await sessionById(tx, id);
  if (row === undefined || (agentId !== null && !(await oversees(tx, agentId, row.agent_id))))
    throw notFound("session", id);
  return row;
}

const entriesShown = 200;

/**
 * A transcript as a manager may see it. The manager sees what the agent said, called and printed. It sees the result of a tool
 * only if it can read all of it. Places are counted in entries: a place in the file would show how long a hidden result is.
 */
async function overseen(
  { tx, actor }: CallContext,
  transcripts: Transcripts,
  sessionId: string,
  after: number | undefined,
): Promise<TranscriptPart> {
  const all = await everyEntry(tx, transcripts, sessionId);
  const start = Math.min(after ?? Math.max(0, all.length - entriesShown), all.length);
  const shown = all.slice(start, start + entriesShown);
  const entries: PlacedEntry[] = [];
  for (const [at, { place: _, ...entry }] of shown.entries()) {
    const isShown = entry.kind !== "result" || (await isReadable(tx, actor, entry));
    entries.push({ ...entry, ...(!isShown && { text: "", hidden: true }), place: start + at });
  }
  return { entries, next: start + shown.length, truncated: start > 0 };
}

/** Tools of Agency name what they show by its id. Results of other tools are for agents that may use these tools. */
async function isReadable(tx: ReadTx, actor: Actor, { tool = "", text }: TranscriptEntry): Promise<boolean> {
  const [, server, name = tool] = /^(?:mcp__)?(.+?)__(.+)$/.exec(tool) ?? [];
  const isOwn = server === undefined || server === "agency" || mcpServers.some((own) => own === server);
  if (isOwn) return ownTools.has(name) && visibleText(tx, actor, text);
  return actor.agentId !== null && holds(tx, actor.agentId, `mcp:${server}`, "use");
}

const ownTools = new Set(operations.flatMap(({ mcp }) => mcp?.tool ?? []));

const onSummary = guarded(contract.submitSummary, async (call) => {
  const { tx, actor, input } = call;
  if (actor.sessionId === null || actor.agentId === null) throw onlySessionsSummarize();
  const agent = await agentById(tx, actor.agentId);
  const logFileId = await appendToLog(
    tx,
    agent,
    { sessionId: actor.sessionId, text: input.summary },
    call.newId,
  );
  await tx.run(markSummarized, { id: actor.sessionId, summarized: 1, summary: redactText(input.summary) });
  await call.record(agent.id, { log: logFileId });
  return { sessionId: actor.sessionId, logFileId };
});

async function page(call: Call<PageInput>, transcripts: Listening, filter: SessionFilter) {
  const { tx, input } = call;
  const limit = input.limit ?? defaultPage;
  // Ids start with the time, so newer sessions have greater ids. "g" is greater than any hexadecimal id.
  const [before = "g"] = cursorParts(input.cursor, "id");
  const rows = await sessionsPage(tx, { ...filter, before, limit: limit + 1 });
  const { page: shown, nextCursor } = pageAfter(rows, limit, (row) => row.id);
  const sessions = [];
  for (const row of shown) sessions.push(await present(call, transcripts, row));
  return { sessions, count: await countSessions(tx, filter), nextCursor };
}

async function present({ tx, actor }: CallContext, transcripts: Listening, row: ShownSession) {
  const { work_outcome_id: outcome, summary } = row;
  const isSeen = outcome !== null && (await visible(tx, actor, `outcome:${outcome}`));
  return {
    id: row.id,
    agent: { id: row.agent_id, name: row.agent_name },
    epoch: row.epoch,
    startedAt: new Date(row.started_at).toISOString(),
    endedAt: row.ended_at === null ? null : new Date(row.ended_at).toISOString(),
    endReason: row.end_reason,
    end: endOf(row),
    exitCode: row.exit_code,
    outcome:
      outcome === null ? null : { kind: "outcome", id: outcome, title: isSeen ? row.outcome_title : null },
    summarized: row.summarized === 1,
    summary: summary === null || summary.length <= 500 ? summary : `${summary.slice(0, 499).toWellFormed()}…`,
    ...(await lastWords(tx, transcripts, row)),
    promptVersion: row.prompt_version,
    usage: {
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      costUsd: row.cost_usd,
      ...consultantsOf(row),
    },
  };
}

/** Facts about a running session's transcript up to `next`. */
type Heard = { next: number; toolCalls: number; tail: string[] };
const mostOfTail = 6;

/**
 * The last words of a running session come from its transcript, without the results of tools. Each part is read once, because
 * people look at the list again and again.
 */
async function lastWords(tx: ReadTx, { read, heard }: Listening, row: SessionRow) {
  if (row.ended_at !== null) {
    heard.delete(row.id);
    return { lastLine: row.last_line, tail: [], toolCalls: row.tool_calls };
  }
  const words = heard.get(row.id) ?? { next: 0, toolCalls: 0, tail: [] };
  heard.set(row.id, words);
  for (let from = -1; words.next > from;) {
    from = words.next;
    const { entries, next } = await read(tx, row.id, from);
    // Another call has read this part already.
    if (words.next !== from) continue;
    for (const { kind, tool, text } of entries) {
      if (kind === "tool") words.toolCalls++;
      if (kind === "result") continue;
      words.tail.push(...lastLinesOf(kind === "tool" ? `→ ${tool ?? ""}` : text, mostOfTail));
      words.tail.splice(0, words.tail.length - mostOfTail);
    }
    words.next = next;
  }
  const { tail, toolCalls } = words;
  return { lastLine: tail.at(-1) ?? null, tail: [...tail], toolCalls };
}

async function everyEntry(tx: ReadTx, transcripts: Transcripts, sessionId: string): Promise<PlacedEntry[]> {
  const all: PlacedEntry[] = [];
  for (let from = 0; ;) {
    const { entries, next } = await transcripts.read(tx, sessionId, from);
    all.push(...entries);
    if (next <= from) return all;
    from = next;
  }
}

function consultantsOf(row: SessionRow) {
  const consultants = {
    inputTokens: row.consultant_input_tokens,
    outputTokens: row.consultant_output_tokens,
    costUsd: row.consultant_cost_usd,
  };
  return Object.values(consultants).some((amount) => amount > 0) ? { consultants } : {};
}
