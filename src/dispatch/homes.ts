import { hashToken } from "./identity.ts";

/**
 * The company in which the last call with a credential happened. On PostgreSQL, the next call takes that company's lock first, and
 * then identifies its caller once instead of before and after the lock. Whether the credential is still good, and the company
 * still the right one, each call looks up.
 */
export class Homes {
  readonly #companies = new Map<string, string>();

  of(key: string): string | undefined {
    return this.#companies.get(key);
  }

  keep(key: string, companyId: string): void {
    if (key === "" || companyId === "") return;
    if (this.#companies.size >= most) this.#companies.clear();
    this.#companies.set(key, companyId);
  }

  /** A credential that is refused waits for no lock of a company any more. */
  forget(key: string): void {
    this.#companies.delete(key);
  }
}

const most = 10_000;

/** Empty: no credential. A person may act in several companies, from several positions. */
export function keyOfHome(
  token: string | undefined,
  as: string | undefined,
  input: Readonly<Record<string, unknown>>,
): string {
  return token === undefined ? "" : JSON.stringify([hashToken(token), as, input["companyId"]]);
}
