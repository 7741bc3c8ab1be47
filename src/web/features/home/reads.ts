import { ops } from "virtual:operations";
import type { PageOperation } from "../../data/operations.ts";
import { firstAgents } from "../../data/roster.ts";

/** The number of items that Home shows first. */
export const firstItems = 100;

/** The reads of Home for a company, with their inputs. They are made while the page's code still loads. */
export const homeReads = {
  attention: (companyId: string) => ({ companyId, limit: firstItems }),
  sessions: (companyId: string) => ({ companyId, live: true, limit: 12 }),
  ended: (companyId: string, from: string, operation: "outcome.complete" | "outcome.close") => ({
    companyId,
    order: "newest" as const,
    operation,
    refused: false,
    from,
    limit: 200,
  }),
  costs: (companyId: string) => ({ companyId, days: true, limit: 1 }),
};

export function readHomeAhead(
  companyId: string,
  readAhead: <I, O>(operation: PageOperation<I, O>, input: I) => void,
): void {
  readAhead(ops.viewAttention, homeReads.attention(companyId));
  readAhead(ops.listSessions, homeReads.sessions(companyId));
  const from = lastVisit(companyId);
  readAhead(ops.listEvents, homeReads.ended(companyId, from, "outcome.complete"));
  readAhead(ops.listEvents, homeReads.ended(companyId, from, "outcome.close"));
  readAhead(ops.listCosts, homeReads.costs(companyId));
  readAhead(ops.listRoster, firstAgents(companyId));
}

/** When this browser last showed Home, before the present visit. A visit ends after an hour. */
export function lastVisit(companyId: string): string {
  const place = `agency.visit.${companyId}`;
  const now = Date.now();
  const [from = now - 24 * 3_600_000, seen = 0] = (localStorage.getItem(place) ?? "").split(" ").map(Number);
  const isNew = now - seen > 3_600_000;
  const start = isNew && seen > 0 ? seen : Number.isFinite(from) && from > 0 ? from : now - 24 * 3_600_000;
  localStorage.setItem(place, `${start} ${now}`);
  return new Date(start).toISOString();
}
