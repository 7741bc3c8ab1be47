import { createHash } from "node:crypto";
import { sql } from "kysely";
import { deleting, insertion, selection } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { nextWait } from "./growing-waits.ts";
import type { ModelCredential } from "./model-credentials.ts";

/**
 * Whether providers can be used now. `refused`: the provider did not accept the key, or the account it belongs to. It is tried
 * again after waits that grow, and at once if the key or the configuration changes. `waiting`: it asked to wait, for example
 * because a subscription's window is used up, until then or until another account is used. All agents of the company wait together,
 * on every node and also after a restart.
 */
export interface ProviderState {
  readonly cause: "refused" | "waiting";
  readonly says: string;
  /** Milliseconds on the database's clock. */
  readonly until: number;
}

/** How much of a subscription's window is used. */
export interface UsageWindow {
  /** Such as "5 hours" or "week". */
  readonly name: string;
  readonly used: number;
  /** When it begins again, in milliseconds. */
  readonly until: number;
}

type Used = Pick<ModelCredential, "key" | "accountId">;
/** A login gets other tokens all the time, and stays with its account. */
const accountOf = ({ key, accountId }: Used): string | undefined => accountId ?? key;

/** The name of the row that is about the provider itself. The others are its windows. */
const whole = "";

/** Undefined if the provider can be used. */
export async function stateOfProvider(
  tx: ReadTx,
  companyId: string,
  provider: string,
  used: Used,
): Promise<ProviderState | undefined> {
  const row = await tx.first(limitRow, { company_id: companyId, provider, name: whole });
  if (row === undefined || row.cause === "window" || row.until_at <= tx.now) return undefined;
  // Another key than the one that was refused, and another account than the one that has to wait, are tried at once.
  if (row.key_hash !== hashOf(companyId, row.cause === "refused" ? used.key : accountOf(used)))
    return undefined;
  return { cause: row.cause, says: row.says, until: row.until_at };
}

/** The last thing known is that its key was refused. After the wait, one session finds out whether that has changed. */
export async function wasRefused(tx: ReadTx, companyId: string, provider: string): Promise<boolean> {
  return (await tx.first(limitRow, { company_id: companyId, provider, name: whole }))?.cause === "refused";
}

export async function noteWaiting(
  tx: Tx,
  companyId: string,
  provider: string,
  { says, until, used }: { readonly says: string; readonly until: number; readonly used: Used },
): Promise<void> {
  const last = await tx.first(limitRow, { company_id: companyId, provider, name: whole });
  await tx.run(keepLimit, {
    ...noLimit,
    company_id: companyId,
    provider,
    cause: "waiting",
    says,
    until_at: until,
    wait: last?.wait ?? 0,
    key_hash: hashOf(companyId, accountOf(used)),
  });
}

/** Returns when it may be asked again. */
export async function noteRefused(
  tx: Tx,
  companyId: string,
  provider: string,
  { says, key }: { readonly says: string; readonly key: string | undefined },
): Promise<number> {
  const last = await tx.first(limitRow, { company_id: companyId, provider, name: whole });
  const key_hash = hashOf(companyId, key);
  const isOther = last === undefined || (last.cause === "refused" && last.key_hash !== key_hash);
  const { wait, until } = nextWait(
    isOther ? undefined : { wait: last.wait, until: last.cause === "refused" ? last.until_at : 0 },
    tx.now,
  );
  await tx.run(keepLimit, {
    ...noLimit,
    company_id: companyId,
    provider,
    cause: "refused",
    says,
    until_at: until,
    wait,
    key_hash,
  });
  return until;
}

/** It works, or it is another one now. */
export async function forgetState(tx: Tx, companyId: string, provider: string): Promise<void> {
  await tx.run(dropLimit, { company_id: companyId, provider, name: whole });
}

/** Whether something is on record about it that `forgetState` would drop. */
export async function hasState(tx: ReadTx, companyId: string, provider: string): Promise<boolean> {
  return (await tx.first(limitRow, { company_id: companyId, provider, name: whole })) !== undefined;
}

/** What the last answer said about the windows that are still open. */
export async function windowsOf(tx: ReadTx, companyId: string, provider: string): Promise<UsageWindow[]> {
  const rows = await tx.all(limitRows, { company_id: companyId, provider });
  return rows
    .filter(({ cause, until_at }) => cause === "window" && until_at > tx.now)
    .map(({ name, used, until_at }) => ({ name, used, until: until_at }));
}

/** Puts these windows in the place of those that are known. */
export async function noteWindows(
  tx: Tx,
  companyId: string,
  provider: string,
  windows: readonly UsageWindow[],
): Promise<void> {
  const names = new Set(windows.map(({ name }) => name));
  for (const { name } of await tx.all(limitRows, { company_id: companyId, provider }))
    if (name !== whole && !names.has(name))
      await tx.run(dropLimit, { company_id: companyId, provider, name });
  for (const { name, used, until } of windows)
    await tx.run(keepLimit, {
      ...noLimit,
      company_id: companyId,
      provider,
      name,
      cause: "window",
      used,
      until_at: until,
    });
}

const noLimit = { name: whole, says: "", used: 0, wait: 0, key_hash: null };

/** Tells whether a key is another one. The key itself is never in the database. */
const hashOf = (companyId: string, key: string | undefined): string | null =>
  key === undefined ? null : createHash("sha256").update(`${companyId} ${key}`).digest("hex");

const limitRow = selection("provider_limits", ["company_id", "provider", "name"]);
const limitRows = selection("provider_limits", ["company_id", "provider"], sql`order by name`);
const dropLimit = deleting("provider_limits", ["company_id", "provider", "name"]);
const keepLimit = insertion(
  "provider_limits",
  sql`on conflict (company_id, provider, name) do update set cause = excluded.cause, says = excluded.says,
    used = excluded.used, until_at = excluded.until_at, wait = excluded.wait, key_hash = excluded.key_hash`,
);
