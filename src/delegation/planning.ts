import { lookOf } from "../contract/names.ts";
import { type PlanTask, planWork } from "../contract/delegation.ts";
import type { Output } from "../contract/operation.ts";
import { Name } from "../contract/words.ts";
import type { CallContext } from "../dispatch/context.ts";
import { guarded } from "../dispatch/guarded.ts";
import { type Member, memberById, sameName } from "../capabilities/members.ts";
import { holds } from "../capabilities/rights.ts";
import { demandNotIntegration } from "../outcomes/limits.ts";
import { demandDecided } from "../outcomes/operations.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { outcomeById } from "../outcomes/table.ts";
import { outcomeOwnerOf } from "./delegating.ts";
import { fanOut, type FannedOut, type PlannedPart } from "./fan-out.ts";
import { takeOn } from "../hiring/hiring.ts";
import { demandRole, findInTeam } from "./team.ts";
import { mayNotHire, noSuchTask, roleMandate } from "./texts.ts";

/** Handles plan_work: divides an outcome among a team, and hires an agent for each role that the team lacks. */

const onPlan = guarded(planWork, (call) => plan(call, call.input.outcome, call.input.tasks));

export const planningHandlers = [onPlan];

async function plan(
  call: CallContext,
  outcomeId: string,
  tasks: readonly PlanTask[],
): Promise<Output<typeof planWork>> {
  const whole = await outcomeById(call.tx, outcomeId);
  const from = await outcomeOwnerOf(call.tx, whole);
  const { parts, hired } = await draftPlan(call, whole, from, tasks);
  const made = await fanOut(call, whole, from, { parts, counted: 0 });
  await recordPlan(call, whole, made.parts, made.integrationId, hired);
  return {
    outcome: whole.id,
    tasks: made.parts.map(({ id, waits }, index) => ({
      id,
      title: parts[index]?.title ?? "",
      assignee: { id: parts[index]?.to.id ?? "", name: parts[index]?.to.name ?? "" },
      waits,
    })),
    hired,
    integration: made.integrationId,
  };
}

export interface DraftedPlan {
  readonly parts: readonly PlannedPart[];
  readonly hired: Output<typeof planWork>["hired"];
}

/** The parts of a plan, each with an agent. For roles that the team lacks, agents are hired. */
export async function draftPlan(
  call: CallContext,
  whole: OutcomeRow,
  from: Member,
  tasks: readonly PlanTask[],
): Promise<DraftedPlan> {
  await demandDecided(call.tx, from.id);
  const hired = [];
  const parts: PlannedPart[] = [];
  for (const { title, description = "", acceptance = null, assignee, dependsOn = [], ...brain } of tasks) {
    let to = await findInTeam(call.tx, from, assignee);
    if (to === undefined) {
      await demandRole(call.tx, from, assignee);
      const { model, effort } = brain;
      const mandate = roleMandate(assignee, from, title);
      const hire = await hireForRole(call, whole, from, { role: assignee, mandate, model, effort });
      const { id, name, role } = hire.member;
      hired.push({ id, name, role, approvalId: hire.approvalId });
      to = hire.member;
    }
    const places = dependsOn.map((reference) => placeOf(tasks, reference));
    parts.push({ title, description, acceptance, to, dependsOn: places });
  }
  return { parts, hired };
}

export async function recordPlan(
  call: CallContext,
  whole: OutcomeRow,
  parts: FannedOut["parts"],
  integration: string,
  hired: DraftedPlan["hired"],
): Promise<void> {
  const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
  await call.record(whole.id, { tasks: ids(parts), integration, hired: ids(hired) }, planWork.name);
}

export interface RoleHire {
  readonly role: string;
  readonly mandate: string;
  readonly model: string | undefined;
  readonly effort: PlanTask["effort"];
}

/** Hires a report for a role and names it after the role. If the company requires it, the agent waits for approval. */
export async function hireForRole(
  call: CallContext,
  whole: OutcomeRow | null,
  boss: Member,
  { role, ...rest }: RoleHire,
): Promise<{ member: Member; approvalId: string | null }> {
  if (!(await holds(call.tx, boss.id, "org:hire", "use"))) throw mayNotHire(boss);
  if (whole !== null) await demandNotIntegration(call.tx, whole);
  const { requireBoardApprovalForNewAgents } = await call.settings();
  const { agent, approval } = await takeOn(call, {
    input: { ...rest, role, name: await nameFor(call, role) },
    boss,
    waits: requireBoardApprovalForNewAgents && call.actor.agentId !== null,
    byItself: true,
  });
  const member = await memberById(call.tx, agent.id);
  if (member === undefined) throw new Error("an agent just made is missing");
  return { member, approvalId: approval?.id ?? null };
}

/** The role as a name, with a number if an agent already has that name. */
async function nameFor(call: CallContext, role: string): Promise<string> {
  for (let number = 1; ; number++) {
    const name = Name.parse(number === 1 ? role : `${[...role].slice(0, 56).join("")} ${number}`);
    const taken = await call.tx.first(sameName, { company_id: call.companyId, name_key: lookOf(name) });
    if (taken === undefined) return name;
  }
}

function placeOf(tasks: readonly PlanTask[], reference: string | number): number {
  const places = typeof reference === "number" ? [reference] : [];
  if (typeof reference === "string")
    for (const [index, { title }] of tasks.entries())
      if (title.trim().toLowerCase() === reference.trim().toLowerCase()) places.push(index);
  const place = places[0];
  if (place === undefined || places.length > 1 || tasks[place] === undefined)
    throw noSuchTask(reference, places.length > 1);
  return place;
}
