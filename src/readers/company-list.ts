import { listCompanies } from "../contract/companies.ts";
import { presentCompany } from "../companies/operations.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import { cursorParts, defaultPage, pageAfter } from "../dispatch/page.ts";
import { dynamic } from "../store/query.ts";
import { attentionIn, type AttentionParts } from "./attention.ts";

/** The companies of the installation. People who see all of them also get the health of each one. */
export const companyListHandlers = (parts: AttentionParts): Guarded[] => [
  guarded(listCompanies, async ({ tx, actor, caller, input }) => {
    const own = caller.companyId;
    const [after = ""] = cursorParts(input.cursor, "id");
    const rows = await tx.all(
      dynamic((db) => {
        const all = db.selectFrom("companies").selectAll().where("id", ">", after);
        const list = input.archived === true || own !== null ? all : all.where("archived_at", "is", null);
        return (own === null ? list : list.where("id", "=", own))
          .orderBy("id")
          .limit((input.limit ?? defaultPage) + 1);
      }),
      {},
    );
    const { page, nextCursor } = pageAfter(rows, input.limit, (row) => row.id);
    const companies = page.map((row) => presentCompany(row));
    if (input.health !== true || actor.kind !== "board") return { companies, nextCursor };
    const withHealth = [];
    for (const company of companies) {
      const { pressing, health } = await attentionIn(tx, company.id, parts);
      withHealth.push({ ...company, health, attention: pressing });
    }
    return { companies: withHealth, nextCursor };
  }),
];
