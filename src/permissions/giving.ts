import { sql } from "kysely";
import { resourceKind } from "../contract/resources.ts";
import { type Gift, give } from "../capabilities/grants.ts";
import { isActive, memberById, memberName } from "../capabilities/members.ts";
import { holds } from "../capabilities/rights.ts";
import { type GrantRow, markRevoked } from "../capabilities/table.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import { notify } from "../mail/notices.ts";
import { textQuery } from "../store/query.ts";
import * as texts from "./texts.ts";

/** Gives and takes rights as a part of another change. Each is recorded, and the affected agents are told. */

/** A session gets its MCP servers when it starts, so a change reaches the agent only with its next session. */
export async function tellOfServer(call: CallContext, row: GrantRow, isGranted: boolean): Promise<void> {
  if (resourceKind(row.resource) !== "mcp") return;
  await notify(call, row.grantee_id, texts.serverChanged(row.resource.slice("mcp:".length), isGranted));
}

/** Grants a right and records it. */
export async function grantRight(call: Writing, gift: Omit<Gift, "id" | "companyId">): Promise<GrantRow> {
  const row = await give(call.tx, { ...gift, id: call.newId(), companyId: call.companyId });
  await recordGrant(call, "permission.grant", row);
  return row;
}

/** Revokes a grant that another change ends, and records it. */
export async function takeAway(call: Writing, grant: GrantRow): Promise<void> {
  await markRevoked(call.tx, grant.id);
  await recordGrant(call, "permission.revoke", grant);
  await tellOfHiring(call, grant);
}

/**
 * Tells every agent that can't hire any more because this grant was revoked, including those that got the right further down.
 */
export async function tellOfHiring(call: Writing, row: GrantRow): Promise<void> {
  if (row.resource !== "org:hire") return;
  const { tx, actor } = call;
  const by = actor.kind === "system" ? "Agency" : await memberName(tx, actor.agentId, "the board");
  const holder = await memberName(tx, row.grantee_id);
  for (const { id } of await tx.all(holdersBelow, { id: row.id })) {
    const agent = await memberById(tx, id);
    if (agent === undefined || !isActive(agent) || id === actor.agentId) continue;
    if (await holds(tx, id, "org:hire", "use")) continue;
    await notify(call, id, texts.hiringEnded(by, id === row.grantee_id ? null : holder));
  }
}

/** The holders of a grant and of all grants that were passed on from it. */
const holdersBelow = textQuery(
  (p: { id: string }) => sql<{ id: string }>`with recursive below(id) as (
      select id from grants where id = ${p.id}
      union select g.id from grants g join below on g.parent_id = below.id)
    select distinct g.grantee_id as id from grants g join below on below.id = g.id order by g.grantee_id`,
);

export async function recordGrant(
  call: Writing,
  operation: "permission.grant" | "permission.revoke",
  row: GrantRow,
): Promise<void> {
  await call.record(
    row.grantee_id,
    { grant: row.id, resource: row.resource, level: row.level, scope: row.scope_id, parent: row.parent_id },
    operation,
  );
}
