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
import type { ApprovalKind } from "../approvals/operations.ts";
import {
  type ApprovalRow,
  approvalById,
  expire,
  isTooEager,
  lastOfNameBy,
  markAnswered,
  nameAgent,
  openApproval,
  openApprovalOfName,
  payloadOf,
} from "../approvals/table.ts";
import { checkBrainConfig } from "../brains/registry.ts";
import { guarded } from "../dispatch/guarded.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import { isActive, type Member, memberById, memberCalled, sameName } from "../capabilities/members.ts";
import { grantRight } from "../permissions/operations.ts";
import { holds } from "../capabilities/rights.ts";
import { redactText } from "../redaction/redact.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { problemOfName } from "../agents/agent.ts";
import { employ, insertMandate } from "./employ.ts";
import { headcount } from "./headcount.ts";
import { agentById } from "../agents/table.ts";
import { creating, creationChanges, creationOutdated, creationTitle, onlyAgentsCreate } from "./texts.ts";

/**
 * create_agent. A call opens an approval and reserves the name; nothing else exists until a person approves. Approving
 * creates the agent, active, in the same transaction. Calling again with the same arguments joins the same request while
 * it is open, and once more after the decision if the answer never reached the caller.
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
  await expire(tx, await tx.first(openApprovalOfName, { company_id: companyId, name_key: key }));
  const same = await sameRequest(call, actor.agentId, key, asked);
  if (same !== undefined) return answer(tx, same);
  const next = await nextOf(tx, companyId, asked);
  if (next === undefined)
    return failed("validation_error", creating.noSuchNext(asked.nextAgent.slice(0, 100).toWellFormed()));
  if (await isTaken(tx, companyId, key)) return failed("agent_exists", creating.nameTaken(asked.name));
  const settings = await call.settings();
  const count = await headcount(tx, companyId);
  if (settings.maxAgents !== null && count >= settings.maxAgents)
    return failed("limit_reached", creating.companyFull(count));
  if (await isTooEager(tx, actor.agentId)) return failed("limit_reached", creating.tooManyOpen);
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

const onWait = guarded(waitForApproval, async ({ tx, actor, input }): Promise<CreateAgentResult> => {
  const approval = await approvalById(tx, input.requestId);
  const isMine = actor.agentId === null || approval.requested_by === actor.agentId;
  if (!isMine || approval.type !== "create_agent") throw notFound("approval", input.requestId);
  await expire(tx, approval);
  return answer(tx, await approvalById(tx, approval.id), actor.agentId !== null);
});

export const creationHandlers = [onRequest, onWait];

export const creation: ApprovalKind = {
  approve: async (call, approval) => {
    const { tx, companyId } = call;
    const { name, autoReply, role, provider, model, systemPrompt, nextAgentId, adapterConfig } =
      wanted(approval);
    const boss = await memberById(tx, approval.requested_by);
    const next = nextAgentId === null ? null : await memberById(tx, nextAgentId);
    if (boss === undefined || !isActive(boss)) throw creationOutdated(true);
    if (next === undefined || (next !== null && !isActive(next))) throw creationOutdated(false);
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
  changes: async (tx, approval) => {
    const boss = await memberById(tx, approval.requested_by);
    return creationChanges(wanted(approval), boss?.name, await headcount(tx, approval.company_id));
  },
  title: (approval) => creationTitle(wanted(approval).name),
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

/** Null stands for a person. Undefined means that there is no such agent. */
async function nextOf(tx: ReadTx, companyId: string, asked: Asked): Promise<string | null | undefined> {
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
  const resource = next === null ? ("mail:board" as const) : (`mail:${next.id}` as const);
  const receiver = await memberById(tx, agentId);
  if (receiver === undefined || (await holds(tx, agentId, resource, "send"))) return;
  await grantRight(call, { giver: null, receiver, resource, level: "send" });
}

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
  // After the expiry no person can decide any more, so a later rejection came from the clock. The note can't tell the two
  // apart, because a person may write any note.
  const isLate = approval.expires_at !== null && (approval.decided_at ?? 0) >= approval.expires_at;
  const reason = approval.status === "rejected" && isLate ? "timeout" : "user_denied";
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
