import { operations } from "../contract/operation-table.ts";
import { Broken } from "./broken.ts";
import type { EventRow } from "./ledger-rules.ts";

/**
 * Follows in the ledger which companies are active:
 *
 *   active ──freeze──▶ frozen ──archive──▶ archived        active ──archive──▶ archived
 *   active ◀──thaw──── frozen ◀──unarchive─┘
 *
 * In a frozen company no session starts and agents change nothing. In an archived one people change nothing either, mail waits
 * and no request expires.
 */
type State = "active" | "frozen" | "archived";

const moves: Readonly<Record<string, { readonly from: readonly State[]; readonly to: State }>> = {
  "company.freeze": { from: ["active"], to: "frozen" },
  "company.thaw": { from: ["frozen"], to: "active" },
  "company.archive": { from: ["active", "frozen"], to: "archived" },
  "company.unarchive": { from: ["archived"], to: "frozen" },
};

const effects = new Map<string, string>(operations.map(({ name, effect }) => [name, effect]));

/** Whether an event of this name changes something. Records of reads and refusals don't. */
export const changesSomething = (operation: string): boolean =>
  operation !== "access.refused" && (effects.get(operation) ?? "write") === "write";

/** Events of sessions that a freeze ended, which nodes still record. */
const settling = /^(?:session|budget|knowledge)\./;

export class CompanyModel {
  readonly #states = new Map<string, State>();

  stateOf(companyId: string): State {
    return this.#states.get(companyId) ?? "active";
  }

  see(row: EventRow, shown: string): void {
    const state = this.stateOf(row.company_id);
    const move = moves[row.operation];
    if (move !== undefined) {
      if (!move.from.includes(state))
        throw new Broken(
          "a company is frozen, thawed and archived in order",
          `${row.operation} when ${state}`,
        );
      this.#states.set(row.company_id, move.to);
      return;
    }
    // A removed person leaves every company, including archived ones. There, only the ledger records it.
    if (state === "active" || !changesSomething(row.operation) || row.operation === "agent.vacate") return;
    const name = `${row.operation} by ${shown}`;
    if (row.operation === "session.start") throw new Broken("no session starts in a frozen company", name);
    if (row.actor_kind === "agent") throw new Broken("agents change nothing in a frozen company", name);
    if (state === "archived" && !(row.actor_kind === "system" && settling.test(row.operation)))
      throw new Broken("nothing changes in an archived company", name);
  }
}
