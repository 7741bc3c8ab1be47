import { createDispatcher, type Dispatch } from "../dispatch/dispatch.ts";
import { parseSettings } from "../dispatch/company-settings.ts";
import type { Writing } from "../dispatch/context.ts";
import { operations } from "../contract/operation-table.ts";
import { keepCredential } from "../agents/keys.ts";
import { tellOfLimit } from "../mail/notices.ts";
import { compactMail } from "../mail/retention.ts";
import { query } from "../store/query.ts";
import type { Sandbox } from "../contract/installation.ts";
import type { DispatcherParts } from "../dispatch/dispatch.ts";
import { forgetUnused, keepSecrets, type SecretStore } from "../secrets/secrets.ts";
import type { Store } from "../store/store.ts";
import type { Transcripts } from "../runtime/operations.ts";
import type { AnchorReader } from "../readers/activity.ts";
import { handlersFor } from "./handlers.ts";

/** The program without its doors: a store and the dispatch of every operation. Tests and benchmarks start here. */
export interface Core {
  readonly store: Store;
  readonly dispatch: Dispatch;
}

export interface CoreParts extends Pick<DispatcherParts, "store" | "newId" | "newSecret" | "refusesWrites"> {
  /** What sessions printed. Tests leave it out: every transcript is then empty. */
  readonly transcripts?: Transcripts;
  /** How sessions are isolated. Tests leave it out: every session has a sandbox. */
  readonly sandbox?: () => Sandbox;
  /** What is noted of the ledger outside the database. Tests may leave it out. */
  readonly anchor?: AnchorReader;
  /** Tests leave it out: secrets are then in memory. */
  readonly secrets?: SecretStore;
}

export function createCore(parts: CoreParts): Core {
  const secrets = parts.secrets ?? keepSecrets();
  const handlers = handlersFor({
    transcripts: parts.transcripts ?? { read: () => ({ transcript: "", truncated: false }) },
    sandbox: parts.sandbox ?? (() => ({ status: "works", unsandboxedAllowed: false, says: "", remedy: "" })),
    anchor: parts.anchor ?? { read: () => new Map() },
    secrets,
  });
  const handled = new Set(handlers.map(({ operation }) => operation));
  const missing = operations.filter((operation) => !handled.has(operation));
  if (missing.length > 0)
    throw new Error(`operations without a handler: ${missing.map(({ name }) => name).join(", ")}`);
  const conceal = (call: Writing, input: unknown) => secrets.conceal(call, input);
  const hideIn = (companyId: string, text: string) => secrets.hideIn(companyId, text);
  const dispatch = createDispatcher({ ...parts, handlers, conceal, hideIn, onLimit: tellOfLimit });
  return { store: parts.store, dispatch };
}

/** Registers the token as the board's credential, unless it is registered already. */
export async function admitBoard(store: Store, token: string, credentialId: string): Promise<void> {
  await store.write((tx) =>
    keepCredential(tx, {
      id: credentialId,
      token,
      kind: "board",
      companyId: null,
      agentId: null,
      sessionId: null,
      label: "board",
    }),
  );
}

/** Deletes what is kept for a limited time: idempotency keys after a week, texts of acknowledged messages by setting. */
export async function tidy(store: Store): Promise<void> {
  await store.write(async (tx) => {
    await tx.run(dropOldKeys, { before: tx.now - 7 * day });
    await forgetUnused(tx, tx.now - day);
  });
  for (const { id, settings } of await store.read((tx) => tx.all(allCompanies, {}))) {
    const { messageRetentionDays } = parseSettings(settings);
    for (let more = true; more;)
      more = await store.write(async (tx) => {
        await tx.lock(id);
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
