import { hashToken } from "./identity.ts";

/**
 * The company in which the calls with a credential happen, and the agent that acts. On PostgreSQL, the next call takes that company's
 * lock first, and then identifies its caller once instead of before and after the lock. Whether the credential is still good, and
 * the company still the right one, each call looks up.
 */
export interface KnownHome {
  readonly companyId: string;
  /** Null: a person who acts for the board. */
  readonly agentId: string | null;
}

export class Homes {
  readonly #homes = new Map<string, KnownHome | "several">();

  of(key: string): KnownHome | undefined {
    const home = this.#homes.get(key);
    return home === "several" ? undefined : home;
  }

  /** A person may name things of several companies. Then nothing says which is next. */
  keep(key: string, home: KnownHome): void {
    if (key === "" || home.companyId === "") return;
    const before = this.#homes.get(key);
    if (before === "several") return;
    if (this.#homes.size >= most) this.#homes.clear();
    this.#homes.set(key, before === undefined || before.companyId === home.companyId ? home : "several");
  }

  /** A credential that is refused waits for no lock of a company any more. */
  forget(key: string): void {
    this.#homes.delete(key);
  }
}

/** The call belongs to another company than the last one with its credential. It runs again, and takes the lock of the right one. */
export class OtherHome extends Error {}

const most = 10_000;

/** Empty: no credential. A person may act in several companies, from several positions. */
export function keyOfHome(
  token: string | undefined,
  as: string | undefined,
  input: Readonly<Record<string, unknown>>,
): string {
  return token === undefined ? "" : JSON.stringify([hashToken(token), as, input["companyId"]]);
}
