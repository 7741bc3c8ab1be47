import { sql } from "kysely";
import * as contract from "../contract/ledger.ts";
import type { Input } from "../contract/operation.ts";
import { memberCalled } from "../capabilities/members.ts";
import { guarded } from "../dispatch/guarded.ts";
import { cursorParts, defaultPage, numberCursor, pageAfter } from "../dispatch/page.ts";
import { aboutAgent, firstAt, presentEvent } from "../events/ledger.ts";
import { deedsOf } from "../events/pages.ts";
import { utcMonth, presentRemoved, removedMonths } from "../events/removed.ts";
import { RowCheck } from "../events/rows.ts";
import { type Anchors, type Damage, verify } from "../events/verify.ts";
import { findPerson } from "../people/table.ts";
import { redactText } from "../redaction/redact.ts";
import { dynamic } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { aboutIn, deedSentence } from "./deeds.ts";
import { namesOf } from "./titles.ts";
import { boardHasLedger, deepCheckLost } from "./texts.ts";

const onList = guarded(contract.listEvents, async ({ tx, companyId, input }) => {
  const limit = input.limit ?? defaultPage;
  const newest = input.order === "newest";
  const last = numberCursor(input.cursor, newest ? Number.MAX_SAFE_INTEGER : 0);
  const parts = [
    sql`seq > ${Math.max(input.after ?? 0, newest ? 0 : last)}`,
    ...(newest ? [sql`seq < ${last}`] : []),
    ...(await filtersOf(tx, companyId, input)),
  ];
  const rows = await tx.all(
    dynamic((db) =>
      db
        .selectFrom("events")
        .selectAll()
        .where(sql<boolean>`${sql.join(parts, sql` and `)}`)
        .orderBy("seq", newest ? "desc" : "asc")
        .limit(limit + 1),
    ),
    {},
  );
  const { page, nextCursor } = pageAfter(rows, limit, (row) => String(row.seq));
  const removed = await removedIn(tx, companyId, input);
  return { events: await toldEvents(tx, page), removed, nextCursor };
});

/** The removed months that a list would have covered. */
async function removedIn(
  tx: ReadTx,
  companyId: string,
  { after = 0, from, to }: Pick<Input<typeof contract.listEvents>, "after" | "from" | "to">,
): Promise<contract.RemovedMonth[]> {
  const months = await tx.all(removedMonths, { companyId });
  return months
    .filter(
      ({ month, last }) =>
        last > after &&
        (from === undefined || month >= utcMonth(Date.parse(from))) &&
        (to === undefined || month <= utcMonth(Date.parse(to))),
    )
    .map(presentRemoved);
}

async function filtersOf(
  tx: ReadTx,
  companyId: string,
  { actor, operation, subject, from, to, refused }: Input<typeof contract.listEvents>,
) {
  const parts = [];
  if (actor === "board" || actor === "system") parts.push(sql`actor_kind = ${actor}`);
  else if (actor !== undefined) {
    const agent = await memberCalled(tx, companyId, actor.trim().replace(/^@/, ""));
    parts.push(
      agent === undefined
        ? sql`person_id = ${(await findPerson(tx, actor)).id}`
        : sql`agent_id = ${agent.id}`,
    );
  }
  if (operation !== undefined)
    parts.push(sql`(operation = ${operation} or operation like ${`${operation}.%`})`);
  if (subject !== undefined) parts.push(sql`subject = ${subject}`);
  if (refused !== undefined)
    parts.push(refused ? sql`operation = 'access.refused'` : sql`operation <> 'access.refused'`);
  if (from !== undefined) {
    const at = Date.parse(from);
    parts.push(sql`seq >= ${await firstAt(tx, companyId, at)} and at >= ${at}`);
  }
  if (to !== undefined) parts.push(sql`seq < ${await firstAt(tx, companyId, Date.parse(to))}`);
  // For one subject or agent, its index finds the few events. The company's index would be searched as a whole.
  const isNarrow = subject !== undefined || (actor !== undefined && actor !== "board" && actor !== "system");
  parts.push(isNarrow ? sql`company_id || '' = ${companyId}` : sql`company_id = ${companyId}`);
  return parts;
}

/** Events with the names of their actors and subjects, in a fixed number of queries. */
export async function toldEvents(tx: ReadTx, rows: readonly Row<"events">[]): Promise<contract.ToldEvent[]> {
  const names = await namesOf(
    tx,
    rows.flatMap(({ agent_id, person_id, subject }) => [agent_id, person_id, subject]),
  );
  const refOf = (kind: string, id: string | null) => {
    const title = id === null ? undefined : names.get(id)?.find((one) => one.kind === kind)?.title;
    return id === null || typeof title !== "string" ? undefined : { id, name: title };
  };
  return rows.map((row) => {
    const event = presentEvent(row);
    const agent = refOf("agent", row.agent_id);
    const person = refOf("person", row.person_id);
    const by = { kind: event.actor.kind, ...(agent && { agent }), ...(person && { person }) };
    const about = row.subject === null ? null : aboutIn(row.operation, names.get(row.subject));
    return { ...event, by, about, says: redactText(deedSentence(by, about, event)) };
  });
}

const onMine = guarded(contract.readAuditLog, async ({ tx, actor, companyId, input }) => {
  if (actor.agentId === null) throw boardHasLedger();
  const own = { companyId, id: actor.agentId };
  const from = numberCursor(input.cursor, Number.MAX_SAFE_INTEGER);
  const { rows, nextCursor } = await deedsOf(tx, own, from, input.limit ?? defaultPage);
  const events = rows.map(presentEvent).map(({ at, actor: by, operation, subject, data }) => ({
    at,
    actor: by,
    operation,
    subject,
    data,
  }));
  return { events, nextCursor };
});

const onAgent = guarded(contract.listAgentEvents, async ({ tx, companyId, input }) => {
  const limit = input.limit ?? defaultPage;
  const before = numberCursor(input.cursor, Number.MAX_SAFE_INTEGER);
  const rows = await tx.all(aboutAgent, { agent: input.id, before, limit: limit + 1 });
  const { page, nextCursor } = pageAfter(rows, limit, (row) => String(row.seq));
  return { events: await toldEvents(tx, page), removed: await removedIn(tx, companyId, {}), nextCursor };
});

/** Reads what a place outside the database remembers of the ledger. Tests leave it out. */
export interface AnchorReader {
  readonly read: () => Anchors;
}

/**
 * Names the files whose stored content was changed or deleted, some hundred versions at a time. `next` is where to continue.
 */
export type ContentCheck = (
  tx: ReadTx,
  after: string | undefined,
) => Promise<{ problems: Damage[]; next: string | null }>;

/** From one call to the next, a deep check remembers what the ledger says of each row. Only the newest check is kept. */
function verifying(anchor: AnchorReader, contentCheck: ContentCheck) {
  let run = 0;
  let rows = new RowCheck();
  return guarded(contract.verifyLedger, async ({ tx, input }) => {
    const isRows = input.cursor?.startsWith("rows ") === true;
    if (isRows && input.cursor !== `rows ${run}`) throw deepCheckLost();
    if (isRows) {
      const { checked, problems, done } = await rows.step(tx);
      return presentCheck({ rows: checked }, problems, done ? "content" : `rows ${run}`);
    }
    if (input.cursor?.startsWith("content") === true) {
      const [, after] = input.cursor.split(" ");
      const { problems, next } = await contentCheck(tx, after);
      return presentCheck({}, problems, next === null ? null : `content ${next}`);
    }
    const [chain, after] = cursorParts(input.cursor, "chain number");
    const from = chain === undefined ? null : { companyId: chain === "-" ? "" : chain, after: Number(after) };
    const { checked, problems, next } = await verify(tx, anchor.read(), from, input.limit ?? 10_000);
    if (next !== null) return presentCheck({ checked }, problems, `${next.companyId || "-"} ${next.after}`);
    if (input.deep !== true) return presentCheck({ checked }, problems, null);
    rows = new RowCheck();
    return presentCheck({ checked }, problems, `rows ${++run}`);
  });
}

function presentCheck(
  counts: { readonly checked?: number; readonly rows?: number },
  problems: readonly Damage[],
  nextCursor: string | null,
) {
  return {
    ok: problems.length === 0,
    checked: counts.checked ?? 0,
    rows: counts.rows ?? 0,
    problems: problems.map(({ intactUntil, ...found }) => ({
      ...found,
      companyId: found.companyId || null,
      intactUntil: intactUntil === null ? null : new Date(intactUntil).toISOString(),
    })),
    nextCursor,
  };
}

export const activityHandlers = (anchor: AnchorReader, contentCheck: ContentCheck) => [
  onList,
  onMine,
  onAgent,
  verifying(anchor, contentCheck),
];
