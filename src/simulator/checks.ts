import { sql } from "kysely";
import { viewAttention } from "../contract/attention.ts";
import type { Output } from "../contract/operation.ts";
import { type OutcomeState } from "../contract/outcomes.ts";
import { why } from "../contract/why.ts";
import { isIdle, nothingToDo } from "../readers/texts.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { Broken } from "./broken.ts";
import type { SimulatedNode } from "./node.ts";
import { demandInvariants, demandOneEffect } from "./demands.ts";
import type { World } from "./world.ts";

/** Everything that is looked at after a step. */
export async function checkStep(world: World, thorough: boolean): Promise<void> {
  await world.watch.follow();
  const { changed } = world.watch;
  world.watch.changed = false;
  await world.store.read(async (tx) => {
    await demandInvariants(tx, ["work"], world.trace);
    await demandOneEffect(tx, world.trace);
    if (changed || thorough) await demandInvariants(tx, ["organization"], world.trace);
    if (thorough) await demandInvariants(tx, ["history"], world.trace);
    await checkProcesses(world, tx);
    for (const started of world.watch.sessions.startedFor.splice(0)) await checkStart(world, tx, started);
    for (const taken of world.watch.sessions.takenOver.splice(0)) await checkTakeover(world, tx, taken);
  });
  if (thorough) await checkWhy(world);
}

/**
 * A process that may act is recorded with its pid, and no agent has two processes whose calls would be accepted. A process whose
 * session ended before that never acts, not even until its node ends it.
 */
async function checkProcesses(world: World, tx: ReadTx): Promise<void> {
  for (const process of world.nodes.flatMap(({ machine }) => machine.processes)) {
    const name = world.trace.name("session", process.sessionId);
    if (process.released && process.isTooLate)
      throw new Broken("a process that starts too late never acts", name);
    if (process.exit !== null) continue;
    const row = await tx.first(sessionRow, { id: process.sessionId });
    if (!process.released) {
      process.isTooLate ||= row !== undefined && row.ended_at !== null && row.pid === null;
      continue;
    }
    if (row === undefined) throw new Broken("every process belongs to a session", name);
    if (row.pid !== process.pid || row.pid_started !== process.started)
      throw new Broken("a process acts only after its pid is recorded", name);
  }
}

async function checkStart(
  world: World,
  tx: ReadTx,
  { session, outcome, agentId }: { session: string; outcome: string; agentId: string },
): Promise<void> {
  const row = await tx.first(workableOne, { id: outcome, now: world.now });
  if (row?.responsible_id !== agentId)
    throw new Broken(
      "every session starts for a workable outcome",
      `${world.trace.name("session", session)}, ${world.trace.name("outcome", outcome)}`,
    );
}

/** A node renews its leases at least every 5 of 20 seconds, so no other node takes its sessions while it works. */
async function checkTakeover(
  world: World,
  tx: ReadTx,
  { session, at }: { session: string; at: number },
): Promise<void> {
  const row = await tx.first(sessionRow, { id: session });
  const node = world.nodes.find(({ id }) => id === row?.node_id);
  if (node === undefined) return;
  // An event at this very time may have come too late.
  const well = node.wellAt < at ? node.wellAt : node.wellBefore;
  if (at - well < lease - leaseTolerance)
    throw new Broken("no node takes the sessions of a node that works", world.trace.name("session", session));
}

/**
 * Checks a node after its turn: nothing is due, no agent could be started, and exactly the right sessions run on it. None of
 * this may have to wait for the sweep.
 */
export async function checkAfterTurn(world: World, node: SimulatedNode, next: number | null): Promise<void> {
  const { trace, now } = world;
  await world.store.read(async (tx) => {
    const due = await tx.first(dueNow, { now });
    if (due !== undefined)
      throw new Broken("a message is delivered when it is due", trace.name("message", due.id));
    if (node.forgetfulUntil <= now)
      for (const { id, company_id } of await tx.all(startable, { now }))
        if (world.watch.sessions.live(company_id) < world.watch.sessions.most(company_id))
          throw new Broken(
            "an agent with work and a free place is started",
            `${trace.name("agent", id)} is not`,
          );
    const expired = await tx.first(expiredLease, { nodeId: node.id, before: now - leaseTolerance });
    if (expired !== undefined)
      throw new Broken("the sessions of a silent node are taken over", trace.name("session", expired.id));
    await checkSessionsOf(world, node, tx);
    const overdue = await tx.first(overdueApproval, { now });
    if (overdue !== undefined)
      throw new Broken(
        "a request that no person decides in time expires",
        trace.name("approval", overdue.id),
      );
    const unstopped = await tx.first(overdueSession, { now });
    if (unstopped !== undefined)
      throw new Broken("a session that was asked to stop ends in time", trace.name("session", unstopped.id));
    const times = await tx.first(nextTimes, { now });
    for (const time of [
      times?.mail,
      times?.alarm,
      times?.expiry,
      times?.stop,
      node.forgetfulUntil <= now ? times?.agent : null,
    ])
      if (time !== null && time !== undefined && (next === null || next > time))
        throw new Broken("the scheduler asks to be called in time", `at ${next ?? "no time"}, not ${time}`);
  });
}

const lease = 20_000;
const leaseTolerance = 5000;
const summaryGrace = 10_000;

async function checkSessionsOf(world: World, node: SimulatedNode, tx: ReadTx): Promise<void> {
  const name = (id: string): string => `${world.trace.name("session", id)} on node ${node.name}`;
  const alive = node.machine.alive();
  const rows = await tx.all(liveOn, { nodeId: node.id });
  const live = new Set(rows.map(({ id }) => id));
  for (const process of alive) {
    const { sessionId } = process;
    if (!live.has(sessionId)) throw new Broken("no process outlives its session", name(sessionId));
    if (!world.watch.sessions.summarized.has(sessionId)) continue;
    process.endsBy ??= world.now + summaryGrace;
    if (process.endsBy < world.now)
      throw new Broken("a session that submitted its summary ends", name(sessionId));
  }
  for (const row of rows) {
    const process = node.machine.processes.find(({ sessionId }) => sessionId === row.id);
    const known = process !== undefined && node.isCurrent(process.life) && !process.noticed;
    if (!known && row.started_at <= world.now - leaseTolerance)
      throw new Broken("every live session has a process", name(row.id));
  }
  const unsettled = await tx.first(unsettledOn, { nodeId: node.id });
  if (unsettled !== undefined) throw new Broken("a node settles its ended sessions", name(unsettled.id));
}

/** Checks that every open outcome has a live path or a named reason, and that the path is true. */
export async function checkWhy(world: World, atRest = false): Promise<void> {
  const open = await world.store.read((tx) => tx.all(openOutcomes, { companyId: world.company.id }));
  const idle = new Map(
    (await world.store.read((tx) => tx.all(workableBy, { now: world.now }))).map(({ id, count }) => [
      id,
      count,
    ]),
  );
  const attention = await world.askQuietly(world.board, viewAttention, {
    companyId: world.company.id,
    limit: 1000,
  });
  const health = { moving: 0, scheduled: 0, waiting: 0, stuck: 0 };
  for (const { id } of open) {
    const answer = await world.askQuietly(world.board, why, { id });
    health[answer.state]++;
    const name = world.trace.name("outcome", id);
    if (answer.path[0]?.id !== id || answer.says.trim() === "")
      throw new Broken("why has an answer for every open outcome", `${name}: ${JSON.stringify(answer)}`);
    const end = answer.path.at(-1);
    // An agent and its mandate share an id. The answer about an agent may say that it has nothing to do.
    const rests = answer.kind === "agent" && answer.says.endsWith(nothingToDo);
    const starts = answer.moves && !rests && end !== undefined && end.what.endsWith(isIdle);
    if (starts && (atRest || (idle.get(end.id) ?? 0) === 0))
      throw new Broken(
        "a live path that why names is real",
        `${name}: ${answer.path.map((step) => `${world.trace.name("thing", step.id)} ${step.what}`).join(" → ")}`,
      );
  }
  checkAttention(attention, health);
}

/**
 * Checks that the attention list counts each open outcome as `why` answers for it, and names the things that stuck and waiting
 * ones wait for.
 */
function checkAttention(
  { items, total, health: counted }: Output<typeof viewAttention>,
  { waiting: waitingForYou, ...health }: Record<OutcomeState, number>,
): void {
  const [said, counts] = [
    JSON.stringify({ ...health, waitingForYou }),
    JSON.stringify({ ...health, ...counted }),
  ];
  const { moving, scheduled, stuck } = counted;
  if (
    moving !== health.moving ||
    scheduled !== health.scheduled ||
    stuck !== health.stuck ||
    counted.waitingForYou !== waitingForYou
  )
    throw new Broken("attention and why agree", `why: ${said}, attention: ${counts}`);
  if (stuck + waitingForYou > 0 && total === 0)
    throw new Broken("whatever is stuck or waits for the board is on the attention list", said);
  if (items.some(({ title, reason }) => title === "" || reason === ""))
    throw new Broken("every item of the attention list says what it is about", JSON.stringify(items));
}

/** Agents with work and without a session. The rule is repeated here on purpose. */
const workable = `o.status = 'open' and o.kind not in ('perpetual', 'mandate')
  and (o.blocked_reason is null or (o.blocked_until is not null and o.blocked_until <= $now)
    or (select b.status from outcomes b where b.id = o.blocked_on) in ('completed', 'closed'))
  and (select count(*) from edges e join outcomes c on c.id = e.child_id
    where e.parent_id = o.id and c.status in ('open', 'submitted')) = 0
  and (select count(*) from dependencies d join outcomes p on p.id = d.depends_on_id
    where d.outcome_id = o.id and p.status <> 'completed') = 0`;

const withNow = (text: string, now: number) => {
  const [first = "", ...rest] = text.split("$now");
  return sql.join([sql.raw(first), ...rest.map((part) => sql`${now}${sql.raw(part)}`)], sql.raw(""));
};

export const startable = query((db, p: { now: number }) => ({
  compile: () =>
    sql<{ id: string; company_id: string }>`${withNow(
      `select a.id, a.company_id from agents a where a.status = 'idle' and a.brain_type <> 'human' and a.not_before <= $now
        and not exists (select 1 from sessions s where s.agent_id = a.id and s.ended_at is null)
        and exists (select 1 from outcomes o where o.responsible_id = a.id and ${workable})
        and exists (select 1 from companies c where c.id = a.company_id and c.frozen_at is null)`,
      p.now,
    )}`.compile(db),
}));

const workableBy = query((db, p: { now: number }) => ({
  compile: () =>
    sql<{ id: string; count: number }>`${withNow(
      `select o.responsible_id as id, count(*) as count from outcomes o where ${workable} group by o.responsible_id`,
      p.now,
    )}`.compile(db),
}));

const workableOne = query((db, p: { id: string; now: number }) => ({
  compile: () =>
    sql<{ responsible_id: string | null }>`${withNow(
      `select o.responsible_id from outcomes o where ${workable}`,
      p.now,
    )} and o.id = ${p.id}`.compile(db),
}));

/** When something happens next by itself: mail, an alarm, or the end of a pause of an agent with work. */
export const nextTimes = query((db, p: { now: number }) => ({
  compile: () =>
    sql<Record<"mail" | "alarm" | "expiry" | "agent" | "stop", number | null>>`${withNow(
      `select (select min(deliver_at) from messages m where delivered_at is null and failure is null
          and exists (select 1 from companies c where c.id = m.company_id and c.archived_at is null)) as mail,
        (select min(end_by) from sessions where ended_at is null) as stop,
        (select min(blocked_until) from outcomes where status = 'open' and blocked_until > $now) as alarm,
        (select min(expires_at) from approvals a where status in ('pending', 'revision_requested')
          and exists (select 1 from companies c where c.id = a.company_id and c.archived_at is null)) as expiry,
        (select min(a.not_before) from agents a where a.status = 'idle' and a.brain_type <> 'human' and a.not_before > $now
          and not exists (select 1 from sessions s where s.agent_id = a.id and s.ended_at is null)
          and exists (select 1 from outcomes o where o.responsible_id = a.id and ${workable})) as agent`,
      p.now,
    )}`.compile(db),
}));

const sessionRow = query((db, p: { id: string }) =>
  db.selectFrom("sessions").select(["pid", "pid_started", "node_id", "ended_at"]).where("id", "=", p.id),
);
const notArchived = (table: "messages" | "approvals") =>
  sql<boolean>`exists (select 1 from companies c
    where c.id = ${sql.ref(`${table}.company_id`)} and c.archived_at is null)`;
const dueNow = query((db, p: { now: number }) =>
  db
    .selectFrom("messages")
    .select("id")
    .where("delivered_at", "is", null)
    .where("failure", "is", null)
    .where("deliver_at", "<=", p.now)
    .where(notArchived("messages"))
    .limit(1),
);
const overdueSession = query((db, p: { now: number }) =>
  db.selectFrom("sessions").select("id").where("ended_at", "is", null).where("end_by", "<=", p.now).limit(1),
);
const overdueApproval = query((db, p: { now: number }) =>
  db
    .selectFrom("approvals")
    .select("id")
    .where("status", "in", ["pending", "revision_requested"])
    .where("expires_at", "<=", p.now)
    .where(notArchived("approvals"))
    .limit(1),
);
const liveOn = query((db, p: { nodeId: string }) =>
  db
    .selectFrom("sessions")
    .select(["id", "started_at"])
    .where("node_id", "=", p.nodeId)
    .where("ended_at", "is", null),
);
const unsettledOn = query((db, p: { nodeId: string }) =>
  db
    .selectFrom("sessions")
    .select("id")
    .where("node_id", "=", p.nodeId)
    .where("ended_at", "is not", null)
    .where("settled", "=", 0)
    .limit(1),
);
const expiredLease = query((db, p: { nodeId: string; before: number }) =>
  db
    .selectFrom("sessions")
    .select("id")
    .where("node_id", "<>", p.nodeId)
    .where("ended_at", "is", null)
    .where("lease_until", "<", p.before)
    .limit(1),
);
const openOutcomes = query((db, p: { companyId: string }) =>
  db
    .selectFrom("outcomes")
    .select("id")
    .where("company_id", "=", p.companyId)
    .where("status", "in", ["open", "submitted"])
    .orderBy("num"),
);
