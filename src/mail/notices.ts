import type { Writing } from "../dispatch/context.ts";
import { memberName } from "../capabilities/members.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { notify } from "./operations.ts";
import { limitReached } from "./texts.ts";

/** Notices about things that may happen again and again: at most one a day about the same thing. */
const day = 24 * 3600 * 1000;

export async function tellOnce(
  call: Writing,
  what: { readonly about: string; readonly kind: string; readonly to: string | null; readonly text: string },
): Promise<boolean> {
  const { tx, companyId } = call;
  const { about, kind } = what;
  if (await wasTold(tx, companyId, what)) return false;
  await tx.run(remember, { companyId, about, kind, now: tx.now });
  await notify(call, what.to, what.text);
  return true;
}

/** Was this notice sent within the last day? */
export async function wasTold(
  tx: ReadTx,
  companyId: string,
  { about, kind }: { readonly about: string; readonly kind: string },
): Promise<boolean> {
  const told = await tx.first(toldAt, { companyId, about, kind });
  return told !== undefined && told.told_at > tx.now - day;
}

/**
 * An agent reached one of the limits that keep an organization from running away. The board gets one notice a day for the
 * whole company, because an agent out of control usually hits many limits at once.
 */
export async function tellOfLimit(
  call: Writing,
  agentId: string,
  refusal: { readonly message: string },
): Promise<void> {
  const text = limitReached(await memberName(call.tx, agentId), agentId, refusal.message);
  await tellOnce(call, { about: call.companyId, kind: "limit", to: null, text });
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
