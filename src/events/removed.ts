import { hash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { sql } from "kysely";
import { z } from "zod";
import { hashOf, linesIn } from "../store/chain.ts";
import { insertion } from "../store/inserts.ts";
import { query, selection, textQuery } from "../store/query.ts";
import { type Row, tables } from "../store/schema.ts";
import type { Mac, ReadTx, Tx } from "../store/store.ts";
import type { RemovedMonth } from "../contract/ledger.ts";
import { type Actor, listAfter } from "./ledger.ts";

/**
 * The beginning of a chain that was exported and removed, in one or more stretches.
 *
 *   events ──exported──▶ a file ──digest of a stretch──▶ removed: in place of the events a sealed row of `removed_events`
 *
 * One transaction removes a stretch, so there is no state in between. The stretch's row keeps what the rest of the ledger needs:
 * the hash that the next event continues, and the newest line about each row, with which rows.ts compares the stored rows.
 * Events that a rule or a page of open work needs stay. They can be checked one by one, because each hash covers its event.
 */
export type Removed = Row<"removed_events">;
type EventRow = Row<"events">;

/** The number of events on a page of an export, and the most that one transaction removes. */
export const mostInStretch = 2000;

/** Stretches whose last event has a higher number, in order. */
export const removedAfter = selection(
  "removed_events",
  ["company_id"],
  (p: { after: number }) => sql`and last_seq > ${p.after} order by first_seq`,
);

/** The stretch that contained this event. */
export const removedAt = selection(
  "removed_events",
  ["company_id"],
  (p: { seq: number }) => sql`and first_seq <= ${p.seq} and last_seq >= ${p.seq}`,
);

/** The newest stretch of a chain. */
export const lastRemoved = selection("removed_events", ["company_id"], sql`order by first_seq desc limit 1`);

/** The removed months, without their lines. */
export const removedMonths = query((db, p: { companyId: string }) =>
  db
    .selectFrom("removed_events")
    .select((eb) => [
      "month",
      "file",
      eb.fn.min("first_seq").as("first"),
      eb.fn.max("last_seq").as("last"),
      eb.fn.max("removed_at").as("at"),
    ])
    .where("company_id", "=", p.companyId)
    .groupBy(["month", "file"])
    .orderBy("first"),
);

/** The months removed since a thing was created, for lists of its events. Only people see them. */
export async function removedSince(
  tx: ReadTx,
  { agentId }: Pick<Actor, "agentId">,
  companyId: string,
  madeAt: number,
): Promise<{ removed?: RemovedMonth[] }> {
  if (agentId !== null) return {};
  const months = (await tx.all(removedMonths, { companyId })).filter(
    ({ month }) => month >= utcMonth(madeAt),
  );
  return { removed: months.map(presentRemoved) };
}

export const utcMonth = (at: number): string => new Date(at).toISOString().slice(0, 7);

export const presentRemoved = ({
  month,
  file,
  at,
}: {
  month: string;
  file: string;
  at: number;
}): RemovedMonth => ({
  month,
  file,
  removedAt: new Date(at).toISOString(),
});

export function sealOfRemoved(
  mac: Mac,
  { seal: _, ...row }: Omit<Removed, "seal"> & { seal?: string },
): string {
  const columns = Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return mac(JSON.stringify(["removed", columns]));
}

/** The first number from `from` to `to` that is missing: its event is neither stored nor part of a removed stretch. */
export function firstMissing(removed: readonly Removed[], from: number, to: number): number | undefined {
  for (let seq = from; seq <= to;) {
    const stretch = removed.find(({ first_seq, last_seq }) => first_seq <= seq && seq <= last_seq);
    if (stretch === undefined) return seq;
    const kept = keptIn(stretch).find((number) => number >= seq && number <= to);
    if (kept !== undefined) return kept;
    seq = stretch.last_seq + 1;
  }
  return undefined;
}

const keptIn = ({ kept }: Removed): number[] => (kept === "" ? [] : kept.split(" ").map(Number));

/** The lines that a removed stretch keeps. */
export const linesLeftBy = ({ lines }: Removed): string =>
  inflateRawSync(Buffer.from(lines, "base64")).toString();

/** An event as a line of an export: everything that its hash covers, and the hash. */
export const exportLine = (row: EventRow): string => JSON.stringify(row, Object.keys(tables.events));

const Exported = z.strictObject({
  company_id: z.string(),
  seq: z.number(),
  at: z.number(),
  actor_kind: z.string(),
  agent_id: z.string().nullable(),
  session_id: z.string().nullable(),
  person_id: z.string().nullable(),
  operation: z.string(),
  subject: z.string().nullable(),
  data: z.string(),
  rows: z.string(),
  previous: z.string(),
  hash: z.string(),
}) satisfies z.ZodType<EventRow>;

/** Undefined if the line can't be an event. */
export function exportedEvent(line: string): EventRow | undefined {
  try {
    return Exported.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}

export const digestOfLines = (lines: readonly string[]): string => hash("sha256", lines.join("\n"));

export interface MonthHead {
  readonly companyId: string;
  readonly month: string;
  readonly first: number;
  readonly last: number;
  /** The hash of the event before the first one, and the hash of the last one. */
  readonly previous: string;
  readonly hash: string;
}

/** Seals the events of an export together. Their chain alone would not show that events at its end were cut off. */
export const sealOfMonth = (mac: Mac, head: MonthHead): string =>
  mac(JSON.stringify(["month", head.companyId, head.month, head.first, head.last, head.previous, head.hash]));

/** Whether these events form an unchanged chain. */
export function isChain(mac: Mac, previous: string, after: number, rows: readonly EventRow[]): boolean {
  let [before, seq] = [previous, after];
  return rows.every((row) => {
    const fits = row.seq === ++seq && row.previous === before && row.hash === hashOf(mac, row);
    before = row.hash;
    return fits;
  });
}

/** Replaces these events by one stretch. The caller has checked that they are exported and unchanged. */
export async function removeStretch(
  tx: Tx,
  rows: readonly EventRow[],
  of: Pick<Removed, "company_id" | "month" | "digest" | "file" | "person_id">,
): Promise<{ removed: number; kept: number }> {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return { removed: 0, kept: 0 };
  const [from, to] = [first.seq, last.seq];
  const kept = (await tx.all(stillNeeded, { companyId: of.company_id, from, to })).map(({ seq }) => seq);
  const row = {
    ...of,
    first_seq: from,
    last_seq: to,
    hash: last.hash,
    kept: kept.join(" "),
    lines: deflateRawSync(await linesToKeep(tx, rows)).toString("base64"),
    removed_at: tx.now,
  };
  await tx.run(insertRemoved, { ...row, seal: sealOfRemoved(tx.mac, row) });
  for (const [index, end] of [...kept, to + 1].entries()) {
    const start = index === 0 ? from : (kept[index - 1] ?? 0) + 1;
    if (start < end) await tx.run(deleteEvents, { companyId: of.company_id, from: start, to: end - 1 });
  }
  return { removed: rows.length - kept.length, kept: kept.length };
}

/** The newest line about each row. A row that one of the following events describes again is left out. */
async function linesToKeep(tx: ReadTx, rows: readonly EventRow[]): Promise<string> {
  const newest = new Map(rows.flatMap((row) => linesIn(row.rows)));
  const { company_id: companyId = "", seq: after = 0 } = rows.at(-1) ?? {};
  for (const { rows: text } of await tx.all(listAfter, { companyId, after, limit: looksAhead }))
    for (const [name] of linesIn(text)) newest.delete(name);
  return [...newest].map(([name, line]) => `${name} ${line}`).join("\n");
}
const looksAhead = 10_000;

/**
 * Events that rules and pages of open work read: those about live outcomes, agents that have not left and the company itself,
 * those of unsettled sessions, and damage that is reported only once.
 */
const stillNeeded = textQuery(
  (p: { companyId: string; from: number; to: number }) => sql<{ seq: number }>`
    select seq from events where company_id = ${p.companyId} and seq >= ${p.from} and seq <= ${p.to} and (
      operation like 'outcome.%' and subject in
        (select id from outcomes where company_id = ${p.companyId} and status in ('open', 'submitted'))
      or operation like 'agent.%' and subject in
        (select id from agents where company_id = ${p.companyId} and status <> 'terminated')
      or operation like 'company.%' or operation = 'knowledge.damaged'
      or session_id in (select id from sessions where company_id = ${p.companyId} and (ended_at is null or settled = 0)))
    order by seq`,
);

const insertRemoved = insertion("removed_events");
const deleteEvents = textQuery(
  (p: { companyId: string; from: number; to: number }) =>
    sql<never>`delete from events where company_id = ${p.companyId} and seq >= ${p.from} and seq <= ${p.to}`,
);
