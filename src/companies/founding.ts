import { ranks } from "../contract/resources.ts";
import { employ, type NewAgent } from "../hiring/employ.ts";
import type { Writing } from "../dispatch/context.ts";
import { insertGrant } from "../capabilities/table.ts";
import { insertOutcome } from "../outcomes/table.ts";
import { insertion } from "../store/query.ts";
import type { Row } from "../store/schema.ts";

/** A company begins with its root agent, which reports to the board, and the perpetual outcome that this agent serves. */
export interface Founding {
  readonly id: string;
  readonly rootId: string;
  readonly name: string;
  /** The settings as stored JSON. */
  readonly settings: string;
  readonly root: Omit<
    NewAgent,
    "id" | "companyId" | "pending" | "bossId" | "mandateId" | "madeForMandate" | "generation" | "stateFileId"
  >;
  readonly purpose: string;
  readonly mayHire: boolean;
}

export const plainRoot = {
  name: "Root",
  role: "CEO",
  title: null,
  capabilities: null,
  prompt: null,
  model: null,
  effort: null,
  budget: null,
  autoReply: false,
};

export async function foundCompany(call: Writing, founding: Founding): Promise<Row<"companies">> {
  const { tx, actor } = call;
  const { id, rootId, name, settings } = founding;
  const row = { id, name, settings, root_agent_id: rootId, root_outcome_id: rootId, created_at: tx.now };
  await tx.run(insertRow, row);
  await insertOutcome(
    tx,
    {
      id: rootId,
      company_id: id,
      kind: "perpetual",
      title: `Help the board of ${name} accomplish its work`,
      description: founding.purpose,
      acceptance: null,
      responsible_id: rootId,
      delegated: 1,
      delegated_by: null,
      urgent: 0,
      important: 0,
      parents: [],
      dependsOn: [],
    },
    actor,
  );
  await employ(
    tx,
    {
      ...founding.root,
      id: rootId,
      companyId: id,
      pending: false,
      bossId: null,
      mandateId: rootId,
      madeForMandate: false,
      generation: 1,
      stateFileId: call.newId(),
    },
    actor,
  );
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
      granted_by: null,
      parent_id: null,
      structural: 0,
      broken: 0,
      created_at: tx.now,
      revoked_at: null,
    });
  return row;
}

const insertRow = insertion("companies");
