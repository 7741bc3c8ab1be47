import * as contract from "../contract/hiring.ts";
import type { Input } from "../contract/operation.ts";
import { check, sentencesOf } from "../contract/problems.ts";
import { notFound, Refusal } from "../contract/refusal.ts";
import { defaultLevel, resourceKind } from "../contract/resources.ts";
import { type ApprovalRow, payloadOf } from "../approvals/table.ts";
import { weigh } from "../capabilities/grants.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import { isActive, type Member, memberById, rootAgentOf } from "../capabilities/members.ts";
import { restore } from "../capabilities/redaction.ts";
import { holds } from "../capabilities/rights.ts";
import { chooseBrain } from "./employ.ts";
import type { AgentRow } from "../agents/table.ts";

/** What is asked for in a hire: every key said, checked against what the brain takes and the asker may ask for. */
export type HireInput = Omit<Input<typeof contract.hireAgent>, "companyId">;

export function snapshotOf(approval: ApprovalRow): contract.HireConfiguration {
  return contract.HireConfiguration.parse(payloadOf(approval)["requestedConfigurationSnapshot"]);
}

/** The boss the hire names: an active agent at or below whoever asks; by default that agent, of the board the root. */
export async function bossOf(call: Writing, reference: string | undefined): Promise<Member> {
  const { tx, companyId, actor } = call;
  const top = actor.agentId ?? (await rootAgentOf(tx, companyId)) ?? "";
  const id = reference ?? top;
  const boss = await memberById(tx, id);
  if (boss === undefined || boss.company_id !== companyId) throw notFound("agent", id);
  for (let above: Member | undefined = boss; above?.id !== top;) {
    if (above === undefined || above.boss_id === null)
      throw new Refusal(
        "forbidden",
        `${boss.name} is not in your part of the organization.`,
        "Let it report to you, or to somebody below you.",
      );
    above = await memberById(tx, above.boss_id);
  }
  if (!isActive(boss))
    throw new Refusal(
      "refused",
      `${boss.name} is ${boss.status} and cannot have reports.`,
      "Choose an active boss.",
    );
  return boss;
}

/** Every key said, checked against what the brain takes and what the asker may ask for. */
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
      : { type: kept.adapterType, config: JSON.stringify(kept.adapterConfig) };
  return {
    name: input.name,
    role: input.role,
    title: input.title ?? null,
    reportsTo: boss.id,
    capabilities: input.capabilities ?? null,
    mandate: mandate ?? input.mandate ?? "",
    prompt: input.prompt ?? null,
    adapterType: brain.type,
    adapterConfig: { ...Object(JSON.parse(brain.config)) },
    model: input.model ?? null,
    effort: input.effort ?? null,
    budget: input.budget ?? null,
    grants: (input.grants ?? []).map(({ resource, level }) => ({
      resource,
      level: level ?? defaultLevel(resourceKind(resource)),
    })),
  };
}

/** The former configuration with the changes, as an input that is checked like any other. */
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
      throw new Refusal(
        "invalid",
        `${key} of the payload does not change by resubmitting.`,
        "Change keys of requestedConfigurationSnapshot only.",
      );
  const given = { ...Object(restore(whole ? inner : changes, former)) };
  const said = Object.fromEntries(
    Object.entries({ ...former, reportsTo: agent.boss_id, ...given }).filter(([, value]) => value !== null),
  );
  const checked = check(contract.hireAgent.input.omit({ companyId: true }), said);
  if ("data" in checked) return checked.data;
  throw new Refusal(
    "invalid",
    `The changed hire is not valid. ${sentencesOf(checked.problems)}`,
    `A hire takes ${Object.keys(former).join(", ")}.`,
  );
}

export function rowOf(configuration: contract.HireConfiguration) {
  const { name, role, title, capabilities, prompt, model, effort, budget } = configuration;
  return {
    name,
    role,
    title,
    capabilities,
    prompt,
    model,
    effort,
    budget: budget === null ? null : JSON.stringify(budget),
  };
}

/** An agent may ask for what it holds itself, handed on by the boss; the board for anything. */
export async function weighGrants(
  call: CallContext,
  configuration: contract.HireConfiguration,
  giver: Member | null,
  receiver: Member,
): Promise<void> {
  const { tx, companyId, actor } = call;
  for (const { resource, level } of configuration.grants) {
    await weigh(tx, { companyId, giver, receiver, resource, level, scopeId: undefined });
    if (actor.agentId !== null && !(await holds(tx, actor.agentId, resource, level)))
      throw new Refusal(
        "refused",
        `You do not hold ${level} on ${resource}, so you cannot ask for it for somebody else.`,
        "list_permissions shows what you hold.",
      );
  }
}
