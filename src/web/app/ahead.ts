import { ops } from "virtual:operations";
import { lastCompany, lastName, lastRole, lastRoot } from "../data/company.ts";
import { followCompany } from "../data/live.ts";
import { pageKey } from "../data/page-key.ts";
import { readAhead, readCompany } from "../data/reading.ts";
import { readHomeAhead } from "../features/home/reads.ts";

/**
 * Reads the data of the first page while the page's code is still loading, so the answers are there when it renders. This is
 * only a guess, from the address and from what this browser showed last. The page reads the same data itself.
 */
export function askAhead(): void {
  if (pageKey() === null || location.pathname === "/sign-in") return;
  const named = new URLSearchParams(location.search).get("company") ?? lastCompany();
  const id = named === lastName() ? lastCompany() : named;
  // A member's answers depend on the position, which is not known yet. Another company's slug is not known yet either.
  const companyId = id !== null && isId.test(id) && lastRole() !== "member" ? id : null;
  if (companyId !== null) {
    readCompany(companyId);
    followCompany(companyId);
  }
  readAhead(ops.listCompanies, { limit: 1000 });
  readAhead(ops.viewMe, {});
  if (companyId === null) return;
  readAhead(ops.viewCounts, { companyId });
  const root = companyId === lastCompany() ? lastRoot() : null;
  if (location.pathname === "/") {
    readHomeAhead(companyId, readAhead);
    if (root !== null) readAhead(ops.viewAgent, { id: root });
  }
  if (location.pathname === "/org") readAhead(ops.viewOrg, { companyId });
  const [, session] = /^\/sessions\/([^/]+)$/.exec(location.pathname) ?? [];
  if (session !== undefined) readAhead(ops.viewSession, { id: session });
}

const isId = /^[0-9a-f]{8}-/;
