import { tables } from "../store/schema.ts";
import { z } from "zod";
import { check, sentencesOf } from "../contract/problems.ts";
import { lookOf, nameKey } from "../contract/names.ts";
import { onOneLine } from "../contract/visible-text.ts";
import {
  createAgentAliases,
  createAgentArguments,
  type CreateAgentResult,
  longestWaitSeconds,
  requestAgent,
  waitForApproval,
} from "../contract/create-agent.ts";
import { canonicalJson } from "../contract/canonical.ts";
import { notFound, Refusal } from "../contract/refusal.ts";
import { Name } from "../contract/words.ts";
import type { ApprovalKind } from "../approvals/kinds.ts";
import { type ApprovalRow, openStatuses, payloadOf } from "../approvals/approval.ts";
import { brainShown, placeBelow, rightFrom } from "../approvals/sections.ts";
import { lastStep } from "../approvals/thread.ts";
import { expire } from "../approvals/concluding.ts";
import {
  approvalById,
  isTooEager,
  lastOfNameBy,
  markAnswered,
  mostOpen,
  nameAgent,
  openApproval,
  openApprovalOfName,
} from "../approvals/table.ts";
import { checkBrainConfig } from "../brains/registry.ts";
import { guarded } from "../dispatch/guarded.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import { isActive, type Member, memberById, memberCalled, sameName } from "../capabilities/members.ts";
import { grantRight, takeAway } from "../permissions/giving.ts";
import { holds } from "../capabilities/rights.ts";
import { heldOn } from "../capabilities/table.ts";
import { redactText } from "../redaction/redact.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { nextAgentIn, problemOfName, promptFor } from "../agents/agent.ts";
import { employ, insertMandate } from "./employ.ts";
import { headcountWith, noRoomFor } from "./headcount.ts";
import { moneyOf } from "../budgets/requested.ts";
import { agentById, type AgentRow } from "../agents/table.ts";
import {
  creating,
  creationChanges,
  creationOutdated,
  creationRenamed,
  noNextAgent,
  onlyAgentsCreate,
  promptAndNext,
} from "./texts.ts";

/**
 * create_agent. A call opens an approval and reserves the name; nothing else exists until a person approves. Approval creates
 * the agent, active, in the same transaction. A repeated call with the same arguments joins the request while it is open. It
 * does so once more after the decision if the answer never reached the caller.
 */
interface Asked {
  readonly name: string;
  readonly autoReply: boolean;
  readonly role: string | null;
  readonly nextAgent: string;
}

const onRequest = guarded(requestAgent, async (call): Promise<CreateAgentResult> => {
  const { tx, companyId, actor } = call;
  if (actor.agentId === null) throw onlyAgentsCreate();
  const asked = argumentsIn(call.input);
  if (typeof asked === "string") return failed("validation_error", asked);
  const key = lookOf(asked.name);
  const holder = await tx.first(openApprovalOfName, { company_id: companyId, name_key: key });
  await expire(call, holder, moneyOf);
  const same = await sameRequest(call, actor.agentId, key, asked);
  if (same !== undefined) return answer(tx, same);
  const next = await nextOf(tx, companyId, asked);
  if (next === undefined)
    return failed("validation_error", creating.noSuchNext(asked.nextAgent.slice(0, 100).toWellFormed()));
  if (await isTaken(tx, companyId, key)) return failed("agent_exists", creating.nameTaken(asked.name));
  const settings = await call.settings();
  const full = await noRoomFor(tx, companyId, 1);
  if (full !== undefined) return failed("limit_reached", `${full.message} ${full.hint}`);
  if (await isTooEager(tx, actor.agentId)) return failed("limit_reached", creating.tooManyOpen(mostOpen));
  const provider = settings.chatLLMProvider ?? settings.defaultAdapterType;
  let adapterConfig: unknown;
  try {
    adapterConfig = tables.agents.brain_config.parse(configFor(provider, settings));
  } catch (error) {
    if (error instanceof Refusal) return failed("create_failed", creating.brainBroken(error.message));
    throw error;
  }
  const approval = await openApproval(call, {
    type: "create_agent",
    payload: {
      requestedByAgentId: actor.agentId,
      ...asked,
      nextAgentId: next,
      provider,
      adapterConfig,
      model: settings.chatLLMModel,
      systemPrompt: createdPromptFor(asked),
      options: ["yes", "no"],
      default: "no",
    },
    nameKey: key,
    requestedBy: actor.agentId,
    expiresAt: tx.now + settings.approvalExpirySeconds * 1000,
  });
  return answer(tx, approval);
});

const onWait = guarded(waitForApproval, async (call): Promise<CreateAgentResult> => {
  const { tx, actor, input } = call;
  const approval = await approvalById(tx, input.requestId);
  const isMine = actor.agentId === null || approval.requested_by === actor.agentId;
  if (!isMine || approval.type !== "create_agent") throw notFound("approval", input.requestId);
  await expire(call, approval, moneyOf);
  return answer(tx, await approvalById(tx, approval.id), actor.agentId !== null);
});

export const creationHandlers = [onRequest, onWait];

export const creation: ApprovalKind = {
  approve: async (call, approval) => {
    const { tx, companyId } = call;
    const { name, autoReply, role, provider, model, systemPrompt, nextAgent, nextAgentId, adapterConfig } =
      wanted(approval);
    const boss = await memberById(tx, approval.requested_by);
    const next = nextAgentId === null ? null : await memberById(tx, nextAgentId);
    if (boss === undefined || !isActive(boss)) throw creationOutdated(boss?.name ?? "An agent", true);
    if (next === undefined || (next !== null && !isActive(next)))
      throw creationOutdated(next?.name ?? nextAgent, false);
    if ((await nextOf(tx, companyId, { nextAgent })) !== nextAgentId)
      throw creationRenamed(nextAgent, next?.name ?? "");
    const full = await noRoomFor(tx, companyId, 1);
    if (full !== undefined) throw full;
    const id = call.newId();
    const title = redactText(`${name}: ${role ?? "agent"}`)
      .slice(0, 300)
      .toWellFormed();
    await insertMandate(call, { id, title, description: role ?? "" }, boss);
    await employ(call, {
      id,
      company_id: companyId,
      name,
      role: [...(role ?? "agent")].slice(0, 64).join(""),
      capabilities: role,
      prompt: systemPrompt,
      brain_type: provider,
      brain_config: JSON.stringify(adapterConfig),
      model,
      auto_reply: autoReply ? 1 : 0,
      boss_id: boss.id,
      mandate_id: id,
    });
    await tx.run(nameAgent, { id: approval.id, agent_id: id });
    await call.record(id, { name, role, boss: boss.id, approval: approval.id }, "agent.create");
    await openRoute(call, id, next);
  },
  deny: async () => undefined,
  summary: async (tx, approval) => {
    const boss = await memberById(tx, approval.requested_by);
    const agent = await memberById(tx, approval.agent_id);
    const count = await headcountWith(tx, approval, agent);
    return creationChanges(wanted(approval), boss?.name, count, approval.status);
  },
  sections: async (tx, approval, viewer) => {
    const { provider, systemPrompt, nextAgent, nextAgentId, adapterConfig, model } = wanted(approval);
    const { company_id, requested_by } = approval;
    const agent = await memberById(tx, approval.agent_id);
    const next = await memberById(tx, nextAgentId);
    const boss = await memberById(tx, requested_by);
    const isOpen = openStatuses.includes(approval.status) && viewer.agentId === null;
    const full = isOpen ? await noRoomFor(tx, company_id, 0) : undefined;
    const isNextHere = nextAgentId === null || (next !== undefined && isActive(next));
    const isRenamed = isOpen && isNextHere && (await nextOf(tx, company_id, { nextAgent })) !== nextAgentId;
    const obstacles = [
      ...(full === undefined ? [] : [full.message]),
      ...(boss !== undefined && isActive(boss)
        ? []
        : [creationOutdated(boss?.name ?? "An agent", true).message]),
      ...(isNextHere ? [] : [creationOutdated(next?.name ?? nextAgent, false).message]),
      ...(isRenamed ? [creationRenamed(nextAgent, next?.name ?? "").message] : []),
    ];
    const right = { resource: routeTo(nextAgentId), level: "send" } as const;
    return {
      place: await placeBelow(tx, requested_by),
      headcount: await headcountWith(tx, approval, agent),
      rights: [await rightFrom(tx, viewer, company_id, null, right)],
      brain: brainShown(viewer, {
        adapterType: provider,
        adapterConfig,
        model,
        effort: null,
        prompt: systemPrompt,
      }),
      obstacles: isOpen ? obstacles : [],
    };
  },
};

/** The arguments under their canonical names, or a sentence that says what is wrong with them. */
export function argumentsIn(input: Readonly<Record<string, unknown>>): Asked | string {
  const given = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  for (const [alias, key] of Object.entries(createAgentAliases)) {
    if (given.has(alias) && !given.has(key)) given.set(key, given.get(alias));
    given.delete(alias);
  }
  for (const [key, value] of given) {
    const known = Object.entries(createAgentArguments).find(([name]) => name === key)?.[1];
    if (known === undefined) return creating.unknownKey(key.slice(0, 60), Object.keys(createAgentArguments));
    const type = String(known.meta()?.["type"]);
    if (typeof value !== type) return creating.wrongType(key, type);
    if (typeof value === "string" && (!value.isWellFormed() || value.includes("\u0000")))
      return creating.badText(key);
  }
  const seconds = given.get("waitSeconds");
  if (typeof seconds === "number" && !(seconds >= 0 && seconds <= longestWaitSeconds))
    return creating.badWait(longestWaitSeconds);
  const name = check(Name, given.get("name"), "name");
  if ("problems" in name) return sentencesOf(name.problems);
  const problem = problemOfName(name.data);
  if (problem !== undefined) return `${problem.message} ${problem.hint}`;
  const nextAgent = collapsed(given.get("nextAgent")).replace(/^[@\s]+/, "") || "human";
  if (nameKey(nextAgent) === nameKey(name.data)) return creating.nextIsItself;
  return {
    name: name.data,
    autoReply: given.get("autoReply") !== false,
    role: [...collapsed(given.get("role"))].slice(0, 240).join("").trim() || null,
    nextAgent,
  };
}

/** The wording is fixed, and nothing in it is ever expanded as a placeholder. */
export function createdPromptFor({ name, role, nextAgent }: Omit<Asked, "autoReply">): string {
  const sentence = role === null ? "" : ` Your role is ${role.replace(/\.$/, "")}.`;
  return [
    `You are agent ${name}.${sentence}`,
    "",
    "Always respond in exactly this structure:",
    `@${nextAgent}`,
    "{Your response}",
  ].join("\n");
}

/** The prompt of a created agent that from now on answers another agent. The mail route to the former one ends. */
export async function redirected(
  call: Writing,
  agent: AgentRow,
  reference: string,
  prompt: string | null | undefined,
): Promise<{ prompt: string }> {
  const { tx, companyId } = call;
  if (prompt !== undefined) throw promptAndNext();
  const former = nextAgentIn(agent.prompt);
  if (agent.prompt === null || former === null) throw noNextAgent(agent.name);
  const nextAgent = collapsed(reference).replace(/^[@\s]+/, "") || "human";
  const next = await nextOf(tx, companyId, { nextAgent });
  if (next === undefined || next === agent.id) throw notFound("agent", nextAgent);
  await openRoute(call, agent.id, (await memberById(tx, next)) ?? null);
  const last = await nextOf(tx, companyId, { nextAgent: former });
  for (const grant of last === next || last === undefined ? [] : await heldOn(tx, agent.id, routeTo(last)))
    if (grant.origin === "board" && grant.revoked_at === null) await takeAway(call, grant);
  return { prompt: promptFor(agent.prompt, nextAgent) };
}

const collapsed = (value: unknown): string => (typeof value === "string" ? onOneLine(value) : "");

async function sameRequest(
  call: Writing,
  agentId: string,
  key: string,
  asked: Asked,
): Promise<ApprovalRow | undefined> {
  const last = await call.tx.first(lastOfNameBy, {
    company_id: call.companyId,
    name_key: key,
    requested_by: agentId,
  });
  if (last === undefined || (last.status !== "pending" && last.answered_at !== null)) return undefined;
  const { name, autoReply, role, nextAgent } = wanted(last);
  return canonicalJson({ name, autoReply, role, nextAgent }) === canonicalJson(asked) ? last : undefined;
}

/** Null is a person. Undefined means that there is no such agent. */
async function nextOf(
  tx: ReadTx,
  companyId: string,
  asked: Pick<Asked, "nextAgent">,
): Promise<string | null | undefined> {
  const key = nameKey(asked.nextAgent);
  if (["human", "user", "board"].includes(key)) return null;
  const found = await memberCalled(tx, companyId, asked.nextAgent);
  return found !== undefined && isActive(found) ? found.id : undefined;
}

async function isTaken(tx: ReadTx, companyId: string, key: string): Promise<boolean> {
  return (
    (await tx.first(sameName, { company_id: companyId, name_key: key })) !== undefined ||
    (await tx.first(openApprovalOfName, { company_id: companyId, name_key: key })) !== undefined
  );
}

/** The approval also permits mail to the next agent. */
async function openRoute(call: Writing, agentId: string, next: Member | null): Promise<void> {
  const { tx } = call;
  const resource = routeTo(next?.id ?? null);
  const receiver = await memberById(tx, agentId);
  if (receiver === undefined || (await holds(tx, agentId, resource, "send"))) return;
  await grantRight(call, { giver: null, receiver, resource, level: "send" });
}

const routeTo = (agentId: string | null) => `mail:${agentId ?? "board"}` as const;

const Wanted = z.object({
  name: z.string(),
  autoReply: z.boolean(),
  role: z.string().nullable(),
  nextAgent: z.string(),
  nextAgentId: z.string().nullable(),
  provider: z.string(),
  adapterConfig: z.record(z.string(), z.unknown()),
  model: z.string().nullable(),
  systemPrompt: z.string(),
});

const wanted = (approval: ApprovalRow): z.infer<typeof Wanted> => Wanted.parse(payloadOf(approval));

async function answer(tx: Tx, approval: ApprovalRow, delivers = true): Promise<CreateAgentResult> {
  const { name, autoReply, role, nextAgent, provider, model, systemPrompt } = wanted(approval);
  const isOpen = approval.status === "pending" || approval.status === "revision_requested";
  if (isOpen)
    return {
      ok: false,
      status: "pending",
      created: false,
      requestId: approval.id,
      name,
      message: creating.pending,
    };
  if (delivers) await tx.run(markAnswered, { id: approval.id, answered_at: tx.now });
  if (approval.status === "approved" && approval.agent_id !== null) {
    const agent = await agentById(tx, approval.agent_id);
    return {
      ok: true,
      status: "created",
      created: true,
      agent: {
        id: agent.id,
        name: agent.name,
        slug: agent.slug,
        role: redactText(agent.role),
        status: agent.status,
      },
      effective: {
        autoReply,
        role: role === null ? null : redactText(role),
        nextAgent,
        provider,
        model,
        systemPrompt: redactText(systemPrompt),
      },
    };
  }
  const reason = (await lastStep(tx, approval.id))?.kind === "expired" ? "timeout" : "user_denied";
  return { ok: false, status: "denied", created: false, reason, name };
}

function failed(code: NonNullable<CreateAgentResult["code"]>, message: string): CreateAgentResult {
  return { ok: false, status: "error", created: false, code, message };
}

type BrainSettings = Pick<
  Awaited<ReturnType<CallContext["settings"]>>,
  "defaultAdapterType" | "defaultAdapterConfig"
>;

function configFor(provider: string, settings: BrainSettings): string {
  return checkBrainConfig(
    provider,
    provider === settings.defaultAdapterType ? settings.defaultAdapterConfig : {},
  );
}
