import { checkBrainConfig, findBrain, isInstalled, namedReads } from "../brains/registry.ts";
import { moneyOf } from "../budgets/requested.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import { insertFile } from "../knowledge/table.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { insertOutcome } from "../outcomes/table.ts";
import { freeName, freeSlug } from "../agents/naming.ts";
import { agentById, type AgentRow, insertAgent, newAgentDefaults } from "../agents/table.ts";
import { brainNotAllowed, fileNotYours } from "./texts.ts";

/** The columns of a new agent. Without the optional ones, it is an active agent with a standing mandate. */
export type NewAgent = Pick<
  AgentRow,
  "id" | "company_id" | "name" | "role" | "brain_type" | "brain_config" | "boss_id" | "mandate_id"
> &
  Partial<AgentRow>;

type Brain = Pick<AgentRow, "brain_type" | "brain_config">;

/** Creates an agent: its row and its state document. The caller creates or delegates its mandate. */
export async function employ(call: Writing, agent: NewAgent): Promise<AgentRow> {
  const { tx, actor, newId } = call;
  const row: AgentRow = {
    ...newAgentDefaults,
    state_file_id: newId(),
    created_at: tx.now,
    ...agent,
    name_key: await freeName(call, agent.name, agent.id, moneyOf),
    slug: await freeSlug(tx, agent.company_id, agent.name, agent.id),
  };
  await tx.run(insertAgent, row);
  await insertFile(tx, {
    id: row.state_file_id,
    companyId: row.company_id,
    kind: "state",
    description: `State document of ${row.name}`,
    mediaType: "text/markdown",
    ownerId: row.id,
    content: Buffer.from(`# State of ${row.name}\n\nNothing has happened yet.\n`),
    author: actor,
  });
  return row;
}

/** The standing mandate of an agent below a manager. */
export async function insertMandate(
  call: Writing,
  mandate: Pick<OutcomeRow, "id" | "title" | "description">,
  boss: Pick<AgentRow, "id" | "mandate_id">,
): Promise<void> {
  const owner = { responsible_id: mandate.id, delegated: 1, delegated_by: boss.id } as const;
  await insertOutcome(
    call.tx,
    { ...mandate, ...owner, company_id: call.companyId, kind: "mandate", parents: [boss.mandate_id] },
    call.actor,
  );
}

/**
 * The requested brain, checked against its schema, or the company's default. A configuration that an agent proposes must never
 * become a command on this machine. So agents can hire only with the brains that the company allows.
 */
export async function chooseBrain(
  call: CallContext,
  asked: { adapterType?: string | undefined; adapterConfig?: Record<string, unknown> | undefined },
): Promise<Brain> {
  const { defaultAdapterType, defaultAdapterConfig, allowedAdapterTypes } = await call.settings();
  // Without a type the board's choice applies, but never together with a configuration that the agent proposes.
  const isAsked = asked.adapterType !== undefined || asked.adapterConfig !== undefined;
  if (!isAsked)
    return {
      brain_type: defaultAdapterType,
      brain_config: checkBrainConfig(defaultAdapterType, defaultAdapterConfig),
    };
  const type = findBrain(asked.adapterType ?? defaultAdapterType).type;
  const { kind, agentId } = call.actor;
  if (kind === "agent" && !allowedAdapterTypes.includes(type))
    throw brainNotAllowed(type, allowedAdapterTypes);
  const brain = { brain_type: type, brain_config: checkBrainConfig(type, asked.adapterConfig) };
  if (kind === "agent" && agentId !== null) await checkReads(call, agentId, brain);
  return brain;
}

/**
 * A sandbox shows a session the files that its configuration names. An agent can pass on only files that it is shown itself.
 */
async function checkReads({ tx }: CallContext, agentId: string, brain: Brain): Promise<void> {
  const own = await agentById(tx, agentId);
  const shown = isInstalled(own.brain_type) ? readsOfBrain(own) : [];
  const hidden = readsOfBrain(brain).find((path) => !shown.includes(path));
  if (hidden !== undefined) throw fileNotYours(hidden);
}

const readsOfBrain = ({ brain_type, brain_config }: Brain): readonly string[] =>
  namedReads(brain_type, brain_config);
