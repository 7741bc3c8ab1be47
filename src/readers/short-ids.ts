import { sql } from "kysely";
import { listShortIds, shortLetters } from "../contract/finding.ts";
import { dashed } from "../agents/agent.ts";
import type { Output } from "../contract/operation.ts";
import { guarded } from "../dispatch/guarded.ts";
import { dynamic } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { Id } from "../contract/words.ts";

/**
 * Short ids, such as O41: the letter of a table and the number that a row gets in the transaction that creates it. The number
 * never changes. Numbers show how many things there are, so only people who see everything can ask for them.
 */
const letters = [
  // An outcome is also a file with the same id. Its own letter wins.
  ["outcomes", "O"],
  ["approvals", "A"],
  ["messages", "M"],
  ["sessions", "S"],
  ["grants", "G"],
  ["reorganizations", "R"],
  ["files", "F"],
] as const;
type Numbered = (typeof letters)[number][0];

const onShortIds = guarded(listShortIds, async ({ tx, input }) => {
  const asked = [...new Set(input.ids)];
  const ids = asked.flatMap((given) => Id.safeParse(given).data ?? []);
  const found = [...(await agents(tx, ids)), ...(await companies(tx, ids))];
  for (const [table, letter] of letters) {
    const known = new Set(found.map(({ id }) => id));
    const numbers = asked.flatMap((given) => numberIn(given, letter));
    const wanted = ids.filter((id) => !known.has(id));
    for (const { id, num, company_id } of await rowsOf(tx, table, wanted, numbers))
      found.push({ id, short: `${letter}${num}`, kind: shortLetters[letter], companyId: company_id });
  }
  return { found };
});

export const shortIdHandlers = [onShortIds];

/** The largest number that both databases store exactly. */
const mostDigits = 15;

function numberIn(given: string, letter: string): number[] {
  const [, first = "", digits = ""] = /^([a-z])(\d+)$/i.exec(given) ?? [];
  return first.toUpperCase() === letter && digits.length <= mostDigits ? [Number(digits)] : [];
}

async function rowsOf(tx: ReadTx, table: Numbered, ids: readonly string[], numbers: readonly number[]) {
  if (ids.length + numbers.length === 0) return [];
  return tx.all(
    dynamic((db) =>
      db
        .selectFrom(table)
        .select(["id", "num", "company_id"])
        .where((eb) =>
          eb.or([
            ...(ids.length === 0 ? [] : [eb("id", "in", ids)]),
            ...(numbers.length === 0 ? [] : [eb("num", "in", numbers)]),
          ]),
        ),
    ),
    {},
  );
}

/** A slug that several active companies use names no agent. A departed agent's slug may belong to another agent now. */
async function agents(tx: ReadTx, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const rows = await tx.all(
    dynamic((db) =>
      db
        .selectFrom("agents as a")
        .select(["a.id", "a.slug", "a.company_id"])
        .where("a.id", "in", ids)
        .where("a.status", "<>", "terminated")
        .where(
          sql<boolean>`not exists (select 1 from agents b join companies c on c.id = b.company_id where b.slug = a.slug and b.id <> a.id and b.status <> 'terminated' and c.archived_at is null)`,
        ),
    ),
    {},
  );
  return rows.map(({ id, slug, company_id }): Found => ({
    id,
    short: slug,
    kind: "agent",
    companyId: company_id,
  }));
}

type Found = Output<typeof listShortIds>["found"][number];

async function companies(tx: ReadTx, ids: readonly string[]): Promise<Found[]> {
  if (ids.length === 0) return [];
  const rows = await tx.all(
    dynamic((db) => db.selectFrom("companies").select(["id", "name"]).where("id", "in", ids)),
    {},
  );
  return rows.map(({ id, name }) => ({ id, short: dashed(name), kind: "company", companyId: id }));
}
