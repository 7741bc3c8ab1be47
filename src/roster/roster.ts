import { tables } from "../store/schema.ts";
import { listRoster } from "../contract/roster.ts";
import { presentShown, shownAfter } from "../agents/table.ts";
import { guarded } from "../dispatch/guarded.ts";
import { cursorParts, defaultPage, pageAfter } from "../dispatch/page.ts";
import { redact } from "../redaction/redact.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/** The employed and the departed agents: as a list with pages, and as the text of roster.json. */
const onRoster = guarded(listRoster, async ({ tx, companyId, input }) => {
  const [at = "0", id = ""] = cursorParts(input.cursor, "number id");
  const limit = input.limit ?? defaultPage;
  const rows = await tx.all(input.departed === true ? everybody : employedOnes, {
    companyId,
    at: Number(at),
    id,
    limit: limit + 1,
  });
  const { page, nextCursor } = pageAfter(rows, limit, (row) => `${row.created_at} ${row.id}`);
  const agents = page.map((row) => ({
    ...presentShown(row),
    adapterType: row.brain_type,
    model: row.model,
    effort: row.effort,
    leftAt: row.ended_at === null ? null : new Date(row.ended_at).toISOString(),
  }));
  return { agents, nextCursor };
});

export const rosterHandlers = [onRoster];

/** The text of roster.json. The same rows always make the same text, so comparing texts shows a change. */
export async function rosterText(tx: ReadTx, companyId: string): Promise<string> {
  const company = await tx.first(companyName, { id: companyId });
  const rows = await tx.all(allRows, { companyId });
  const departed = await tx.all(departedRows, { companyId, limit: mostDepartures });
  const roster = {
    company: { id: companyId, name: company?.name ?? "" },
    agents: rows.map((row) => ({
      ...common(row),
      status: row.status,
      brain: row.brain_type,
      model: row.model,
      effort: row.effort,
      budget: tables.agents.budget.parse(row.budget),
    })),
    departures: departed.map((row) => ({ ...common(row), left: iso(row.ended_at) })),
  };
  return `${JSON.stringify(redact(roster).value, null, 2)}\n`;
}

/** The oldest company comes first: its file is always roster.json. */
export const companiesByAge = query((db, _: Record<never, never>) =>
  db.selectFrom("companies").select("id").orderBy("created_at").orderBy("id"),
);

const mostDepartures = 1000;
const iso = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

function common(row: {
  id: string;
  name: string;
  role: string;
  title: string | null;
  boss_id: string | null;
  boss: string | null;
  created_at: number;
}) {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    title: row.title,
    reportsTo: row.boss_id === null ? "board" : (row.boss ?? row.boss_id),
    since: iso(row.created_at),
  };
}

const columns = [
  "a.id",
  "a.name",
  "a.role",
  "a.title",
  "a.boss_id",
  "b.name as boss",
  "a.created_at",
] as const;

const allRows = query((db, p: { companyId: string }) =>
  db
    .selectFrom("agents as a")
    .leftJoin("agents as b", "b.id", "a.boss_id")
    .select([...columns, "a.status", "a.brain_type", "a.model", "a.effort", "a.budget"])
    .where("a.company_id", "=", p.companyId)
    .where("a.status", "<>", "terminated")
    .orderBy("a.created_at")
    .orderBy("a.id"),
);

const departedRows = query((db, p: { companyId: string; limit: number }) =>
  db
    .selectFrom("agents as a")
    .leftJoin("agents as b", "b.id", "a.boss_id")
    .select([...columns, "a.ended_at"])
    .where("a.company_id", "=", p.companyId)
    .where("a.status", "=", "terminated")
    .orderBy("a.ended_at", "desc")
    .orderBy("a.id")
    .limit(p.limit),
);

const companyName = query((db, p: { id: string }) =>
  db.selectFrom("companies").select("name").where("id", "=", p.id),
);

type Place = { companyId: string; at: number; id: string; limit: number };
const everybody = query((db, p: Place) =>
  shownAfter(db, p).select(["a.brain_type", "a.model", "a.effort", "a.ended_at"]),
);
const employedOnes = query((db, p: Place) =>
  shownAfter(db, p)
    .select(["a.brain_type", "a.model", "a.effort", "a.ended_at"])
    .where("a.status", "<>", "terminated"),
);
