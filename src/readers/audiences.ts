import { sql } from "kysely";
import type { Audience } from "../contract/operation.ts";
import { ranks } from "../contract/resources.ts";
import { hasOpenRequest } from "../approvals/table.ts";
import { memberById, reportsOf } from "../capabilities/members.ts";
import { holds } from "../capabilities/rights.ts";
import { textQuery } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/** The audiences of an agent now, from its place and its rights. They decide its list of tools, not its rights. */
export async function audiencesOf(tx: ReadTx, agentId: string): Promise<ReadonlySet<Audience>> {
  const found: Readonly<Record<Audience, boolean>> = {
    manager: (await reportsOf(tx, agentId)).length > 0,
    hirer: await holds(tx, agentId, "org:hire", "use"),
    requester: await hasOpenRequest(tx, agentId),
    root: (await memberById(tx, agentId))?.boss_id === null,
    developer: (await tx.first(repoRight, { agentId, level: ranks.read })) !== undefined,
    pusher: (await tx.first(repoRight, { agentId, level: ranks.push })) !== undefined,
    person: false,
  };
  return new Set(allAudiences.filter((audience) => found[audience]));
}

const allAudiences: readonly Audience[] = ["manager", "hirer", "requester", "root", "developer", "pusher"];

const repoRight = textQuery(
  (p: { agentId: string; level: number }) => sql<{ yes: number }>`select 1 as yes from grants
    where grantee_id = ${p.agentId} and resource >= 'repo:' and resource < 'repo;' and broken = 0 and level >= ${p.level} limit 1`,
);
