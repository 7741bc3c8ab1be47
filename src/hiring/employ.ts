import { Refusal } from "../contract/refusal.ts";
import { checkBrainConfig, findBrain } from "../brains/registry.ts";
import type { CallContext } from "../dispatch/context.ts";
import type { Actor } from "../events/ledger.ts";
import { insertFile } from "../knowledge/table.ts";
import type { Tx } from "../store/store.ts";
import { freeName, freeSlug } from "../agents/naming.ts";
import { insertAgent } from "../agents/table.ts";

/** Making an agent: the row and its state document. Its mandate is an outcome that the caller makes or hands over. */
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
  readonly effort: string | null;
  readonly budget: string | null;
  readonly autoReply: boolean;
  /** It waits for an approval before it is anybody. */
  readonly pending: boolean;
  /** Null: the board is its boss. */
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
  await insertAgent(tx, {
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
 * The brain somebody asked for, checked against its own schema; without one, the company's default. A configuration that
 * an agent proposes never becomes a command on this machine: an agent hires only with brains the company allows.
 */
export async function chooseBrain(
  call: CallContext,
  asked: { adapterType?: string | undefined; adapterConfig?: Record<string, unknown> | undefined },
): Promise<BrainChoice> {
  const { defaultAdapterType, defaultAdapterConfig, allowedAdapterTypes } = await call.settings();
  // Leaving the type out takes the board's choice, but not with a configuration of the agent's own.
  const isAsked = asked.adapterType !== undefined || asked.adapterConfig !== undefined;
  if (!isAsked)
    return { type: defaultAdapterType, config: checkBrainConfig(defaultAdapterType, defaultAdapterConfig) };
  const type = findBrain(asked.adapterType ?? defaultAdapterType).type;
  if (call.actor.kind === "agent" && !allowedAdapterTypes.includes(type))
    throw new Refusal(
      "refused",
      `Agents may not hire with the brain ${type}.`,
      `Use one of: ${allowedAdapterTypes.join(", ")}; or ask the board.`,
    );
  return { type, config: checkBrainConfig(type, asked.adapterConfig) };
}
