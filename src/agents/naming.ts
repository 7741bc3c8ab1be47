import { lookOf } from "../contract/names.ts";
import { expire } from "../approvals/concluding.ts";
import type { MoneyOf } from "../approvals/kinds.ts";
import { openApprovalOfName } from "../approvals/table.ts";
import type { Writing } from "../dispatch/context.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { dashed, problemOfName, slugOf } from "./agent.ts";
import { sameName, sameSlug } from "../capabilities/members.ts";
import { nameHeld, nameTaken } from "./texts.ts";

/** Announces to the store that the name will be checked. */
export function nameAhead(
  { tx, companyId }: { readonly tx: ReadTx; readonly companyId: string },
  name: string,
): void {
  const key = { company_id: companyId, name_key: lookOf(name) };
  tx.ahead(sameName, key);
  tx.ahead(openApprovalOfName, key);
  tx.ahead(sameSlug, { company_id: companyId, slug: dashed(name) });
}

/**
 * Returns the look of a name. Refuses a name that looks like another agent's name, or like one that a pending approval holds.
 */
export async function freeName(call: Writing, name: string, id: string, moneyOf: MoneyOf): Promise<string> {
  const { tx, companyId } = call;
  const problem = problemOfName(name);
  if (problem !== undefined) throw problem;
  const key = lookOf(name);
  const taken = await tx.first(sameName, { company_id: companyId, name_key: key });
  if (taken !== undefined && taken.id !== id) throw nameTaken(name, taken.name);
  const open = await tx.first(openApprovalOfName, { company_id: companyId, name_key: key });
  if (open !== undefined && !(await expire(call, open, moneyOf))) throw nameHeld(name);
  return key;
}

/** Different names can have the same slug ("A B", "A-B"). The later agent gets a part of its id as a suffix. */
export async function freeSlug(tx: Tx, companyId: string, name: string, id: string): Promise<string> {
  const slug = slugOf(name, id);
  const taken = await tx.first(sameSlug, { company_id: companyId, slug });
  return taken === undefined || taken.id === id ? slug : `${slug}-${id.slice(0, 8)}`;
}
