import { checkBrainConfig, findBrain } from "../brains/registry.ts";
import type { CallContext } from "../dispatch/context.ts";
import type { Actor } from "../events/ledger.ts";
import { insertFile } from "../knowledge/table.ts";
import type { Tx } from "../store/store.ts";
import { freeName, freeSlug } from "../agents/naming.ts";
import { type AgentRow, insertAgent } from "../agents/table.ts";
import { brainNotAllowed } from "./texts.ts";

/** What a new agent consists of: its row and its state document. The caller creates or delegates its mandate. */
export interface NewAgent {
  readonly id: string;
  readonly companyId: string;
  readonly name: string;
  readonly role: string;
  readonly title: string | null;
  readonly capabilities: string | null;
  readonly prompt: string | null;
  readonly brain: BrainChoice;
  readonly model: string | null;
  readonly effort: AgentRow["effort"];
  readonly budget: string | null;
  readonly autoReply: boolean;
  /** The agent can do nothing until its approval. */
  readonly pending: boolean;
  /** Null: the agent reports to the board. */
  readonly bossId: string | null;
  readonly mandateId: string;
  readonly madeForMandate: boolean;
  readonly generation: number;
  readonly stateFileId: string;
}

export interface BrainChoice {
  readonly type: string;
  readonly config: string;
}

export async function employ(tx: Tx, agent: NewAgent, by: Actor): Promise<void> {
  const key = await freeName(tx, agent.companyId, agent.name, agent.id);
  const slug = await freeSlug(tx, agent.companyId, agent.name, agent.id);
  await tx.run(insertAgent, {
    id: agent.id,
    company_id: agent.companyId,
    name: agent.name,
    name_key: key,
    slug,
    role: agent.role,
    title: agent.title,
    capabilities: agent.capabilities,
    boss_id: agent.bossId,
    mandate_id: agent.mandateId,
    generation: agent.generation,
    status: agent.pending ? "pending_approval" : "idle",
    state_file_id: agent.stateFileId,
    log_file_id: null,
    state_stale: 0,
    brain_type: agent.brain.type,
    brain_config: agent.brain.config,
    prompt: agent.prompt,
    model: agent.model,
    effort: agent.effort,
    budget: agent.budget,
    auto_reply: agent.autoReply ? 1 : 0,
    made_for_mandate: agent.madeForMandate ? 1 : 0,
    idle_sessions: 0,
    not_before: 0,
    last_session_at: 0,
    epoch: 0,
    created_at: tx.now,
    ended_at: null,
  });
  await insertFile(tx, {
    id: agent.stateFileId,
    companyId: agent.companyId,
    kind: "state",
    description: `State document of ${agent.name}`,
    mediaType: "text/markdown",
    ownerId: agent.id,
    content: Buffer.from(`# State of ${agent.name}\n\nNothing has happened yet.\n`),
    author: by,
  });
}

/**
 * The requested brain, checked against its schema, or the company's default. A configuration that an agent proposes must
 * never become a command on this machine, so agents can hire only with the brains that the company allows.
 */
export async function chooseBrain(
  call: CallContext,
  asked: { adapterType?: string | undefined; adapterConfig?: Record<string, unknown> | undefined },
): Promise<BrainChoice> {
  const { defaultAdapterType, defaultAdapterConfig, allowedAdapterTypes } = await call.settings();
  // Without a type the board's choice applies, but never together with a configuration that the agent proposes.
  const isAsked = asked.adapterType !== undefined || asked.adapterConfig !== undefined;
  if (!isAsked)
    return { type: defaultAdapterType, config: checkBrainConfig(defaultAdapterType, defaultAdapterConfig) };
  const type = findBrain(asked.adapterType ?? defaultAdapterType).type;
  if (call.actor.kind === "agent" && !allowedAdapterTypes.includes(type))
    throw brainNotAllowed(type, allowedAdapterTypes);
  return { type, config: checkBrainConfig(type, asked.adapterConfig) };
}
