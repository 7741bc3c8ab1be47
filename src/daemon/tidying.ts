import { parseSettings } from "../dispatch/company-settings.ts";
import { compactMail } from "../mail/retention.ts";
import { dropNodesBefore } from "../runtime/heart.ts";
import { forgetUnused } from "../secrets/secrets.ts";
import { query } from "../store/query.ts";
import type { Store } from "../store/store.ts";

/** Tidies at the start and then every hour, and each time settles the calls that were lost. */
export function keepTidy(parts: {
  readonly store: Store;
  readonly node: string;
  readonly lostCalls: { readonly atStart: () => Promise<void>; readonly hourly: () => Promise<void> };
  readonly closing: AbortSignal;
  readonly reportBug: (error: unknown, about: string) => void;
}): { stop(): void } {
  // If a company's lock is held elsewhere, this waits for it, but the start does not.
  const run = (settle: () => Promise<void>): Promise<void> =>
    tidy(parts.store, parts.node)
      .then(settle, async (error: unknown) => {
        await settle();
        throw error;
      })
      .catch((error: unknown) => {
        if (!parts.closing.aborted) parts.reportBug(error, "sweep");
      });
  void run(parts.lostCalls.atStart);
  const timer = setInterval(() => void run(parts.lostCalls.hourly), 3_600_000);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/**
 * Deletes what is stored only for a time: idempotency keys after a week, texts of acknowledged messages by setting, and the
 * rows of other nodes after a day of silence.
 */
export async function tidy(store: Store, own = ""): Promise<void> {
  await store.write(async (tx) => {
    await tx.run(dropOldKeys, { before: tx.now - 7 * day });
    await tx.run(dropNodesBefore, { before: tx.now - day, own });
  });
  for (const { id, settings } of await store.read((tx) => tx.all(allCompanies, {}))) {
    const { messageRetentionDays } = parseSettings(settings);
    for (let more = true; more;)
      more = await store.write(async (tx) => {
        await tx.lock(id);
        await forgetUnused(tx, id, tx.now - day);
        return (await compactMail(tx, id, tx.now - messageRetentionDays * day, 100)) === 100;
      });
  }
}

const day = 24 * 3600 * 1000;

const dropOldKeys = query((db, p: { before: number }) =>
  db.deleteFrom("idempotency").where("created_at", "<", p.before),
);

const allCompanies = query((db, _: Record<never, never>) =>
  db.selectFrom("companies").select(["id", "settings"]),
);
