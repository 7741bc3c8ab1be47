import { hashToken } from "./identity.ts";

/**
 * The company and the agent of the last calls with a credential. On PostgreSQL, the next call can then take the company's lock
 * first and identify its caller once, instead of both before and after the lock. Each call still checks that the credential is
 * valid and the company is the right one.
 */
export interface KnownHome {
  readonly companyId: string;
  /** Null if the caller is a person who acts for the board. */
  readonly agentId: string | null;
}

export class Homes {
  readonly #homes = new Map<string, KnownHome | "several">();

  of(key: string): KnownHome | undefined {
    const home = this.#homes.get(key);
    return home === "several" ? undefined : home;
  }

  /** Remembers the company. A person may use several companies; then none can be predicted. */
  keep(key: string, home: KnownHome): void {
    if (key === "" || home.companyId === "") return;
    const before = this.#homes.get(key);
    if (before === "several") return;
    if (this.#homes.size >= most) this.#homes.clear();
    this.#homes.set(key, before === undefined || before.companyId === home.companyId ? home : "several");
  }

  /** After a refused credential, the next call with it must not wait for a company's lock. */
  forget(key: string): void {
    this.#homes.delete(key);
  }
}

/** The call belongs to another company than the last call with this credential. It runs again and takes the right lock. */
export class OtherHome extends Error {}

const most = 10_000;

/** The key of an entry; empty without a credential. A person may act in several companies, and from several positions. */
export function keyOfHome(
  token: string | undefined,
  as: string | undefined,
  input: Readonly<Record<string, unknown>>,
): string {
  return token === undefined ? "" : JSON.stringify([hashToken(token), as, input["companyId"]]);
}
