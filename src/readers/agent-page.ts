import { sql } from "kysely";
import { viewAgent } from "../contract/agents.ts";
import { openApprovalOf } from "../approvals/table.ts";
import { titleOf } from "../approvals/texts.ts";
import { liveSessionOf, presentAgent, agentById, type AgentRow } from "../agents/table.ts";
import { budgetLines, costsOf } from "../budgets/costs.ts";
import { isActive, memberById } from "../capabilities/members.ts";
import { presentBy } from "../capabilities/people.ts";
import { holds } from "../capabilities/rights.ts";
import { oversees } from "../capabilities/structure.ts";
import { type Viewer, visible } from "../capabilities/visible.ts";
import { guarded } from "../dispatch/guarded.ts";
import type { Reference } from "../contract/words.ts";
import { parseData, presentActor } from "../events/ledger.ts";
import { outcomeById } from "../outcomes/table.ts";
import { redactText } from "../redaction/redact.ts";
import { counting, query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { workCountsOf } from "./org.ts";
import { lastPauseOf } from "./pauses.ts";
import { positionText } from "./texts.ts";
import { namesOf } from "./titles.ts";

/**
 * One agent with everything that its page shows, in a fixed number of queries. Every agent of a company may know the name and
 * the place of another. Its work, money and rights are for people, for itself and for its manager.
 */
const onView = guarded(viewAgent, async ({ tx, actor, companyId, input }) => {
  const agent = await presentAgent(tx, input.id);
  const row = await agentById(tx, input.id);
  const { model, effort } = row;
  const left = row.ended_at === null ? null : await leftAs(tx, actor, row, row.ended_at);
  const isSeen =
    actor.agentId === null ||
    [agent.id, agent.boss?.id].includes(actor.agentId) ||
    (await oversees(tx, actor.agentId, agent.id));
  if (!isSeen)
    return {
      ...agent,
      logFileId: null,
      reviews: null,
      person: null,
      model,
      effort,
      left,
      says: "",
      permissions: null,
      budget: null,
      cost: null,
      work: null,
      session: null,
      paused: null,
      approval: null,
    };
  const { isStuck, ...work } = await workOf(tx, actor, agent.id);
  const session = await sessionOf(tx, actor, agent.id);
  const approval = await tx.first(openApprovalOf, { agent_id: agent.id });
  const position = {
    ...agent,
    ...work,
    working: session && { session: session.id, since: session.since, on: session.outcome?.title ?? null },
    inbox: work.inbox ?? 0,
    isStuck,
  };
  return {
    ...agent,
    model,
    effort,
    left,
    work,
    session,
    says: row.status === "terminated" ? "" : positionText(position, row.brain_type === "human"),
    permissions: { canCreateAgents: isActive(row) && (await holds(tx, agent.id, "org:hire", "use")) },
    budget: isActive(row) ? await budgetLines(tx, companyId, agent.id) : [],
    cost: await costsOf(tx, agent.id),
    paused: row.status === "paused" ? await pauseOf(tx, row) : null,
    approval:
      approval === undefined
        ? null
        : { kind: "approval", id: approval.id, title: redactText(titleOf(approval)) },
  };
});

export const agentPageHandlers = [onView];

async function workOf(tx: ReadTx, viewer: Viewer, agentId: string) {
  const counts = await tx.first(workCountsOf, { agentId, now: tx.now });
  const seesInbox = viewer.agentId === null || viewer.agentId === agentId;
  const inbox = seesInbox ? ((await tx.first(inInbox, { to_id: agentId }))?.count ?? 0) : null;
  const { open = 0, workable = 0, blocked = 0, submitted = 0, stuckInboxes = 0 } = counts ?? {};
  return { open, workable, blocked, submitted, inbox, isStuck: stuckInboxes > 0 };
}

async function sessionOf(tx: ReadTx, viewer: Viewer, agentId: string) {
  const live = await tx.first(liveSessionOf, { agent_id: agentId });
  if (live === undefined) return null;
  const id = live.first_outcome_id;
  const title =
    id !== null && (await visible(tx, viewer, `outcome:${id}`)) ? (await outcomeById(tx, id)).title : null;
  return {
    id: live.id,
    since: new Date(live.started_at).toISOString(),
    outcome: id === null ? null : { kind: "outcome", id, title },
  };
}

async function pauseOf(tx: ReadTx, { id, last_session_at }: AgentRow) {
  const last = await lastPauseOf(tx, id);
  if (last === undefined)
    return { reason: null, since: new Date(last_session_at).toISOString(), by: { kind: "system" as const } };
  const { event, reason } = last;
  const by = presentActor(event);
  return {
    reason,
    since: new Date(event.at).toISOString(),
    by: await presentBy(tx, by),
  };
}

/** The record of the agent's departure: the reason, and who took over which outcomes. */
async function leftAs(tx: ReadTx, viewer: Viewer, { id, boss_id }: AgentRow, at: number) {
  const event = await tx.first(departureOf, { subject: id });
  const { reason, boss, moved } = event === undefined ? {} : parseData(event.data);
  const ids = Array.isArray(moved) ? moved.filter((each) => typeof each === "string").slice(0, 100) : [];
  const names = viewer.agentId === null ? await namesOf(tx, ids) : new Map<string, readonly Reference[]>();
  return {
    at: new Date(at).toISOString(),
    successor: await successorOf(tx, typeof boss === "string" ? boss : boss_id),
    reason: typeof reason === "string" && viewer.agentId === null ? redactText(reason) : null,
    tookOver: ids.flatMap((each) => names.get(each)?.filter(({ kind }) => kind === "outcome") ?? []),
  };
}

const departureOf = query((db, p: { subject: string }) =>
  db
    .selectFrom("events")
    .select("data")
    .where("subject", "=", p.subject)
    .where("operation", "in", ["agent.terminate", "agent.retire", "agent.reclaim"])
    .orderBy("seq", "desc")
    .limit(1),
);

/** The agent itself, or the nearest manager above it that has not left. */
async function successorOf(tx: ReadTx, bossId: string | null) {
  let boss = await memberById(tx, bossId);
  while (boss !== undefined && !isActive(boss)) boss = await memberById(tx, boss.boss_id);
  return boss === undefined ? null : { id: boss.id, name: boss.name };
}

const inInbox = counting(
  "messages",
  ["to_id"],
  sql`and delivered_at is not null and acknowledged_at is null`,
);
