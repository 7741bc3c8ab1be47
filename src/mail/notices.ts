import type { Surroundings } from "../capabilities/guarded.ts";
import { memberById } from "../capabilities/members.ts";
import { query } from "../store/query.ts";
import { notify } from "./operations.ts";

/** Telling somebody of something that may happen again and again, once in a while. */
const day = 24 * 3600 * 1000;

export async function tellOnce(
  call: Pick<Surroundings, "tx" | "companyId" | "newId">,
  what: { readonly about: string; readonly kind: string; readonly to: string | null; readonly text: string },
): Promise<boolean> {
  const { tx, companyId } = call;
  const { about, kind } = what;
  const told = await tx.first(toldAt, { companyId, about, kind });
  if (told !== undefined && told.told_at > tx.now - day) return false;
  await tx.run(remember, { companyId, about, kind, now: tx.now });
  await notify(call, what.to, what.text);
  return true;
}

/** An agent ran into one of the limits that keep an organization from running away: the board hears of it, once a day. */
export async function tellOfLimit(
  call: Pick<Surroundings, "tx" | "companyId" | "newId">,
  agentId: string,
  refusal: { readonly message: string },
): Promise<void> {
  const name = (await memberById(call.tx, agentId))?.name ?? "An agent";
  const text = `${name} (${agentId}) has reached a limit: ${refusal.message}\n\nYou hear of this once a day at most; what was refused is on record.`;
  await tellOnce(call, { about: agentId, kind: "limit", to: null, text });
}

const toldAt = query((db, p: { companyId: string; about: string; kind: string }) =>
  db
    .selectFrom("notices")
    .select("told_at")
    .where("company_id", "=", p.companyId)
    .where("about", "=", p.about)
    .where("kind", "=", p.kind),
);

const remember = query((db, p: { companyId: string; about: string; kind: string; now: number }) =>
  db
    .insertInto("notices")
    .values({ company_id: p.companyId, about: p.about, kind: p.kind, told_at: p.now })
    .onConflict((conflict) =>
      conflict.columns(["company_id", "about", "kind"]).doUpdateSet({ told_at: p.now }),
    ),
);
