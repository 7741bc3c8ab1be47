import { hash as digest } from "node:crypto";
import { actorKinds, type Event } from "../contract/ledger.ts";
import { redact } from "../redaction/redact.ts";
import { type ReadTx, type Tx } from "../store/store.ts";
import { insertion, query } from "../store/query.ts";
import { known } from "../store/columns.ts";
import { type Row as RowOf, tables } from "../store/schema.ts";

/**
 * The ledger: one sequence of events for the whole installation. An event is appended in the transaction whose effect it
 * records, and its hash includes the hash of the event before. verify() finds the first event that was edited, removed
 * or reordered. Events cut off at the end show against the head, which is a separate row; a person who distrusts this
 * machine can write the head's hash down elsewhere.
 */
export interface Actor {
  readonly kind: (typeof actorKinds)[number];
  readonly agentId: string | null;
  readonly sessionId: string | null;
}

export const system: Actor = { kind: "system", agentId: null, sessionId: null };

export interface NewEvent {
  readonly companyId: string | null;
  readonly actor: Actor;
  readonly operation: string;
  readonly subject: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

type Row = RowOf<"events">;
/** Held from a transaction's first event to its end. So sequence numbers become visible in order, and followers miss none. */
export const ledgerLock = "ledger";
export const genesis = "0".repeat(64);

export async function append(tx: Tx, event: NewEvent): Promise<number> {
  await tx.lock(ledgerLock);
  const head = await tx.first(ledgerEnd, {});
  const row = {
    seq: (head?.seq ?? 0) + 1,
    company_id: event.companyId,
    at: tx.now,
    actor_kind: event.actor.kind,
    agent_id: event.actor.agentId,
    session_id: event.actor.sessionId,
    operation: event.operation,
    subject: event.subject,
    data: JSON.stringify(redact(event.data).value),
    previous: head?.hash ?? genesis,
  };
  const hash = hashOf(row);
  await tx.run(insertRow, { ...row, hash });
  await tx.run(moveHead, { seq: row.seq, hash });
  return row.seq;
}

export function hashOf(row: Omit<Row, "hash">): string {
  return digest(
    "sha256",
    JSON.stringify([
      row.previous,
      row.seq,
      row.company_id,
      row.at,
      row.actor_kind,
      row.agent_id,
      row.session_id,
      row.operation,
      row.subject,
      row.data,
    ]),
  );
}

export interface Verification {
  readonly checked: number;
  readonly last: number;
  readonly head: string;
  readonly complete: boolean;
  readonly firstBad: { readonly seq: number; readonly why: string } | null;
}

/** Recomputes the chain after `after`, at most `limit` rows. */
export async function verify(tx: ReadTx, after: number, limit: number): Promise<Verification> {
  const before = after === 0 ? undefined : await tx.first(rowAt, { seq: after });
  if (after > 0 && before === undefined)
    return {
      checked: 0,
      last: after,
      head: genesis,
      complete: true,
      firstBad: { seq: after, why: "the row is missing" },
    };
  const rows = await tx.all(rowsAfter, { after, limit });
  let previous = before?.hash ?? genesis;
  let expected = after + 1;
  for (const row of rows) {
    const why =
      row.seq !== expected
        ? `row ${expected} is missing`
        : row.previous !== previous
          ? "it does not continue the row before it"
          : row.hash !== hashOf(row)
            ? "its content does not match its hash"
            : null;
    if (why !== null)
      return {
        checked: row.seq - after,
        last: expected - 1,
        head: previous,
        complete: false,
        firstBad: { seq: row.seq, why },
      };
    previous = row.hash;
    expected += 1;
  }
  const last = expected - 1;
  const complete = rows.length < limit;
  const end = complete ? await tx.first(ledgerEnd, {}) : undefined;
  const cut = complete && ((end?.seq ?? 0) !== last || (end?.hash ?? genesis) !== previous);
  const firstBad = cut ? { seq: last + 1, why: "the ledger does not end where its head says" } : null;
  return { checked: rows.length, last, head: previous, complete, firstBad };
}

/** Events after a sequence number, in order: of one company or, for null, of the installation. */
export function listAfter(
  tx: ReadTx,
  filter: { companyId: string | null; after: number; limit: number },
): Promise<Row[]> {
  const { companyId, after, limit } = filter;
  return companyId === null
    ? tx.all(rowsAfter, { after, limit })
    : tx.all(rowsOfCompanyAfter, { companyId, after, limit });
}

/** The events about a subject, newest first. */
export const aboutSubject = query((db, p: { subject: string; before: number; limit: number }) =>
  db
    .selectFrom("events")
    .selectAll()
    .where("subject", "=", p.subject)
    .where("seq", "<", p.before)
    .orderBy("seq", "desc")
    .limit(p.limit),
);

/** The events that an agent caused and the events about it, newest first. */
export const aboutAgent = query((db, p: { agent: string; before: number; limit: number }) =>
  db
    .selectFrom("events")
    .selectAll()
    .where((eb) => eb.or([eb("agent_id", "=", p.agent), eb("subject", "=", p.agent)]))
    .where("seq", "<", p.before)
    .orderBy("seq", "desc")
    .limit(p.limit),
);

export function presentEvent(row: Row): Event {
  return {
    seq: row.seq,
    companyId: row.company_id,
    at: new Date(row.at).toISOString(),
    actor: presentActor(row),
    operation: row.operation,
    subject: row.subject,
    data: parseData(row.data),
    previous: row.previous,
    hash: row.hash,
  };
}

export function presentActor(row: Pick<Row, "actor_kind" | "agent_id" | "session_id">): Event["actor"] {
  const kind = known(actorKinds, row.actor_kind, "events.actor_kind");
  return { kind, agentId: row.agent_id, sessionId: row.session_id };
}

export const parseData = tables.events.data.parse;

export const ledgerEnd = query((db, _: Record<never, never>) =>
  db.selectFrom("ledger_head").select(["seq", "hash"]),
);

const moveHead = query((db, p: { seq: number; hash: string }) =>
  db
    .insertInto("ledger_head")
    .values({ id: 1, seq: p.seq, hash: p.hash })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ seq: p.seq, hash: p.hash })),
);

const insertRow = insertion("events");

const rowAt = query((db, p: { seq: number }) =>
  db.selectFrom("events").select("hash").where("seq", "=", p.seq),
);

const rowsAfter = query((db, p: { after: number; limit: number }) =>
  db.selectFrom("events").selectAll().where("seq", ">", p.after).orderBy("seq").limit(p.limit),
);

const rowsOfCompanyAfter = query((db, p: { companyId: string; after: number; limit: number }) =>
  db
    .selectFrom("events")
    .selectAll()
    .where("company_id", "=", p.companyId)
    .where("seq", ">", p.after)
    .orderBy("seq")
    .limit(p.limit),
);
