import { sql } from "kysely";
import { tables } from "../store/schema.ts";
import { JsonObject } from "../contract/words.ts";
import * as contract from "../contract/hiring.ts";
import type { Input } from "../contract/operation.ts";
import { check, sentencesOf } from "../contract/problems.ts";
import { notFound } from "../contract/refusal.ts";
import { defaultLevel, resourceKind } from "../contract/resources.ts";
import { type ApprovalRow, payloadOf } from "../approvals/approval.ts";
import { weigh } from "../capabilities/grants.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import { isActive, type Member, memberById, rootAgentOf } from "../capabilities/members.ts";
import { brainMarks } from "../brains/registry.ts";
import { restore } from "../redaction/redact.ts";
import { holds } from "../capabilities/rights.ts";
import { levelOf } from "../capabilities/table.ts";
import { outcomeById } from "../outcomes/table.ts";
import { selection } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { chooseBrain } from "./employ.ts";
import type { AgentRow } from "../agents/table.ts";
import { cannotManage, fixedInPayload, grantBeyondYours, invalidHire, outsideYourTeam } from "./texts.ts";

/** The input of a hire, before the defaults are filled in. */
export type HireInput = Omit<Input<typeof contract.hireAgent>, "companyId">;

export function snapshotOf(approval: ApprovalRow): contract.HireConfiguration {
  return contract.HireConfiguration.parse(payloadOf(approval)["requestedConfigurationSnapshot"]);
}

/** The manager of the hire: an active agent at or below the requester. Default: the requester, or the root agent for the board. */
export async function bossOf(call: Writing, reference: string | undefined): Promise<Member> {
  const { tx, companyId, actor } = call;
  const top = actor.agentId ?? (await rootAgentOf(tx, companyId)) ?? "";
  const id = reference ?? top;
  const boss = await memberById(tx, id);
  if (boss === undefined || boss.company_id !== companyId) throw notFound("agent", id);
  for (let above: Member | undefined = boss; above?.id !== top;) {
    if (above === undefined || above.boss_id === null) throw outsideYourTeam(boss.name);
    above = await memberById(tx, above.boss_id);
  }
  if (!isActive(boss)) throw cannotManage(boss);
  return boss;
}

/** The complete configuration: defaults filled in, the brain checked against its schema and the company's rules. */
export async function configured(
  call: CallContext,
  input: HireInput,
  boss: Member,
  mandate: string | undefined,
  kept?: contract.HireConfiguration,
): Promise<contract.HireConfiguration> {
  const brain =
    kept === undefined
      ? await chooseBrain(call, input)
      : { brain_type: kept.adapterType, brain_config: JSON.stringify(kept.adapterConfig) };
  return {
    name: input.name,
    role: input.role,
    title: input.title ?? null,
    reportsTo: boss.id,
    capabilities: input.capabilities ?? null,
    mandate: mandate ?? input.mandate ?? "",
    prompt: input.prompt ?? null,
    adapterType: brain.brain_type,
    adapterConfig: tables.agents.brain_config.parse(brain.brain_config),
    model: input.model ?? null,
    effort: input.effort ?? null,
    budget: input.budget ?? null,
    grants: (input.grants ?? []).map(({ resource, level }) => ({
      resource,
      level: level ?? defaultLevel(resourceKind(resource)),
    })),
  };
}

/** The earlier configuration with the changes applied, checked like a new hire. */
export function redrafted(
  approval: ApprovalRow,
  former: contract.HireConfiguration,
  changes: Readonly<Record<string, unknown>>,
  agent: AgentRow,
): HireInput {
  const payload = payloadOf(approval);
  const whole = "requestedConfigurationSnapshot" in changes;
  const { requestedConfigurationSnapshot: inner, ...outer } = changes;
  for (const [key, value] of whole ? Object.entries(outer) : [])
    if (!(key in payload) || JSON.stringify(value) !== JSON.stringify(payload[key]))
      throw fixedInPayload(key);
  const given = check(JsonObject, restore(whole ? inner : changes, former, brainMarks));
  if ("problems" in given) throw invalidHire(sentencesOf(given.problems), Object.keys(former));
  const said = { ...former, reportsTo: agent.boss_id, ...given.data };
  const checked = check(
    contract.hireAgent.input.omit({ companyId: true }),
    Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null)),
  );
  if ("data" in checked) return checked.data;
  throw invalidHire(sentencesOf(checked.problems), Object.keys(former));
}

/** The columns of an agent with this configuration. */
export function rowOf(configuration: contract.HireConfiguration) {
  const {
    adapterType,
    adapterConfig,
    budget,
    reportsTo: _b,
    mandate: _m,
    grants: _g,
    ...row
  } = configuration;
  return {
    ...row,
    brain_type: adapterType,
    brain_config: JSON.stringify(adapterConfig),
    budget: budget === null ? null : JSON.stringify(budget),
  };
}

/** An agent may request rights that it holds itself and that the manager can pass on. The board may request any. */
export async function weighGrants(
  call: CallContext,
  configuration: contract.HireConfiguration,
  giver: Member | null,
  receiver: Member,
): Promise<void> {
  const { tx, companyId, actor } = call;
  for (const { resource, level } of configuration.grants) {
    await weigh(tx, { companyId, giver, receiver, resource, level });
    if (actor.agentId !== null && !(await holds(tx, actor.agentId, resource, level)))
      throw grantBeyondYours(resource, level);
  }
}

/** The present configuration of an agent, in the shape of a hire request. The two can be compared field by field. */
export async function configurationOf(tx: ReadTx, agent: AgentRow): Promise<contract.HireConfiguration> {
  const grants = await tx.all(givenFor, { grantee_id: agent.id, scope_id: agent.mandate_id });
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

const givenFor = selection(
  "grants",
  ["grantee_id", "scope_id"],
  sql`and origin in ('board', 'boss') and revoked_at is null order by num`,
);
