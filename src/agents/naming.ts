import { nameKey } from "../contract/names.ts";
import { Refusal } from "../contract/refusal.ts";
import { expire, openApprovalOfName } from "../approvals/table.ts";
import type { Tx } from "../store/store.ts";
import { demandUsableName, slugOf } from "./agent.ts";
import { sameName, sameSlug } from "./table.ts";

/** The name as it is compared, if nobody has it and it is kept for nobody. */
export async function freeName(tx: Tx, companyId: string, name: string, id: string): Promise<string> {
  demandUsableName(name);
  const key = nameKey(name);
  const taken = await tx.first(sameName, { companyId, nameKey: key });
  if (taken !== undefined && taken.id !== id)
    throw new Refusal("conflict", `There is already an agent named ${name}.`, "Choose another name.");
  const open = await openApprovalOfName(tx, companyId, key);
  if (open !== undefined && !(await expire(tx, open)))
    throw new Refusal(
      "conflict",
      `The name ${name} is kept for an agent that waits for approval.`,
      "Choose another name.",
    );
  return key;
}

/** Different names can make the same slug ("A B", "A-B"); a later one gets a piece of its id. */
export async function freeSlug(tx: Tx, companyId: string, name: string, id: string): Promise<string> {
  const slug = slugOf(name, id);
  const taken = await tx.first(sameSlug, { companyId, slug });
  return taken === undefined || taken.id === id ? slug : `${slug}-${id.slice(0, 8)}`;
}
