import { type RawBuilder, sql } from "kysely";
import { viewGraph } from "../contract/finding.ts";
import { guarded } from "../dispatch/guarded.ts";
import { dynamic, textQuery } from "../store/query.ts";

/** The outcomes of a company with both kinds of edges between them, in three queries. */
const onGraph = guarded(viewGraph, async ({ tx, companyId, input }) => {
  const limit = input.limit ?? 5000;
  const live = input.live === true;
  const rows = await tx.all(
    dynamic((db) => {
      const nodes = db
        .selectFrom("outcomes as o")
        .leftJoin("agents as r", "r.id", "o.responsible_id")
        .select([
          "o.id",
          "o.title",
          "o.status",
          "o.kind",
          "o.blocked_reason",
          "o.responsible_id",
          "r.name",
          "o.created_at",
        ])
        .where("o.company_id", "=", companyId);
      return (live ? nodes.where("o.status", "in", ["open", "submitted"]) : nodes)
        .orderBy("o.num", "desc")
        .limit(limit + 1);
    }),
    {},
  );
  const page = rows.slice(0, limit);
  const shown = new Set(page.map(({ id }) => id));
  const between = async (links: typeof edges) =>
    (await tx.all(links, { companyId })).filter(({ from, to }) => shown.has(from) && shown.has(to));
  return {
    outcomes: page.map(({ id, title, status, kind, blocked_reason, responsible_id, name, created_at }) => ({
      id,
      title,
      status,
      kind,
      blocked: status === "open" && blocked_reason !== null,
      responsible: responsible_id === null ? null : { id: responsible_id, name: name ?? "" },
      createdAt: new Date(created_at).toISOString(),
    })),
    edges: (await between(edges)).map(({ from, to }) => ({ parent: from, child: to })),
    dependencies: (await between(dependencies)).map(({ from, to }) => ({ outcome: from, dependsOn: to })),
    truncated: rows.length > limit,
  };
});

export const graphHandlers = [onGraph];

const linksIn = (table: RawBuilder<unknown>, from: RawBuilder<unknown>, to: RawBuilder<unknown>) =>
  textQuery(
    (p: { companyId: string }) => sql<{ from: string; to: string }>`
      select ${from} as "from", ${to} as "to" from outcomes o join ${table} l on ${from} = o.id
      where o.company_id = ${p.companyId} order by o.num, ${to}`,
  );
const edges = linksIn(sql`edges`, sql`l.parent_id`, sql`l.child_id`);
const dependencies = linksIn(sql`dependencies`, sql`l.outcome_id`, sql`l.depends_on_id`);
