import { tables } from "../store/schema.ts";
import { listRoster } from "../contract/roster.ts";
import { presentShown, shownAfter } from "../agents/table.ts";
import { companyById } from "../companies/operations.ts";
import { guarded } from "../dispatch/guarded.ts";
import { cursorParts, defaultPage, pageAfter } from "../dispatch/page.ts";
import { redact } from "../redaction/redact.ts";
import { type Db, query } from "../store/query.ts";
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
    leftAt: leftAt(row),
  }));
  return { agents, nextCursor };
});

export const rosterHandlers = [onRoster];

/** The text of roster.json. The same rows always give the same text, so comparing texts shows a change. */
export async function rosterText(tx: ReadTx, companyId: string): Promise<string> {
  const { name } = await companyById(tx, companyId);
  const from = { companyId, at: 0, id: "" };
  const rows = await tx.all(employedOnes, { ...from, limit: Number.MAX_SAFE_INTEGER });
  const departed = await tx.all(lastDeparted, { ...from, limit: mostDepartures });
  const roster = {
    company: { id: companyId, name },
    agents: rows.map((row) => ({
      ...common(row),
      status: row.status,
      brain: row.brain_type,
      model: row.model,
      effort: row.effort,
      budget: tables.agents.budget.parse(row.budget),
    })),
    departures: departed.map((row) => ({ ...common(row), left: leftAt(row) })),
  };
  return `${JSON.stringify(redact(roster).value, null, 2)}\n`;
}

/** The oldest company comes first, because its file is always roster.json. */
export const companiesByAge = query((db, _: Record<never, never>) =>
  db.selectFrom("companies").select("id").orderBy("created_at").orderBy("id"),
);

const mostDepartures = 1000;

function common(row: Parameters<typeof presentShown>[0]) {
  const { id, name, role, title, boss, createdAt } = presentShown(row);
  return { id, name, role, title, reportsTo: boss?.name ?? "board", since: createdAt };
}

const leftAt = ({ ended_at }: { ended_at: number | null }): string | null =>
  ended_at === null ? null : new Date(ended_at).toISOString();

type Place = Parameters<typeof shownAfter>[1];
const everyAgent = (db: Db, p: Place) =>
  shownAfter(db, p).select(["a.brain_type", "a.model", "a.effort", "a.budget", "a.ended_at"]);
const everybody = query(everyAgent);
const employedOnes = query((db, p: Place) => everyAgent(db, p).where("a.status", "<>", "terminated"));
const lastDeparted = query((db, p: Place) =>
  everyAgent(db, p)
    .where("a.status", "=", "terminated")
    .clearOrderBy()
    .orderBy("a.ended_at", "desc")
    .orderBy("a.id"),
);
