import { ranks } from "../contract/resources.ts";
import type { AgentRow } from "../agents/table.ts";
import { employ } from "../hiring/employ.ts";
import type { Writing } from "../dispatch/context.ts";
import { insertGrant, rootless } from "../capabilities/table.ts";
import { insertOutcome } from "../outcomes/table.ts";
import type { StartingBrain } from "../brains/finding.ts";
import { defaultBrainType } from "../brains/registry.ts";
import { insertion } from "../store/inserts.ts";
import type { Row } from "../store/schema.ts";

/** A company begins with its root agent, which reports to the board, and the perpetual outcome that this agent serves. */
export interface Founding {
  readonly id: string;
  readonly rootId: string;
  readonly name: string;
  /** The settings as stored JSON. */
  readonly settings: string;
  readonly provider?: StartingBrain["provider"];
  /** The root agent's brain, and the fields of its definition. */
  readonly root: Pick<AgentRow, "brain_type" | "brain_config"> & Partial<AgentRow>;
  readonly purpose: string;
  readonly mayHire: boolean;
}

export async function foundCompany(call: Writing, founding: Founding): Promise<Row<"companies">> {
  const { tx, actor } = call;
  const { id, rootId, name, settings } = founding;
  const row = {
    id,
    name,
    settings,
    root_agent_id: rootId,
    root_outcome_id: rootId,
    created_at: tx.now,
    frozen_at: null,
    frozen_reason: null,
    archived_at: null,
  };
  await tx.run(insertRow, row);
  if (founding.provider !== undefined)
    await tx.run(insertProvider, {
      company_id: id,
      name: founding.provider.name,
      config: JSON.stringify(founding.provider.config),
      created_at: tx.now,
    });
  await insertOutcome(
    tx,
    {
      id: rootId,
      company_id: id,
      kind: "perpetual",
      title: "Help the board accomplish its work",
      description: founding.purpose,
      responsible_id: rootId,
      delegated: 1,
      parents: [],
    },
    actor,
  );
  const place = { id: rootId, company_id: id, boss_id: null, mandate_id: rootId };
  await employ(call, { name: "Root", role: "CEO", ...founding.root, ...place });
  // The root agent may hire from the start. Every other agent needs a grant for it.
  if (founding.mayHire)
    await tx.run(insertGrant, {
      id: call.newId(),
      company_id: id,
      grantee_id: rootId,
      resource: "org:hire",
      level: ranks.use,
      scope_id: rootId,
      origin: "board",
      ...rootless,
      created_at: tx.now,
    });
  return row;
}

/** The settings of a company that starts with this brain. The default brain is not stored. */
export const settingsFor = ({ type, config }: StartingBrain) =>
  type === defaultBrainType ? {} : { defaultAdapterType: type, defaultAdapterConfig: { ...config } };

const insertRow = insertion("companies");
const insertProvider = insertion("providers");
