import { tables } from "../store/schema.ts";
import type { HireConfiguration } from "../contract/hiring.ts";
import { levelOf } from "../capabilities/table.ts";
import { outcomeById } from "../outcomes/table.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import type { AgentRow } from "../agents/table.ts";

/** The configuration an agent runs with, in the shape of a hire request. The two can be compared field by field. */
export async function configurationOf(tx: ReadTx, agent: AgentRow): Promise<HireConfiguration> {
  const grants = await tx.all(givenFor, { agentId: agent.id, scopeId: agent.mandate_id });
  return {
    name: agent.name,
    role: agent.role,
    title: agent.title,
    reportsTo: agent.boss_id,
    capabilities: agent.capabilities,
    mandate: (await outcomeById(tx, agent.mandate_id)).description,
    prompt: agent.prompt,
    adapterType: agent.brain_type,
    adapterConfig: tables.agents.brain_config.parse(agent.brain_config),
    model: agent.model,
    effort: agent.effort,
    budget: tables.agents.budget.parse(agent.budget),
    grants: grants.map((grant) => ({ resource: grant.resource, level: levelOf("grants", grant) })),
  };
}

const givenFor = query((db, p: { agentId: string; scopeId: string }) =>
  db
    .selectFrom("grants")
    .select(["resource", "level"])
    .where("grantee_id", "=", p.agentId)
    .where("scope_id", "=", p.scopeId)
    .where("origin", "in", ["board", "boss"])
    .where("revoked_at", "is", null)
    .orderBy("num"),
);
