import { Refusal } from "../contract/refusal.ts";
import type { Actor } from "../events/ledger.ts";
import { insertFile } from "../knowledge/table.ts";
import { insertOutcome } from "../outcomes/table.ts";
import type { Tx } from "../store/store.ts";
import { demandUsableName, nameKey, slugOf } from "./agent.ts";
import { insertAgent, sameName, sameSlug } from "./table.ts";

/** Making an agent: the row, the mandate whose UUID is the agent's, and its state document, in one transaction. */
export interface NewAgent {
  readonly id: string;
  readonly companyId: string;
  readonly name: string;
  readonly role: string;
  readonly title: string | null;
  readonly capabilities: string | null;
  /** Null: the board is its boss. */
  readonly boss: { readonly id: string; readonly mandateId: string } | null;
  readonly mandate: {
    readonly kind: "perpetual" | "mandate";
    readonly title: string;
    readonly description: string;
  };
  readonly stateFileId: string;
}

export async function employ(tx: Tx, agent: NewAgent, by: Actor): Promise<void> {
  demandUsableName(agent.name);
  const key = nameKey(agent.name);
  if ((await tx.first(sameName, { companyId: agent.companyId, nameKey: key })) !== undefined)
    throw new Refusal("conflict", `There is already an agent named ${agent.name}.`, "Choose another name.");
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
    boss_id: agent.boss?.id ?? null,
    mandate_id: agent.id,
    generation: 1,
    status: "idle",
    state_file_id: agent.stateFileId,
    epoch: 0,
    created_at: tx.now,
    ended_at: null,
  });
  await insertOutcome(
    tx,
    {
      id: agent.id,
      company_id: agent.companyId,
      kind: agent.mandate.kind,
      title: agent.mandate.title,
      description: agent.mandate.description,
      acceptance: null,
      responsible_id: agent.id,
      delegated: 1,
      delegated_by: agent.boss?.id ?? null,
      urgent: 0,
      important: 0,
      parents: agent.boss === null ? [] : [agent.boss.mandateId],
      dependsOn: [],
    },
    by,
  );
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

/** Different names can make the same slug ("A B", "A-B"); a later one gets a piece of its id. */
export async function freeSlug(tx: Tx, companyId: string, name: string, id: string): Promise<string> {
  const slug = slugOf(name, id);
  const taken = await tx.first(sameSlug, { companyId, slug });
  return taken === undefined || taken.id === id ? slug : `${slug}-${id.slice(0, 8)}`;
}
