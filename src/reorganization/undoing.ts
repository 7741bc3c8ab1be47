import type { CallContext } from "../dispatch/context.ts";
import {
  isActive,
  isAtOrBelow,
  type Member,
  memberById,
  sameName,
  sameSlug,
} from "../capabilities/members.ts";
import { givenTo, recount } from "../capabilities/table.ts";
import { haltAgain } from "../budgets/halting.ts";
import { moneyOf } from "../budgets/requested.ts";
import { headcountAndLimit } from "../hiring/headcount.ts";
import { type ApprovalRow, openStatuses, payloadOf } from "../approvals/approval.ts";
import { overtake } from "../approvals/concluding.ts";
import { approvalById, openApprovalOf, openApprovalOfName, revise } from "../approvals/table.ts";
import { addStep } from "../approvals/thread.ts";
import { fire } from "../departures/leaving.ts";
import { agentById, agentOfMandate, endSessions, saveAgent } from "../agents/table.ts";
import { left, monthOf } from "../budgets/budget.ts";
import { budgetsUnder, charge, drawnFrom } from "../budgets/table.ts";
import { measures } from "../contract/budgets.ts";
import { balanceInbox } from "../mail/inbox.ts";
import { isLive } from "../outcomes/outcome.ts";
import { markStale, outcomeById, parentsOf, wouldWaitForItself } from "../outcomes/table.ts";
import { known, type Value } from "../store/columns.ts";
import { query } from "../store/query.ts";
import type { ImagedTable } from "../store/row-keys.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { deleteRow, type Difference, insertRow, type Image, rowAt, setColumns, textIn } from "./images.ts";
import { takeAway } from "../permissions/giving.ts";
import { movedAway, notBelowYou, notUndoable, reasons as endings, tooManyBack, undoneNote } from "./texts.ts";

/**
 * Puts every row back as it was before the change, and ends the agents that the change created. Undoing is refused, with the
 * reasons, in two cases: a column that the change set has been changed since, or the restored rows no longer fit the rest.
 *
 * Epochs, sessions and API keys are not restored: a revoked credential never becomes valid again. Messages and events stay. The
 * broken links of grants are counted again, and an outcome's file is rendered again when it is next read.
 */
export async function putBack(call: CallContext, all: readonly Difference[]): Promise<void> {
  const { tx } = call;
  const isMoney = ({ table }: Difference): boolean => table === "budgets" || table === "charges";
  const resumed = all.filter(isResuming).map(({ key }) => textIn(key["id"]));
  const found = all
    .filter((difference) => !isOfNewcomer(difference, all) && !isMoney(difference))
    .filter(({ table }) => table !== "credentials")
    .flatMap((difference) => withoutResuming(difference, resumed));
  await demandBelow(call, found);
  demandNone(await changedSince(tx, found));
  demandNone(await takenSince(tx, found));
  const demandRoom = await roomDemander(call);
  for (const difference of found) await endProposal(call, difference);
  for (const difference of found) await restore(call, difference);
  for (const { table, key, before } of found)
    if (table === "grants" && before !== null) await recount(tx, textIn(key["id"]));
  await returnBudgets(tx, all);
  for (const difference of found) await tellOf(call, difference);
  const made = found.filter(({ table, before }) => table === "agents" && before === null);
  for (const { key } of made) await endMade(call, textIn(key["id"]), found);
  for (const agentId of readersIn(found)) await balanceInbox(tx, call.companyId, agentId, call.newId);
  for (const id of resumed) await haltAgain(call, id);
  await demandRoom();
  demandNone(await unfitting(tx, found));
}

/**
 * Refuses an agent that undoes something outside its part of the tree: since the change, the board may have moved an agent that
 * the change was about, or one to which an agent, work or mail would go back.
 */
async function demandBelow({ tx, actor }: CallContext, found: readonly Difference[]): Promise<void> {
  if (actor.agentId === null) return;
  const concerned = found.flatMap(({ table, key, before, after }) => [
    ...(table === "agents" ? [key["id"]] : []),
    ...[before, after].flatMap((row) => [row?.["boss_id"], row?.["responsible_id"], row?.["to_id"]]),
  ]);
  for (const id of new Set(concerned.filter((one) => typeof one === "string"))) {
    const member = await memberById(tx, id);
    if (member !== undefined && !(await isAtOrBelow(tx, id, actor.agentId))) throw notBelowYou(member, false);
  }
}

/** True if the agent left with the change and comes back now. */
const isLeaving = ({ table, before, after }: Difference): boolean =>
  table === "agents" && before !== null && after?.["status"] === "terminated";

/** True if the change freed a budget and so resumed this agent. */
const isResuming = ({ table, before, after }: Difference): boolean =>
  table === "agents" && before?.["status"] === "paused" && after?.["status"] === "idle";

/** Leaves the resumption out: whether the agent pauses again depends on the budget after the undo. */
function withoutResuming(difference: Difference, resumed: readonly string[]): Difference[] {
  const { table, key, before, after } = difference;
  if (table === "budget_pauses") return resumed.includes(textIn(key["agent_id"])) ? [] : [difference];
  if (!isResuming(difference)) return [difference];
  const rest = (row: Image | null): Image =>
    Object.fromEntries(
      Object.entries(row ?? {}).filter(
        ([column]) => !["status", "idle_sessions", "not_before"].includes(column),
      ),
    );
  return Object.keys(rest(after)).length === 0
    ? []
    : [{ table, key, before: rest(before), after: rest(after) }];
}

/**
 * Gives a returning agent its budget back with what it had spent. The pool above loses the same amounts. Other charges since
 * then must stay, so amounts are added, and rows are not restored.
 */
async function returnBudgets(tx: Tx, all: readonly Difference[]): Promise<void> {
  const back = new Set(all.filter(isLeaving).map(({ key }) => textIn(key["id"])));
  for (const { table, key, before } of all)
    if (table === "budgets" && before !== null && back.has(textIn(key["agent_id"])))
      await insertRow(tx, table, before);
  for (const { table, key, before, after } of all) {
    const id = textIn(key["pool_id"]);
    if (table !== "charges" || !back.has(id) || key["month"] !== monthOf(tx.now)) continue;
    const measure = known(measures, key["measure"] ?? null, "charges.measure");
    const { company_id, boss_id } = await agentById(tx, id);
    const spent = Number(before?.["amount"] ?? 0) - Number(after?.["amount"] ?? 0);
    await charge(tx, id, measure, spent);
    await charge(tx, (await drawnFrom(tx, company_id, boss_id, measure)).id, measure, -spent);
  }
}

/** Whether this is a parent edge of a new agent's mandate. The mandate ends with its agent, or has become other work since. */
function isOfNewcomer({ table, key, before }: Difference, all: readonly Difference[]): boolean {
  if (table !== "edges" || before !== null) return false;
  return all.some(
    (one) => one.table === "outcomes" && one.before === null && one.key["id"] === key["child_id"],
  );
}

/**
 * Columns that are derived, or that change with every session. They are not compared. Those of the first list are not restored
 * either.
 */
const notPutBack: Partial<Record<ImagedTable, readonly string[]>> = {
  agents: ["epoch"],
  grants: ["broken"],
  outcomes: ["stale"],
};
const notCompared: Partial<Record<ImagedTable, readonly string[]>> = {
  agents: ["epoch"],
  grants: ["broken", "structural"],
  outcomes: ["stale", "updated_at"],
  approvals: ["updated_at"],
};

async function changedSince(tx: ReadTx, found: readonly Difference[]): Promise<string[]> {
  const reasons: string[] = [];
  for (const { table, key, before, after } of found) {
    const now = await rowAt(tx, table, key);
    if (before === null) {
      if (now === undefined && (table === "edges" || table === "dependencies"))
        reasons.push(`${await nameOf(tx, table, key)} was removed`);
    } else if (after === null) {
      if (now !== undefined && table !== "budget_pauses")
        reasons.push(`${await nameOf(tx, table, key)} was set again`);
    } else {
      const skipped = notCompared[table] ?? [];
      const columns = Object.keys(after).filter(
        (column) => !skipped.includes(column) && (now === undefined || now[column] !== after[column]),
      );
      if (columns.length > 0)
        reasons.push(`${await nameOf(tx, table, key)} has changed (${columns.join(", ")})`);
    }
  }
  return reasons;
}

/** Whether the name, the slug and the mandate of a returning agent are still free. */
async function takenSince(tx: ReadTx, found: readonly Difference[]): Promise<string[]> {
  const reasons: string[] = [];
  for (const { key } of found.filter(isLeaving)) {
    const agent = await agentById(tx, textIn(key["id"]));
    const { company_id, name, name_key, slug } = agent;
    const other =
      (await tx.first(sameName, { company_id, name_key })) ??
      (await tx.first(sameSlug, { company_id, slug }));
    if (other !== undefined) reasons.push(`another agent was named ${name}`);
    if ((await tx.first(openApprovalOfName, { company_id, name_key })) !== undefined)
      reasons.push(`the name ${name} was requested for a new agent`);
    const successor = await tx.first(agentOfMandate, { mandate_id: agent.mandate_id });
    if (successor !== undefined) reasons.push(`${successor.name} has taken over the mandate of ${name}`);
  }
  return reasons;
}

/**
 * Returns a check that refuses once everything is restored. Firing, hiring in that place and undoing would get an agent past
 * the limit, because agents come back and their requests for new agents open again. The limit does not bind the board.
 */
async function roomDemander({ tx, companyId, actor }: CallContext): Promise<() => Promise<void>> {
  if (actor.agentId === null) return async () => undefined;
  const { count: before } = await headcountAndLimit(tx, companyId);
  return async () => {
    const { count, most } = await headcountAndLimit(tx, companyId);
    if (count > before && count > most) throw tooManyBack(count - before, before, most);
  };
}

/**
 * Ends the change that the agent's present manager proposed, because the agent goes back to its old one. Moving an agent
 * does the same (moving.ts).
 */
async function endProposal(call: CallContext, { table, key, before, after }: Difference): Promise<void> {
  const { tx } = call;
  if (table !== "agents" || before?.["boss_id"] == null || after === null) return;
  const [agentId, bossId] = [textIn(key["id"]), textIn(before["boss_id"])];
  const open = await tx.first(openApprovalOf, { agent_id: agentId });
  if (open?.type !== "change_agent" || open.requested_by === bossId) return;
  const [agent, boss] = [await memberById(tx, agentId), await memberById(tx, bossId)];
  await overtake(call, open, movedAway(agent?.name ?? agentId, boss?.name ?? bossId), moneyOf);
}

async function restore(call: CallContext, { table, key, before, after }: Difference): Promise<void> {
  const { tx } = call;
  if (table === "budget_pauses") return before === null ? undefined : insertRow(tx, table, before);
  if (table === "edges" || table === "dependencies") {
    const [waiter, target] = (
      table === "edges" ? [key["parent_id"], key["child_id"]] : [key["outcome_id"], key["depends_on_id"]]
    ).map(textIn);
    // The files of both outcomes name the link, so they have to be rendered again.
    for (const id of [waiter ?? "", target ?? ""]) await tx.run(markStale, { id });
    if (before === null) return deleteRow(tx, table, key);
    if (await wouldWaitForItself(tx, waiter ?? "", target ?? ""))
      demandNone([`${await nameOf(tx, table, key)} would make an outcome depend on itself`]);
    return insertRow(tx, table, before);
  }
  if (before === null || after === null) return;
  if (table === "approvals") return restoreApproval(call, key, before);
  const skipped = notPutBack[table] ?? [];
  const columns = Object.entries(before).filter(([column]) => !skipped.includes(column));
  const again: Image = table === "outcomes" ? { stale: 1 } : {};
  await setColumns(tx, table, key, { ...Object.fromEntries(columns), ...again });
}

/**
 * Restores an approval without overwriting anything. A payload comes back as another revision, and the thread says that the
 * approval is open again.
 */
async function restoreApproval(call: CallContext, key: Image, before: Image): Promise<void> {
  const { tx } = call;
  const { payload, payload_hash: _, ...columns } = before;
  const approval = await approvalById(tx, textIn(key["id"]));
  const isOpen = openStatuses.includes(approval.status);
  // The payload of a decided approval stays as it was at the decision.
  if (payload !== undefined && !isOpen) return;
  // The time to decide is over, or another request or an agent has taken the name that this request held. So the request
  // stays ended, and can be made again.
  const isOver = approval.expires_at !== null && approval.expires_at <= tx.now;
  if (!isOpen && (isOver || (await isNameTaken(tx, approval)))) return;
  if (payload !== undefined)
    await revise(call, approval, payloadOf({ payload: textIn(payload) }), undoneNote);
  await setColumns(tx, "approvals", key, columns);
  if (!isOpen) await addStep(call, await approvalById(tx, approval.id), "reopened", undoneNote);
}

async function isNameTaken(tx: ReadTx, { company_id, name_key }: ApprovalRow): Promise<boolean> {
  if (name_key === null) return false;
  const name = { company_id, name_key };
  return ((await tx.first(openApprovalOfName, name)) ?? (await tx.first(sameName, name))) !== undefined;
}

/** Records, for followers of the ledger, which agents came back, moved back, or got their brain back. */
async function tellOf(call: CallContext, { table, key, before, after }: Difference): Promise<void> {
  const { tx } = call;
  if (table === "outcomes" && before !== null)
    await call.record(textIn(key["id"]), { note: undoneNote }, "outcome.restore");
  if (table !== "agents" || before === null || after === null) return;
  const agent = await agentById(tx, textIn(key["id"]));
  if ("brain_type" in before || "brain_config" in before) {
    await saveAgent(tx, agent, { epoch: agent.epoch + 1 });
    await tx.run(endSessions, { agent_id: agent.id, ended_at: tx.now, end_reason: endings.handedBack });
    await call.record(agent.id, { to: agent.brain_type }, "agent.hand_over");
  }
  if (after["status"] === "terminated")
    await call.record(agent.id, { boss: agent.boss_id, status: agent.status }, "agent.return");
  else if ("boss_id" in before)
    await call.record(agent.id, { from: after["boss_id"], boss: agent.boss_id }, "agent.move");
}

async function endMade(call: CallContext, id: string, found: readonly Difference[]): Promise<void> {
  const { tx } = call;
  const agent = await agentById(tx, id);
  if (agent.status === "terminated" || agent.boss_id === null) return;
  // Its reports are back with their old manager. Rights that the agent gave them in the meantime end with it.
  for (const { table, key } of found)
    if (table === "agents")
      for (const grant of await givenTo(tx, textIn(key["id"]), id)) await takeAway(call, grant);
  await fire(call, agent, agent.boss_id, endings.undone);
}

/** The agents whose inbox the undo changes: readers of moved messages, and agents that come back. */
function readersIn(found: readonly Difference[]): Set<string> {
  const messages = found.filter(({ table }) => table === "messages");
  const readers = messages.flatMap(({ before, after }) => [before?.["to_id"], after?.["to_id"]]);
  const back = found.filter(isLeaving).map(({ key }) => key["id"]);
  return new Set([...readers, ...back].filter((id) => typeof id === "string"));
}

/** The reasons why the restored rows don't fit the rest of the organization. */
async function unfitting(tx: ReadTx, found: readonly Difference[]): Promise<string[]> {
  const reasons: string[] = [];
  for (const { table, key, before } of found) {
    if (before === null) continue;
    if (table === "agents") {
      reasons.push(...(await misplaced(tx, textIn(key["id"]))));
      reasons.push(...(await unaffordable(tx, textIn(key["id"]))));
    }
  }
  // An outcome may have lost or regained a parent without any other change.
  const hung = new Set<string>();
  for (const { table, key, before } of found) {
    if (table === "edges") hung.add(textIn(key["child_id"]));
    else if (table === "outcomes" && before !== null) hung.add(textIn(key["id"]));
  }
  for (const id of hung) reasons.push(...(await stranded(tx, id)));
  return reasons;
}

/** Budgets that come back must fit into what is left above them. */
async function unaffordable(tx: ReadTx, id: string): Promise<string[]> {
  const agent = await agentById(tx, id);
  const moving = new Set((await budgetsUnder(tx, id)).map(({ measure }) => measure));
  const reasons: string[] = [];
  for (const measure of measures) {
    if (agent.status === "terminated" || !moving.has(measure)) continue;
    const above = await drawnFrom(tx, agent.company_id, agent.boss_id, measure);
    if (left(above) < 0) reasons.push(`the budget of ${agent.name} (${measure}) no longer fits`);
  }
  return reasons;
}

async function misplaced(tx: ReadTx, id: string): Promise<string[]> {
  const agent = await agentById(tx, id);
  if (agent.status === "terminated" || agent.boss_id === null) return [];
  const reasons: string[] = [];
  const boss = await memberById(tx, agent.boss_id);
  if (boss === undefined || !isActive(boss))
    return [`${boss?.name ?? "the manager"}, the manager of ${agent.name}, has left`];
  if (!isLive(await outcomeById(tx, agent.mandate_id))) return [`the mandate of ${agent.name} has ended`];
  const above = new Set([id]);
  for (let next: Member | undefined = boss; next !== undefined;) {
    if (above.has(next.id)) return [`${agent.name} would report to itself`];
    above.add(next.id);
    next = await memberById(tx, next.boss_id);
  }
  for (const { title, name } of await tx.all(handedByOthers, { agentId: id, bossId: boss.id }))
    reasons.push(`${name ?? "another agent"} has delegated "${title}" to ${agent.name}`);
  for (const { resource, name } of await tx.all(givenByOthers, { agentId: id, bossId: boss.id }))
    reasons.push(`${name ?? "another agent"} has given ${agent.name} a right on ${resource}`);
  return reasons;
}

async function stranded(tx: ReadTx, id: string): Promise<string[]> {
  const outcome = await outcomeById(tx, id);
  if (!isLive(outcome) || outcome.kind === "perpetual") return [];
  const owner = await memberById(tx, outcome.responsible_id);
  if (owner === undefined || owner.status === "terminated")
    return [`${owner?.name ?? "the agent"} responsible for "${outcome.title}" has left`];
  if (outcome.delegated === 1 && outcome.delegated_by !== owner.boss_id)
    return [`"${outcome.title}" has moved to ${owner.name}, who has another manager`];
  return (await parentsOf(tx, id)).some(isLive) ? [] : [`the parents of "${outcome.title}" have ended`];
}

function demandNone(reasons: readonly string[]): void {
  if (reasons.length > 0) throw notUndoable(reasons);
}

async function nameOf(tx: ReadTx, table: ImagedTable, key: Image): Promise<string> {
  const row = (await rowAt(tx, table, key)) ?? {};
  const id = textIn(key["id"]);
  const title = async (of: Value | undefined) => `"${(await outcomeById(tx, textIn(of))).title}"`;
  if (table === "edges")
    return `the parent ${await title(key["parent_id"])} of ${await title(key["child_id"])}`;
  if (table === "dependencies")
    return `the dependency of ${await title(key["outcome_id"])} on ${await title(key["depends_on_id"])}`;
  const budget = `the budget ${textIn(key["measure"])}`;
  return {
    agents: `${textIn(row["name"])} (${id})`,
    outcomes: `"${textIn(row["title"])}" (${id})`,
    grants: `the right on ${textIn(row["resource"])} (${id})`,
    approvals: `the approval ${id}`,
    permission_requests: `the request for ${textIn(row["resource"])}`,
    credentials: `the key "${textIn(row["label"])}"`,
    messages: `the message ${id}`,
    budgets: budget,
    budget_pauses: budget,
    charges: budget,
  }[table];
}

const handedByOthers = query((db, p: { agentId: string; bossId: string }) =>
  db
    .selectFrom("outcomes as o")
    .leftJoin("agents as a", "a.id", "o.delegated_by")
    .select(["o.title", "a.name"])
    .where("o.responsible_id", "=", p.agentId)
    .where("o.status", "in", ["open", "submitted"])
    .where("o.delegated", "=", 1)
    .where("o.delegated_by", "<>", p.bossId)
    .orderBy("o.num"),
);

/** The right to hire is left out, because the root agent may give it to every agent. */
const givenByOthers = query((db, p: { agentId: string; bossId: string }) =>
  db
    .selectFrom("grants as g")
    .innerJoin("agents as a", "a.id", "g.granted_by")
    .select(["g.resource", "a.name"])
    .where("g.grantee_id", "=", p.agentId)
    .where("g.granted_by", "<>", p.bossId)
    .where("g.revoked_at", "is", null)
    .where((eb) => eb.or([eb("g.resource", "<>", "org:hire"), eb("a.boss_id", "is not", null)]))
    .orderBy("g.num"),
);
