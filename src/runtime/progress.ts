import { sql } from "kysely";
import type { AgentRow } from "../agents/table.ts";
import { bySystem, type Writing } from "../dispatch/context.ts";
import { parseData, system } from "../events/ledger.ts";
import { tellOnce } from "../mail/notices.ts";
import { notify } from "../mail/notices.ts";
import { anyMessage, isOfPerson, type MessageRow, waitingFor } from "../mail/table.ts";
import { isLive, type OutcomeRow } from "../outcomes/outcome.ts";
import { outcomeById, saveOutcome } from "../outcomes/table.ts";
import { counting, selection, textQuery, updating } from "../store/query.ts";
import { outcomeRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { inboxStalled, noProgress, outcomeStalled, ownWorkHeld } from "./texts.ts";

/**
 * Whether a session made progress, and what happens if sessions don't.
 *
 * Work that others gave the agent counts each time: the session submits or completes an outcome that another agent made, gives a
 * verdict on the work of a report, or settles a message of a person. Steps that the agent gave itself count only if they serve an
 * outcome that others gave it, and ten times for that outcome: a child that it leaves open, a child that it completes, a
 * message of another agent or a notice that it settles. Nothing else counts. Files, mail, edits, reading, and a child
 * that is opened and closed are not progress.
 *
 *   a session without progress   the pause before the agent's next session doubles, up to an hour
 *   three in a row for one       the outcome is blocked and the manager is told
 *   ten in a row of the agent    outcomes that it gave itself are blocked before they start; the work of others still starts
 *
 * A row of such sessions ends only with progress, a message of a person, a wake-up, or half a day without a session.
 */
const mostStalls = 3;
const mostIdle = 10;
const mostOwnSteps = 10;
/** How often the same outcome can be submitted, or completed again after a reopening, and still count. */
const mostTimes = 10;
const longestBackOff = 3_600_000;
const longRest = 12 * 3_600_000;
/** How many of the newest deeds of each kind are checked. */
const mostDeeds = 200;

type Ended = Pick<
  Row<"sessions">,
  "id" | "agent_id" | "company_id" | "started_at" | "first_outcome_id" | "end_by"
>;

/** Whether the session made progress. Also counts the steps that the agent gave itself. */
export async function countProgress(tx: Tx, session: Ended, agent: AgentRow): Promise<boolean> {
  const deeds = async (operation: string) => tx.all(deedsOf, { session_id: session.id, operation });
  const subjects = async (operation: string): Promise<OutcomeRow[]> => {
    const ids = new Set((await deeds(operation)).map(({ subject }) => subject ?? ""));
    const rows = [];
    for (const id of ids) rows.push(await tx.first(outcomeRow, { id }));
    return rows.filter((row) => row !== undefined);
  };
  const isNew = async (id: string, operation: string): Promise<boolean> =>
    ((await tx.first(timesDone, { subject: id, operation, agent_id: agent.id }))?.count ?? 0) <= mostTimes;
  const isOwn = ({ made_by, responsible_id }: OutcomeRow): boolean =>
    made_by === agent.id && responsible_id === agent.id;

  let given = false;
  for (const { id } of await subjects("outcome.submit")) given ||= await isNew(id, "outcome.submit");
  const completed = await subjects("outcome.complete");
  for (const row of completed) if (!isOwn(row)) given ||= await isNew(row.id, "outcome.complete");
  // A verdict that sends the work of another agent back.
  for (const { id, responsible_id } of await subjects("outcome.reopen"))
    if (responsible_id !== agent.id) given ||= await isNew(id, "outcome.reopen");
  for (const { id, made_by } of await subjects("outcome.close"))
    if (made_by !== agent.id) given ||= await isNew(id, "outcome.close");
  const settled = await settledMail(tx, agent, await deeds("mail.acknowledge"));
  given ||= settled.ofPeople > 0;

  const steps = new Map<string, { done: number; left: number }>();
  const step = async (id: string, kind: "done" | "left", count = 1): Promise<void> => {
    const before = steps.get(id) ?? { done: 0, left: 0 };
    // Many children that are created in one session are one step.
    steps.set(id, { ...before, [kind]: kind === "left" ? 1 : before.done + count });
  };
  for (const row of completed.filter(isOwn))
    for (const { id } of await tx.all(owedFor, { id: row.id, agentId: agent.id })) await step(id, "done");
  for (const row of await subjects("outcome.create"))
    if (isLive(row))
      for (const { id } of await tx.all(owedFor, { id: row.id, agentId: agent.id })) await step(id, "left");
  if (settled.ofOthers > 0) await step(agent.mandate_id, "done", settled.ofOthers);
  let own = false;
  for (const [id, { done, left }] of steps) {
    const { own_steps, own_parts } = await outcomeById(tx, id);
    own ||= (done > 0 && own_steps < mostOwnSteps) || (left > 0 && own_parts < mostOwnSteps);
    await tx.run(setOwn, { id, own_steps: own_steps + done, own_parts: own_parts + left });
  }
  if (given) await forgetOwnSteps(tx, agent);
  return given || own;
}

/** The messages of people, and those of other agents and of the system, that the session acknowledged. */
async function settledMail(
  tx: ReadTx,
  agent: AgentRow,
  acknowledged: readonly Pick<Row<"events">, "data">[],
): Promise<{ ofPeople: number; ofOthers: number }> {
  const found = { ofPeople: 0, ofOthers: 0 };
  for (const { data } of acknowledged) {
    const message = await tx.first(anyMessage, { id: String(parseData(data)["message"]) });
    if (message === undefined || isFrom(agent, message)) continue;
    found[(await isOfPerson(tx, message)) ? "ofPeople" : "ofOthers"]++;
  }
  return found;
}

const isFrom = ({ id }: Pick<AgentRow, "id">, { from_id, from_system }: MessageRow): boolean =>
  from_id === id && from_system === 0;

/**
 * Sets the steps for a standing outcome to zero after progress on the work of others, because a standing outcome never ends.
 */
async function forgetOwnSteps(tx: Tx, { mandate_id }: AgentRow): Promise<void> {
  await tx.run(setOwnOfStanding, { id: mandate_id, own_steps: 0, own_parts: 0 });
}

/** Called before a session starts. An agent that had nothing to do for half a day starts from zero. */
export async function rested(tx: Tx, agent: AgentRow, firstOutcomeId: string | null): Promise<AgentRow> {
  if (agent.idle_sessions === 0 || tx.now - Math.max(agent.last_session_at, agent.not_before) < longRest)
    return agent;
  if (firstOutcomeId !== null) await tx.run(setStalls, { id: firstOutcomeId, stalls: 0 });
  await forgetOwnSteps(tx, agent);
  return { ...agent, idle_sessions: 0, not_before: 0 };
}

/**
 * Called after a session. Returns its agent with the pause before the next session. Blocks the outcome after three sessions
 * without progress.
 */
export async function guardAgainstStalling(
  tx: Tx,
  agent: AgentRow,
  session: Ended,
  progress: boolean,
  newId: () => string,
  /** Why the session failed, if it did. */
  failure?: string,
): Promise<AgentRow> {
  const { first_outcome_id: first } = session;
  const outcome = first === null ? undefined : await outcomeById(tx, first);
  if (progress) {
    if (outcome !== undefined && outcome.stalls > 0) await tx.run(setStalls, { id: outcome.id, stalls: 0 });
    return { ...agent, idle_sessions: 0, not_before: 0 };
  }
  // A session that was asked to stop, or whose work was taken away, had no chance to make progress.
  const isTaken = outcome !== undefined && outcome.responsible_id !== agent.id;
  if (session.end_by !== null || isTaken || agent.status === "terminated") return agent;
  // A brain without tools was shown its notices, and its inbox held nothing else (final-output/closing.ts).
  const isShown = outcome?.kind === "inbox" && outcome.status === "completed";
  const acknowledged = { session_id: session.id, operation: "mail.acknowledge" };
  if (isShown && (await tx.first(deedsOf, acknowledged)) === undefined) return agent;
  const idle = agent.idle_sessions + 1;
  const pause = Math.min(1000 * 2 ** (idle - 1), longestBackOff);
  const waiting = { ...agent, idle_sessions: idle, not_before: tx.now + pause };
  if (outcome === undefined || outcome.status !== "open") return waiting;
  const stalls = outcome.stalls + 1;
  const inInbox = outcome.kind === "inbox" ? await inboxOf(tx, agent) : [];
  // None of the three sessions could read a message that came during the last one.
  const isNews = inInbox.some(
    (message) =>
      message.read_at === null &&
      message.from_system === 0 &&
      !isFrom(agent, message) &&
      (message.delivered_at ?? 0) >= session.started_at,
  );
  // A block on an outcome that has ended has no effect any more.
  const awaited = outcome.blocked_on === null ? undefined : await outcomeById(tx, outcome.blocked_on);
  const isHeld =
    outcome.blocked_reason !== null &&
    outcome.blocked_until === null &&
    (awaited === undefined || isLive(awaited));
  await tx.run(setStalls, { id: outcome.id, stalls: isNews ? Math.min(stalls, mostStalls - 1) : stalls });
  if (stalls < mostStalls || isNews || isHeld) return waiting;
  const call = bySystem(tx, agent.company_id, newId);
  const reason = noProgress(stalls, agent.name, failure);
  const stalled = await block(call, { ...outcome, stalls }, agent, reason);
  await notify(
    call,
    agent.boss_id,
    outcome.kind === "inbox"
      ? inboxStalled({ id: outcome.id, agent: agent.name }, reason, session.id, inInbox.length)
      : outcomeStalled(stalled, reason, session.id),
    (inInbox.at(-1)?.auto_turn ?? 0) + 1,
  );
  return waiting;
}

/**
 * Called before a session starts. After ten sessions without progress, blocks the outcome if the agent gave it to itself, and
 * returns whether it did. Otherwise an agent that gives itself another outcome or message each time would run for ever, because
 * none of its outcomes lasts for three sessions.
 */
export async function holdOwnWork(
  call: Writing,
  agent: AgentRow,
  outcome: OutcomeRow | undefined,
): Promise<boolean> {
  if (outcome === undefined || agent.idle_sessions < mostIdle) return false;
  if (!(await isOwnWork(call.tx, agent, outcome))) return false;
  const reason = noProgress(agent.idle_sessions, agent.name);
  await block(call, outcome, agent, reason);
  await tellOnce(call, {
    about: agent.id,
    kind: "own work",
    to: agent.boss_id,
    text: ownWorkHeld(agent, outcome, agent.idle_sessions),
  });
  return true;
}

const inboxOf = (tx: ReadTx, { id, company_id }: AgentRow) =>
  waitingFor(tx, { companyId: company_id, toId: id, after: 0, limit: 1000 });

async function isOwnWork(tx: ReadTx, agent: AgentRow, outcome: OutcomeRow): Promise<boolean> {
  if (outcome.kind !== "inbox") return outcome.made_by === agent.id;
  return (await inboxOf(tx, agent)).every((message) => isFrom(agent, message));
}

async function block(
  call: Writing,
  outcome: OutcomeRow,
  agent: AgentRow,
  reason: string,
): Promise<OutcomeRow> {
  const held = { ...outcome, blocked_reason: reason, blocked_until: null, blocked_on: null };
  const saved = await saveOutcome(call.tx, held, system);
  await call.record(outcome.id, { reason, agent: agent.id }, "outcome.stall");
  return saved;
}

const deedsOf = selection(
  "events",
  ["session_id", "operation"],
  sql`order by seq desc limit ${sql.lit(mostDeeds)}`,
);
const timesDone = counting("events", ["subject", "operation", "agent_id"]);
const setStalls = updating("outcomes", ["stalls"], ["id"]);
const setOwn = updating("outcomes", ["own_steps", "own_parts"], ["id"]);
const setOwnOfStanding = updating(
  "outcomes",
  ["own_steps", "own_parts"],
  ["id"],
  sql`and kind in ('perpetual', 'mandate')`,
);

/** The outcomes that others gave the agent and that this one serves: the nearest one on each way up. */
const owedFor = textQuery(
  (p: { id: string; agentId: string }) => sql<{ id: string }>`
    with recursive up(id, ends) as (
      select id, 0 from outcomes where id = ${p.id}
      union select o.id,
          case when o.made_by = ${p.agentId} and o.kind in ('work', 'integration') then 0 else 1 end
        from up join edges e on e.child_id = up.id join outcomes o on o.id = e.parent_id where up.ends = 0)
    select id from up where ends = 1 order by id limit 20`,
);
