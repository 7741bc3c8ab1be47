import * as contract from "../contract/sessions.ts";
import { notFound } from "../contract/refusal.ts";
import { agentById } from "../agents/table.ts";
import { type Guarded, guarded } from "../dispatch/guarded.ts";
import { cursorParts, defaultPage, pageAfter } from "../dispatch/page.ts";
import type { ReadTx } from "../store/store.ts";
import { appendToLog } from "./log.ts";
import { markSummarized, sessionById, type SessionRow, sessionsPage } from "./sessions.ts";
import { onlySessionsSummarize } from "./texts.ts";

export interface Transcripts {
  readonly read: (sessionId: string) => { transcript: string; truncated: boolean };
}

export function sessionHandlers(transcripts: Transcripts): Guarded[] {
  const onTranscript = guarded(contract.viewTranscript, async ({ input }) => ({
    id: input.id,
    ...transcripts.read(input.id),
  }));
  return [onList, onListOfAgent, onView, onTranscript, onSummary];
}

const onList = guarded(contract.listSessions, ({ tx, companyId, input }) =>
  page(tx, { companyId, live: input.live === true }, input),
);

const onListOfAgent = guarded(contract.listAgentSessions, ({ tx, input }) =>
  page(tx, { agentId: input.id, live: false }, input),
);

const onView = guarded(contract.viewSession, async ({ tx, input }) => {
  const row = await sessionById(tx, input.id);
  if (row === undefined) throw notFound("session", input.id);
  const { name } = await agentById(tx, row.agent_id);
  return { ...present({ ...row, agent_name: name }), briefing: row.briefing, assignment: row.assignment };
});

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
  await tx.run(markSummarized, { id: actor.sessionId, summarized: 1 });
  await call.record(agent.id, { log: logFileId });
  return { sessionId: actor.sessionId, logFileId };
});

async function page(
  tx: ReadTx,
  filter: { companyId?: string; agentId?: string; live: boolean },
  input: { limit?: number | undefined; cursor?: string | undefined },
) {
  const limit = input.limit ?? defaultPage;
  // Ids start with the time, so newer sessions have greater ids. "g" is greater than any hexadecimal id.
  const [before = "g"] = cursorParts(input.cursor, "id");
  const rows = await sessionsPage(tx, { ...filter, before, limit: limit + 1 });
  const { page: shown, nextCursor } = pageAfter(rows, limit, (row) => row.id);
  return { sessions: shown.map(present), nextCursor };
}

function present(row: SessionRow & { agent_name: string }) {
  return {
    id: row.id,
    agent: { id: row.agent_id, name: row.agent_name },
    epoch: row.epoch,
    startedAt: new Date(row.started_at).toISOString(),
    endedAt: row.ended_at === null ? null : new Date(row.ended_at).toISOString(),
    endReason: row.end_reason,
    exitCode: row.exit_code,
    summarized: row.summarized === 1,
    promptVersion: row.prompt_version,
    usage: {
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      costUsd: row.cost_usd,
      ...consultantsOf(row),
    },
  };
}

function consultantsOf(row: SessionRow) {
  const consultants = {
    inputTokens: row.consultant_input_tokens,
    outputTokens: row.consultant_output_tokens,
    costUsd: row.consultant_cost_usd,
  };
  return Object.values(consultants).some((amount) => amount > 0) ? { consultants } : {};
}
