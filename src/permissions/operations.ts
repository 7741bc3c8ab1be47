import * as contract from "../contract/capabilities.ts";
import { notFound } from "../contract/refusal.ts";
import { defaultLevel, isOnLadder, ranks, type Resource, resourceKind } from "../contract/resources.ts";
import { dynamic, insertion, query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { explain } from "../capabilities/explain.ts";
import { give, revoke } from "../capabilities/grants.ts";
import { type Call, type Guarded, guarded } from "../dispatch/guarded.ts";
import type { CallContext } from "../dispatch/context.ts";
import { findMember, isActive, type Member, memberById, reportsOf } from "../capabilities/members.ts";
import { notify } from "../mail/operations.ts";
import { cursorParts, numberCursor, pageAfter } from "../dispatch/page.ts";
import { effectiveRank, holds, worthOf } from "../capabilities/rights.ts";
import { type GrantRow, levelOf, pageOfGrants, presentGrant } from "../capabilities/table.ts";
import { noSuchLevel, notYourReport } from "../capabilities/texts.ts";
import * as texts from "./texts.ts";

const onList = guarded(contract.listPermissions, async ({ tx, actor, input }) => {
  const me = await ownMember(tx, actor.agentId);
  const page = await grantsPage(tx, me.id, true, input);
  const requests = await tx.all(requestsToBoss, { bossId: me.id });
  return { ...page, structural: await structuralOf(tx, me), requests: requests.map(presentRequest) };
});

const onListOfAgent = guarded(contract.listAgentGrants, async ({ tx, input }) => {
  const agent = await memberById(tx, input.id);
  if (agent === undefined) throw notFound("agent", input.id);
  return { ...(await grantsPage(tx, agent.id, false, input)), structural: await structuralOf(tx, agent) };
});

const onListRequests = guarded(contract.listPermissionRequests, async ({ tx, companyId, input }) => {
  const [after = ""] = cursorParts(input.cursor, "id");
  const rows = await tx.all(
    dynamic((db) =>
      db
        .selectFrom("permission_requests as r")
        .innerJoin("agents as a", "a.id", "r.agent_id")
        .select(["r.id", "r.agent_id", "a.name", "r.resource", "r.level", "r.reason", "r.created_at"])
        .where("r.company_id", "=", companyId)
        .where("r.answered_at", "is", null)
        .where("a.status", "<>", "terminated")
        .where("r.id", ">", after)
        .orderBy("r.id")
        .limit((input.limit ?? 100) + 1),
    ),
    {},
  );
  const { page, nextCursor } = pageAfter(rows, input.limit, (row) => row.id);
  return { requests: page.map(presentRequest), nextCursor };
});

const onExplain = guarded(contract.explainAccess, async ({ tx, actor, companyId, input }) => {
  const kind = resourceKind(input.resource);
  if (input.level !== undefined && !isOnLadder(kind, input.level)) throw noSuchLevel(kind, input.level);
  if (input.agent === undefined && actor.agentId === null) throw texts.whoseAccess();
  const agent =
    input.agent === undefined
      ? await ownMember(tx, actor.agentId)
      : await findMember(tx, companyId, input.agent);
  if (actor.agentId !== null && agent.id !== actor.agentId) {
    if (agent.boss_id !== actor.agentId)
      throw notYourReport(agent, "forbidden", "Ask about yourself or a direct report.");
    // A manager may ask only about resources it has a right on. Otherwise the answer would reveal what exists.
    if (
      (await effectiveRank(tx, actor.agentId, input.resource)) < 0 &&
      !["org", "mcp", "repo"].includes(kind)
    )
      throw notFound("resource", input.resource);
  }
  return explain(tx, agent, input.resource, input.level);
});

const onGrant = guarded(contract.grantPermission, async (call) => {
  const { tx, actor, companyId, input } = call;
  const receiver = await findMember(tx, companyId, input.to);
  const giver = actor.agentId === null ? null : await ownMember(tx, actor.agentId);
  const row = await give(tx, {
    id: call.newId(),
    companyId,
    giver,
    receiver,
    resource: input.resource,
    level: input.level,
    scopeId: input.outcome,
  });
  const grant = await presentGrant(tx, row, true);
  await recordGrant(call, "permission.grant", row);
  await tellOfServer(call, row, true);
  return grant;
});

const onRevoke = guarded(contract.revokePermission, async (call) => {
  const row = await revoke(call.tx, call.companyId, call.input.id, call.actor.agentId);
  await recordGrant(call, "permission.revoke", row);
  await tellOfServer(call, row, false);
  return presentGrant(call.tx, row, false);
});

const onRequest = guarded(contract.requestPermission, async (call) => {
  const { tx, actor, companyId, input } = call;
  const me = await ownMember(tx, actor.agentId);
  const kind = resourceKind(input.resource);
  const level = input.level ?? defaultLevel(kind);
  if (!isOnLadder(kind, level)) throw noSuchLevel(kind, level);
  const request = {
    id: call.newId(),
    agent: { id: me.id, name: me.name },
    resource: input.resource,
    level,
    reason: input.reason,
    at: new Date(tx.now).toISOString(),
  };
  if (await holds(tx, me.id, input.resource, level)) return { ...request, status: "already_held" as const };
  // A repeated request is recorded, but the manager gets no second notice.
  const open = await tx.all(openRequestsOf, { companyId, agentId: me.id, limit: mostRequests });
  const same = open.find((row) => row.resource === input.resource && row.level === ranks[level]);
  if (same !== undefined) {
    await call.record(me.id, { resource: input.resource, level, reason: input.reason, again: same.id });
    const at = new Date(same.created_at).toISOString();
    return { ...request, id: same.id, reason: same.reason, at, status: "open" as const };
  }
  if (open.length === mostRequests) throw texts.tooManyPermissionRequests(mostRequests);
  await tx.run(insertRequest, {
    id: request.id,
    company_id: companyId,
    agent_id: me.id,
    resource: input.resource,
    level: ranks[level],
    reason: input.reason,
    created_at: tx.now,
    answered_at: null,
  });
  await call.record(me.id, { resource: input.resource, level, reason: input.reason });
  await notify(call, me.boss_id, texts.permissionRequested(me, { ...input, level }));
  return { ...request, status: "open" as const };
});

export const permissionHandlers: readonly Guarded[] = [
  onList,
  onListOfAgent,
  onGrant,
  onRevoke,
  onRequest,
  onListRequests,
  onExplain,
];

/** A session gets its MCP servers when it starts, so a change reaches the agent only with its next session. */
export async function tellOfServer(call: CallContext, row: GrantRow, isGranted: boolean): Promise<void> {
  if (resourceKind(row.resource) !== "mcp") return;
  await notify(call, row.grantee_id, texts.serverChanged(row.resource.slice("mcp:".length), isGranted));
}

export async function recordGrant(
  call: Pick<Call<unknown>, "record">,
  operation: "permission.grant" | "permission.revoke",
  row: GrantRow,
): Promise<void> {
  await call.record(
    row.grantee_id,
    { grant: row.id, resource: row.resource, level: row.level, scope: row.scope_id, parent: row.parent_id },
    operation,
  );
}

async function ownMember(tx: ReadTx, agentId: string | null): Promise<Member> {
  const me = await memberById(tx, agentId);
  if (me === undefined) throw texts.onlyAgents();
  return me;
}

async function grantsPage(
  tx: ReadTx,
  agentId: string,
  onlyStanding: boolean,
  input: { limit?: number | undefined; cursor?: string | undefined },
) {
  const limit = input.limit ?? 100;
  const rows = await pageOfGrants(tx, {
    agentId,
    onlyStanding,
    after: numberCursor(input.cursor),
    limit: limit + 1,
  });
  const { page, nextCursor } = pageAfter(rows, input.limit, (row) => String(row.num));
  const grants = [];
  for (const row of page) {
    const stands = row.broken === 0 && (await worthOf(tx, row, row.resource)) === row.level;
    if (stands || !onlyStanding) grants.push(await presentGrant(tx, row, stands));
  }
  return { grants, nextCursor };
}

/** The rights an agent has by its position. Outcomes below the listed ones are implied, so they are not listed. */
async function structuralOf(tx: ReadTx, me: Member) {
  // An inactive agent has no rights.
  if (!isActive(me)) return [];
  const rights = [];
  for (const outcome of await tx.all(drivenRoots, { agentId: me.id }))
    rights.push({
      resource: `outcome:${outcome.id}`,
      levels: ["read", "drive"],
      because: texts.because.delegatedToYou(outcome.title),
    });
  for (const outcome of await tx.all(delegatedAway, { agentId: me.id }))
    rights.push({
      resource: `outcome:${outcome.id}`,
      levels: ["read", "write"],
      because: texts.because.youDelegated(outcome.title),
    });
  for (const file of await tx.all(ownDocuments, { agentId: me.id }))
    rights.push({
      resource: `kb:${file.id}`,
      levels: file.kind === "log" ? ["read"] : ["read", "write"],
      because: texts.because.ownDocument(file.kind),
    });
  if (me.boss_id !== null)
    rights.push({ resource: `mail:${me.boss_id}`, levels: ["send"], because: texts.because.manager });
  for (const report of await reportsOf(tx, me.id))
    if (report.status !== "pending_approval")
      rights.push({
        resource: `mail:${report.id}`,
        levels: ["send"],
        because: texts.because.report(report.name),
      });
  rights.push({
    resource: `mail:${me.id}`,
    levels: ["send"],
    because: texts.because.yourself,
  });
  return rights;
}

function presentRequest(row: {
  id: string;
  agent_id: string;
  name: string;
  resource: Resource;
  level: number;
  reason: string;
  created_at: number;
}) {
  return {
    id: row.id,
    agent: { id: row.agent_id, name: row.name },
    resource: row.resource,
    level: levelOf("permission_requests", row),
    reason: row.reason,
    at: new Date(row.created_at).toISOString(),
  };
}

const requestsToBoss = query((db, p: { bossId: string }) =>
  db
    .selectFrom("permission_requests as r")
    .innerJoin("agents as a", "a.id", "r.agent_id")
    .select(["r.id", "r.agent_id", "a.name", "r.resource", "r.level", "r.reason", "r.created_at"])
    .where("a.boss_id", "=", p.bossId)
    .where("a.status", "<>", "terminated")
    .where("r.answered_at", "is", null)
    .orderBy("r.created_at")
    .limit(100),
);

const mostRequests = 50;

const openRequestsOf = query((db, p: { companyId: string; agentId: string; limit: number }) =>
  db
    .selectFrom("permission_requests")
    .select(["id", "resource", "level", "reason", "created_at"])
    .where("company_id", "=", p.companyId)
    .where("agent_id", "=", p.agentId)
    .where("answered_at", "is", null)
    .limit(p.limit),
);

const insertRequest = insertion("permission_requests");

const drivenRoots = query((db, p: { agentId: string }) =>
  db
    .selectFrom("outcomes")
    .select(["id", "title"])
    .where("responsible_id", "=", p.agentId)
    .where("status", "in", ["open", "submitted"])
    .where("delegated", "=", 1)
    .orderBy("num")
    .limit(200),
);

const delegatedAway = query((db, p: { agentId: string }) =>
  db
    .selectFrom("outcomes")
    .select(["id", "title"])
    .where("delegated_by", "=", p.agentId)
    .where("status", "in", ["open", "submitted"])
    .orderBy("num")
    .limit(200),
);

const ownDocuments = query((db, p: { agentId: string }) =>
  db
    .selectFrom("files")
    .select(["id", "kind"])
    .where("owner_id", "=", p.agentId)
    .where("deleted_at", "is", null),
);
