import { createHash } from "node:crypto";
import { sql } from "kysely";
import { insertion } from "../store/inserts.ts";
import { deleting, selection } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { nextWait } from "./growing-waits.ts";
import type { ModelCredential } from "./model-credentials.ts";

/**
 * Whether providers can be used now.
 *
 * `refused`: the provider did not accept the key, or the account it belongs to. The provider is tried again after growing waits,
 * and at once if the key or the configuration changes. `waiting`: the provider asked to wait, for example because a
 * subscription's window is used up. It is tried again after that time, or with another account. All agents of the company wait
 * together, on every node and also after a restart.
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
  /** When the window begins again, in milliseconds. */
  readonly until: number;
}

type Used = Pick<ModelCredential, "key" | "accountId">;
/** The account of a key. A login gets new tokens all the time, but its account stays the same. */
const accountOf = ({ key, accountId }: Used): string | undefined => accountId ?? key;

/** The name of the row about the provider itself. All other rows are about its windows. */
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
  // A key other than the refused one, and an account other than the waiting one, are tried at once.
  if (row.key_hash !== hashOf(companyId, row.cause === "refused" ? used.key : accountOf(used)))
    return undefined;
  return { cause: row.cause, says: row.says, until: row.until_at };
}

/** Whether the key was refused and has not worked since. After the wait, one session tries it again. */
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

/** Notes a refusal, and returns when the provider may be asked again. */
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

/** Forgets the state: the provider works, or was replaced. */
export async function forgetState(tx: Tx, companyId: string, provider: string): Promise<void> {
  await tx.run(dropLimit, { company_id: companyId, provider, name: whole });
}

/** Whether the provider has a state that `forgetState` would drop. */
export async function hasState(tx: ReadTx, companyId: string, provider: string): Promise<boolean> {
  return (await tx.first(limitRow, { company_id: companyId, provider, name: whole })) !== undefined;
}

/** The windows that are still open, as the last answer reported them. */
export async function windowsOf(tx: ReadTx, companyId: string, provider: string): Promise<UsageWindow[]> {
  const rows = await tx.all(limitRows, { company_id: companyId, provider });
  return rows
    .filter(({ cause, until_at }) => cause === "window" && until_at > tx.now)
    .map(({ name, used, until_at }) => ({ name, used, until: until_at }));
}

/** Replaces the known windows by these. */
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

/** A hash that shows whether a key has changed. The key itself is never in the database. */
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
