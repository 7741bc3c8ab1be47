import { sql } from "kysely";
import * as contract from "../contract/capabilities.ts";
import { notFound } from "../contract/refusal.ts";
import {
  defaultLevel,
  isHoldable,
  isOnLadder,
  ranks,
  resourceId,
  resourceKind,
} from "../contract/resources.ts";
import { redactText } from "../redaction/redact.ts";
import { insertion } from "../store/inserts.ts";
import { type Db, query, selection, textQuery } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { explain } from "../capabilities/explain.ts";
import { demandServer, revoke } from "../capabilities/grants.ts";
import { possibleHolders } from "../capabilities/holders.ts";
import { type Guarded, guarded } from "../dispatch/guarded.ts";
import { answerableWriters } from "../capabilities/answers.ts";
import {
  findMember,
  isActive,
  type Member,
  memberById,
  memberName,
  reportsOf,
} from "../capabilities/members.ts";
import { statusIsLive } from "../outcomes/outcome.ts";
import { notify } from "../mail/notices.ts";
import {
  cursorParts,
  cursorRow,
  defaultPage,
  pageAfter,
  pageByNumber,
  type PageInput,
} from "../dispatch/page.ts";
import { effectiveRank, holds, worthOf } from "../capabilities/rights.ts";
import { pinsOf, reasonOf } from "../capabilities/pinned.ts";
import { departedBelow } from "../capabilities/structure.ts";
import { presentGrant, type Viewer, visibleName, visibleVersions } from "../capabilities/visible.ts";
import { levelOf } from "../capabilities/table.ts";
import { noSuchLevel, notYourReport } from "../capabilities/texts.ts";
import { grantRight, recordGrant, tellOfHiring, tellOfServer } from "./giving.ts";
import * as texts from "./texts.ts";

const onList = guarded(contract.listPermissions, async ({ tx, actor, input }) => {
  const me = await ownMember(tx, actor.agentId);
  const page = await grantsPage(tx, actor, me.id, { ...input, stands: true });
  const requests = await tx.all(requestsToBoss, { bossId: me.id });
  return { ...page, structural: await structuralOf(tx, actor, me), requests: requests.map(presentRequest) };
});

const onListOfAgent = guarded(contract.listAgentGrants, async ({ tx, actor, input }) => {
  const agent = await memberById(tx, input.id);
  if (agent === undefined) throw notFound("agent", input.id);
  return {
    ...(await grantsPage(tx, actor, agent.id, input)),
    structural: await structuralOf(tx, actor, agent),
  };
});

const onListRequests = guarded(contract.listPermissionRequests, async ({ tx, companyId, input }) => {
  const [after = ""] = cursorParts(input.cursor, "id");
  const limit = (input.limit ?? defaultPage) + 1;
  const rows = await tx.all(openRequests, { companyId, after, limit });
  const { page, nextCursor } = pageAfter(rows, input.limit, (row) => row.id);
  return { requests: page.map(presentRequest), nextCursor };
});

const onExplain = guarded(contract.explainAccess, async ({ tx, actor, companyId, input }) => {
  const kind = resourceKind(input.resource);
  if (input.level !== undefined && !isHoldable(kind, input.level))
    throw noSuchLevel(kind, input.level, kind === "outcome" ? ["drive"] : []);
  if (input.agent === undefined && actor.agentId === null) throw texts.whoseAccess();
  const agent =
    input.agent === undefined
      ? await ownMember(tx, actor.agentId)
      : await findMember(tx, companyId, input.agent);
  if (actor.agentId !== null && agent.id !== actor.agentId) {
    if (agent.boss_id !== actor.agentId)
      throw notYourReport(agent, "forbidden", "Ask about yourself or a direct report.");
    // A manager may only ask about resources on which it has a right. Otherwise the answer would tell what exists.
    if (
      (await effectiveRank(tx, actor.agentId, input.resource)) < 0 &&
      (kind !== "kb" || (await visibleVersions(tx, actor, resourceId(input.resource))).length === 0) &&
      !["org", "mcp", "repo"].includes(kind)
    )
      throw notFound("resource", input.resource);
  }
  return explain(tx, actor, agent, input.resource, input.level);
});

const onHolders = guarded(contract.listHolders, async ({ tx, actor, companyId, input }) => {
  const { resource, limit = defaultPage } = input;
  const kind = resourceKind(resource);
  if (input.level !== undefined && !isOnLadder(kind, input.level)) throw noSuchLevel(kind, input.level);
  const level = input.level ?? defaultLevel(kind);
  const about = await visibleName(tx, actor, companyId, resource);
  if (about.title === null) throw notFound("resource", resource);
  let after = await cursorRow(input.cursor, async (id) => {
    const agent = await memberById(tx, id);
    return agent?.company_id === companyId ? agent : undefined;
  });
  const holders = [];
  for (;;) {
    const possible = await possibleHolders(tx, companyId, resource, after, limit + 1);
    for (const agent of possible) {
      const { allowed, held, because, references, chain, pinned } = await explain(
        tx,
        actor,
        agent,
        resource,
        level,
      );
      if (allowed && held !== null)
        holders.push({ agent: { id: agent.id, name: agent.name }, held, because, references, chain, pinned });
    }
    after = possible.at(-1);
    if (possible.length <= limit || holders.length > limit) break;
  }
  const { page, nextCursor } = pageAfter(holders, limit, ({ agent }) => agent.id);
  return { resource, level, about, holders: page, nextCursor };
});

const onGrant = guarded(contract.grantPermission, async (call) => {
  const { tx, actor, companyId, input } = call;
  const receiver = await findMember(tx, companyId, input.to);
  const giver = (await memberById(tx, actor.agentId)) ?? null;
  const { resource, level, outcome: scopeId } = input;
  const row = await grantRight(call, { giver, receiver, resource, level, scopeId });
  await tellOfServer(call, row, true);
  return presentGrant(tx, actor, row, true);
});

const onRevoke = guarded(contract.revokePermission, async (call) => {
  const row = await revoke(call.tx, call.companyId, call.input.id, call.actor.agentId);
  await recordGrant(call, "permission.revoke", row);
  await tellOfServer(call, row, false);
  await tellOfHiring(call, row);
  return presentGrant(call.tx, call.actor, row, false);
});

const onRequest = guarded(contract.requestPermission, async (call) => {
  const { tx, actor, companyId, input } = call;
  const me = await ownMember(tx, actor.agentId);
  const kind = resourceKind(input.resource);
  const level = input.level ?? defaultLevel(kind);
  if (!isOnLadder(kind, level)) throw noSuchLevel(kind, level);
  if (kind === "mcp") await demandServer(tx, companyId, resourceId(input.resource));
  const reason = redactText(input.reason);
  const request = {
    id: call.newId(),
    agent: { id: me.id, name: me.name },
    resource: input.resource,
    level,
    reason,
    at: new Date(tx.now).toISOString(),
  };
  if (await holds(tx, me.id, input.resource, level)) return { ...request, status: "already_held" as const };
  // A repeated request is recorded, but sends the manager no second notice.
  const open = await tx.all(openRequestsOf, { company_id: companyId, agent_id: me.id });
  const same = open.find((row) => row.resource === input.resource && row.level === ranks[level]);
  if (same !== undefined) {
    await call.record(me.id, { resource: input.resource, level, reason, again: same.id });
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
    reason,
    created_at: tx.now,
    answered_at: null,
  });
  await call.record(me.id, { resource: input.resource, level, reason });
  await notify(call, me.boss_id, texts.permissionRequested(me, { ...input, reason, level }));
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
  onHolders,
];

async function ownMember(tx: ReadTx, agentId: string | null): Promise<Member> {
  const me = await memberById(tx, agentId);
  if (me === undefined) throw texts.onlyAgents();
  return me;
}

async function grantsPage(
  tx: ReadTx,
  viewer: Viewer,
  agentId: string,
  input: PageInput & { readonly stands?: boolean | undefined },
) {
  const { stands: wanted } = input;
  const where = { grantee_id: agentId, broken: wanted === true ? 0 : undefined };
  // A grant with an unbroken chain may still not be in force if the chain starts with a right from a position.
  const also = wanted === false && sql`(broken > 0 or structural = 1)`;
  const { page, nextCursor } = await pageByNumber(tx, "grants", where, "oldest first", input, also);
  const grants = [];
  for (const row of page) {
    const stands = row.broken === 0 && (await worthOf(tx, row, row.resource)) === row.level;
    if (wanted === undefined || stands === wanted) grants.push(await presentGrant(tx, viewer, row, stands));
  }
  return { grants, nextCursor };
}

/** The rights that an agent has from its position. Outcomes below the listed ones are implied, so they are not listed. */
async function structuralOf(tx: ReadTx, viewer: Viewer, me: Member): Promise<contract.StructuralRight[]> {
  // An inactive agent has no rights.
  if (!isActive(me)) return [];
  const rights: contract.StructuralRight[] = [];
  const add = (resource: string, levels: string[], because: string): void =>
    void rights.push({ resource, levels, because });
  const { because } = texts;
  for (const { id, title } of await tx.all(drivenRoots, { responsible_id: me.id }))
    add(`outcome:${id}`, ["read", "drive"], because.delegatedToYou(title));
  for (const { id, title } of await tx.all(delegatedAway, { delegated_by: me.id }))
    add(`outcome:${id}`, ["read", "write"], because.youDelegated(title));
  for (const { id, kind } of await tx.all(ownDocuments, { owner_id: me.id }))
    add(`kb:${id}`, kind === "log" ? ["read"] : ["read", "write"], because.ownDocument(kind));
  for (const { id, kind, name } of await tx.all(reportsDocuments, { agentId: me.id }))
    add(`kb:${id}`, ["read"], because.reportsDocument(name, kind));
  for (const { id, kind, name } of await tx.all(inheritedFiles, { agentId: me.id }))
    add(`kb:${id}`, kind === "file" ? ["read", "write"] : ["read"], because.inherited(name));
  for (const pin of await pinsOf(tx, me.id, 200)) {
    const { fileId, version, through } = pin;
    const why = await reasonOf(tx, viewer.agentId, me, pin);
    rights.push({ resource: `kb:${fileId}`, levels: ["read"], ...why, version, through });
  }
  if (me.boss_id !== null) add(`mail:${me.boss_id}`, ["send"], because.manager);
  for (const report of await reportsOf(tx, me.id))
    if (report.status !== "pending_approval") add(`mail:${report.id}`, ["send"], because.report(report.name));
  add(`mail:${me.id}`, ["send"], because.yourself);
  for (const writer of await answerableWriters(tx, me.id))
    if (!(await holds(tx, me.id, `mail:${writer ?? "board"}`, "send")))
      add(`mail:${writer ?? "board"}`, ["send"], because.wroteToYou(await memberName(tx, writer)));
  return rights;
}

function presentRequest(row: Request) {
  return {
    id: row.id,
    agent: { id: row.agent_id, name: row.name },
    resource: row.resource,
    level: levelOf("permission_requests", row),
    reason: row.reason,
    at: new Date(row.created_at).toISOString(),
  };
}

type Request = Row<"permission_requests"> & { name: string };

const requests = (db: Db) =>
  db
    .selectFrom("permission_requests as r")
    .innerJoin("agents as a", "a.id", "r.agent_id")
    .selectAll("r")
    .select("a.name")
    .where("a.status", "<>", "terminated")
    .where("r.answered_at", "is", null);

const requestsToBoss = query((db, p: { bossId: string }) =>
  requests(db).where("a.boss_id", "=", p.bossId).orderBy("r.created_at").limit(100),
);
const openRequests = query((db, p: { companyId: string; after: string; limit: number }) =>
  requests(db)
    .where("r.company_id", "=", p.companyId)
    .where("r.id", ">", p.after)
    .orderBy("r.id")
    .limit(p.limit),
);

const mostRequests = 50;

const openRequestsOf = selection(
  "permission_requests",
  ["company_id", "agent_id"],
  sql`and answered_at is null limit ${sql.lit(mostRequests)}`,
);

const insertRequest = insertion("permission_requests");

const drivenRoots = selection(
  "outcomes",
  ["responsible_id"],
  sql`and ${statusIsLive} and delegated = 1 order by num limit 200`,
);
const delegatedAway = selection(
  "outcomes",
  ["delegated_by"],
  sql`and ${statusIsLive} order by num limit 200`,
);
const ownDocuments = selection("files", ["owner_id"], sql`and deleted_at is null`);

const reportsDocuments = textQuery(
  (p: { agentId: string }) =>
    sql<{ id: string; kind: string; name: string }>`select f.id, f.kind, a.name from files f
      join agents a on a.id = f.owner_id where f.deleted_at is null and a.boss_id = ${p.agentId}
      and a.status in ('idle', 'paused') order by f.id limit 200`,
);

/** The files of departed agents that now belong to this agent: state documents, logs, and files they created. */
const inheritedFiles = textQuery(
  (p: { agentId: string }) =>
    sql<{ id: string; kind: string; name: string }>`select * from (
      select f.id, f.kind, a.name from files f join agents a on a.id = f.owner_id
        where f.deleted_at is null and f.owner_id in (${departedBelow(p.agentId)})
      union all select f.id, f.kind, a.name from grants g join agents a on a.id = g.grantee_id
        join files f on f.id = substr(g.resource, 4)
        where f.deleted_at is null and g.grantee_id in (${departedBelow(p.agentId)})
          and g.resource >= 'kb:' and g.resource < 'kb;' and g.origin = 'creation' and g.revoked_at is null) as i
      order by i.id limit 200`,
);
