import { sql } from "kysely";
import { agentById, askToStop } from "../agents/table.ts";
import { halt } from "../budgets/halting.ts";
import { bookAlone, giveBack, makeRoom, poolOwnerOf, reportUsage } from "../budgets/reservations.ts";
import { coversNoCall } from "../budgets/texts.ts";
import type { Writing } from "../dispatch/context.ts";
import { insertion } from "../store/inserts.ts";
import { selection, textQuery, updating } from "../store/query.ts";
import { sessionRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import type { CallEnd } from "./call-files.ts";
import { noTokens, type TokensUsed } from "./dialects.ts";
import { contextNearlyFull } from "./texts.ts";
import { mostOfContext } from "./token-count.ts";

/**
 * The calls of models, each recorded in a row.
 *
 *   open ──answered────▶ done     its usage is booked
 *        ──cut off─────▶ cut      the usage reported and the tokens written until then are booked, at least the estimated input
 *        ──not taken───▶ failed   nothing is booked
 *
 * A daemon that is killed leaves calls open. The courier (courier-process.ts) hears their answers to the end, and the next start
 * books their usage. If the courier was killed as well, the usage noted before is booked, and the call is cut. Usage is noted
 * before the program hears the answer. Until the answer reports its usage, the noted usage is the estimated input and the longest
 * possible output. The tests of brains have no session. Their calls are recorded in the same way.
 *
 * Before a call is forwarded, the session's reservation must cover the most that all open calls of the session can cost. So a
 * session ends before it overspends, however many calls it makes at once.
 */
export interface NewCall {
  readonly id: string;
  readonly spender: Spender;
  readonly provider: string;
  readonly model: string;
  /** The estimated number of input tokens. */
  readonly input: number;
  /** The most that the call can cost, in tokens and in millionths of a dollar. */
  readonly mostTokens: number;
  readonly mostUsd: number;
}

/** The payer of a call: a session, or the tests of brains that run on a node for a company. */
export interface Spender {
  /** The id of the session, or `trialSpender`. Reservations and calls have it. */
  readonly id: string;
  readonly agentId: string;
  readonly outcomeId: string | null;
}

/**
 * The id for the tests of a company's brains on a node, which have no session. With it, a later run of the node finds the calls
 * that they left.
 */
export const trialSpender = (nodeId: string, companyId: string): string => `trial ${nodeId} ${companyId}`;

/** Returns the reason if the budget does not cover the call. The session is then ended. */
export async function openCall(writing: Writing, call: NewCall): Promise<string | undefined> {
  const { tx, companyId } = writing;
  const { spender } = call;
  const open = await tx.first(openSums, { sessionId: spender.id });
  const most = { usd: call.mostUsd + (open?.usd ?? 0), tokens: call.mostTokens + (open?.tokens ?? 0) };
  const lacks = await makeRoom(writing, { id: spender.id, agent_id: spender.agentId }, most);
  if (lacks !== undefined) {
    const isSession = (await tx.first(sessionRow, { id: spender.id })) !== undefined;
    if (!isSession) return coversNoCall((await poolOwnerOf(tx, lacks)).words);
    return halt(writing, spender.agentId, lacks, most[lacks.measure === "usd" ? "usd" : "tokens"]);
  }
  await tx.run(keepCall, {
    id: call.id,
    company_id: companyId,
    session_id: spender.id,
    agent_id: spender.agentId,
    outcome_id: spender.outcomeId,
    provider: call.provider,
    model: call.model,
    status: "open",
    most_tokens: call.mostTokens,
    most_usd: call.mostUsd,
    input_tokens: call.input,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    cost: 0,
    started_at: tx.now,
    ended_at: null,
  });
  return undefined;
}

/** Ends a call and books its usage. A second end of the same call changes nothing. */
export async function closeCall(
  writing: Writing,
  id: string,
  end: {
    readonly status: "done" | "cut" | "failed";
    readonly tokens: TokensUsed;
    readonly cost: number;
    /** How many tokens the model can hold in one conversation, and which brains continue from a summary when that is full. */
    readonly context?: { readonly tokens: number; readonly compacts: (brainType: string) => boolean };
  },
): Promise<void> {
  const { tx } = writing;
  const row = await tx.first(callRow, { id });
  if (row === undefined || row.status !== "open") return;
  const { input, output, cacheRead, cacheWrite } = end.tokens;
  await tx.run(endCall, {
    id,
    status: end.status,
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    cost: end.cost,
    ended_at: tx.now,
  });
  const session = await tx.first(sessionRow, { id: row.session_id });
  if (session === undefined) return closeTrialCall(writing, row, end);
  if (end.status === "failed") return;
  const { lacks } = await reportUsage(writing, session, {
    inputTokens: session.input_tokens + input + cacheRead + cacheWrite,
    outputTokens: session.output_tokens + output,
    costUsd: session.cost_usd + end.cost / 1e6,
  });
  if (session.ended_at !== null) return;
  if (lacks !== undefined) return void (await halt(writing, session.agent_id, lacks));
  const { tokens, compacts } = end.context ?? {};
  if (tokens === undefined || input + cacheRead + cacheWrite + output <= mostOfContext * tokens) return;
  const { brain_type } = await agentById(tx, session.agent_id);
  if (compacts?.(brain_type) !== true) await askToStop(writing, session, contextNearlyFull, timeToSave);
}

/** Books the usage of a brain's test for the root agent. After the last call, nothing stays reserved. */
async function closeTrialCall(
  writing: Writing,
  { session_id, agent_id }: Row<"model_calls">,
  { status, tokens, cost }: { status: CallEnd["status"]; tokens: TokensUsed; cost: number },
): Promise<void> {
  const { tx } = writing;
  const { input, output, cacheRead, cacheWrite } = tokens;
  const used = { input_tokens: input + cacheRead + cacheWrite, output_tokens: output, usd: cost };
  if (status !== "failed") await bookAlone(writing, { id: session_id, agentId: agent_id }, used);
  const open = await tx.first(openSums, { sessionId: session_id });
  if ((open?.calls ?? 0) === 0) await giveBack(tx, session_id);
}

/**
 * Notes the usage of an open call, in case this daemon is killed. From the first note on, the input is known, so the most that
 * the call can cost no longer rests on an estimate.
 */
export async function noteUse(
  { tx }: Writing,
  id: string,
  note: {
    readonly used: TokensUsed;
    readonly mostOutput: number;
    readonly costs: { readonly soFar: number; readonly atMost: number };
  },
): Promise<void> {
  const { used, mostOutput, costs } = note;
  await tx.run(noteCall, {
    id,
    status: "open",
    input_tokens: used.input,
    output_tokens: used.output,
    cache_read_tokens: used.cacheRead,
    cache_write_tokens: used.cacheWrite,
    most_tokens: used.input + used.cacheRead + used.cacheWrite + mostOutput,
    most_usd: costs.atMost,
    cost: costs.soFar,
  });
}

/**
 * The usage that is booked for an answer. An answer that ended before the provider reported its usage has the status `cut`. For
 * it, the tokens that Agency sent and received are counted. If nothing arrived, the longest answer that the request allowed is
 * booked.
 */
export function bookedEnd(
  { status, tokens, unsaid = 0 }: CallEnd,
  most: { readonly input: number; readonly output: number },
): { readonly status: CallEnd["status"]; readonly tokens: TokensUsed } {
  if (status === "failed") return { status, tokens: noTokens };
  if (tokens === undefined)
    return { status: "cut", tokens: { ...noTokens, input: most.input, output: unsaid || most.output } };
  if (unsaid === 0) return { status, tokens };
  return { status: "cut", tokens: { ...tokens, output: Math.max(tokens.output, unsaid) } };
}

/** A model takes several minutes to read a full context. */
const timeToSave = 5 * 60_000;

export const callOfSession = selection("model_calls", ["session_id", "provider"], sql`limit 1`);
const callRow = selection("model_calls", ["id"]);
const keepCall = insertion("model_calls");
const endCall = updating(
  "model_calls",
  ["status", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost", "ended_at"],
  ["id"],
);
const noteCall = updating(
  "model_calls",
  [
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "most_tokens",
    "most_usd",
    "cost",
  ],
  ["id", "status"],
);
const openSums = textQuery(
  (p: { sessionId: string }) =>
    sql<{ usd: number; tokens: number; calls: number }>`select
      cast(coalesce(sum(most_usd), 0) as double precision) as usd,
      cast(coalesce(sum(most_tokens), 0) as double precision) as tokens,
      cast(count(*) as double precision) as calls from model_calls
      where session_id = ${p.sessionId} and status = 'open'`,
);
