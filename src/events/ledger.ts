import { sql } from "kysely";
import { actorKinds } from "../contract/actors.ts";
import type { Event } from "../contract/ledger.ts";
import { redact } from "../redaction/redact.ts";
import { headOf } from "../store/chain.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { type Query, query, selection } from "../store/query.ts";
import { known } from "../store/columns.ts";
import { type Row as RowOf, tables } from "../store/schema.ts";

/**
 * The ledger: a numbered chain of events for each company, and one for the installation (company id ""). Numbers start at 1. An
 * event is recorded in the transaction whose effect it describes. store/chain.ts gives each event its number and hash;
 * verify.ts checks them.
 */
export interface Actor {
  readonly kind: (typeof actorKinds)[number];
  readonly agentId: string | null;
  readonly sessionId: string | null;
  /** The person who acts, either for the board or from the position of `agentId`. */
  readonly personId: string | null;
}

export const system: Actor = { kind: "system", agentId: null, sessionId: null, personId: null };

/** An agent as the actor, in a session or outside of one. */
export const agentActor = (agentId: string, sessionId: string | null = null): Actor => ({
  kind: "agent",
  agentId,
  sessionId,
  personId: null,
});

export interface NewEvent {
  /** Empty for an event of the installation. */
  readonly companyId: string;
  readonly actor: Actor;
  readonly operation: string;
  readonly subject: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

type Row = RowOf<"events">;

export function append(tx: Tx, event: NewEvent): void {
  tx.append({
    company_id: event.companyId,
    at: tx.now,
    actor_kind: event.actor.kind,
    agent_id: event.actor.agentId,
    session_id: event.actor.sessionId,
    person_id: event.actor.personId,
    operation: event.operation,
    subject: event.subject,
    data: JSON.stringify(redact(event.data).value),
  });
}

/** Events of a chain after a number, in order. */
export const listAfter = query((db, p: { companyId: string; after: number; limit: number }) =>
  db
    .selectFrom("events")
    .selectAll()
    .where("company_id", "=", p.companyId)
    .where("seq", ">", p.after)
    .orderBy("seq")
    .limit(p.limit),
);

/** The number of the first event at or after a time. Numbers grow with time, so a binary search finds it. */
export async function firstAt(tx: ReadTx, companyId: string, time: number): Promise<number> {
  let low = 1;
  let high = ((await tx.first(headOf, { company_id: companyId }))?.seq ?? 0) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    // The event in the middle may have been removed, so take the next one.
    const next = await tx.first(listAfter, { companyId, after: middle - 1, limit: 1 });
    if (next === undefined || next.at >= time) high = middle;
    else low = next.seq + 1;
  }
  return low;
}

/** The end of every chain. The installation's comes first. */
export const allHeads = query((db, _: Record<never, never>) =>
  db.selectFrom("ledger_heads").selectAll().orderBy("company_id"),
);

/** How far a follower of all chains has read: the last number of each company. */
export type Seen = Map<string, number>;

export async function seenSoFar(tx: ReadTx): Promise<Seen> {
  return new Map((await tx.all(allHeads, {})).map(({ company_id, seq }) => [company_id, seq]));
}

/**
 * The sum of the last numbers of all chains that a follower has seen. Chains only grow, so an equal sum means that nothing is
 * new.
 */
export const sumOf = (seen: Seen): number => [...seen.values()].reduce((sum, seq) => sum + seq, 0);

type Heads = readonly Pick<RowOf<"ledger_heads">, "company_id" | "seq">[];

/**
 * The events of all chains after these: at most 500 of each chain, none when there are no more. Callers that know the heads
 * pass them.
 */
export const newEvents = (tx: ReadTx, seen: Seen, heads?: Heads): Promise<Row[]> =>
  after(tx, seen, listAfter, heads);

/** The same events, with only the columns that a follower needs to find the events it looks for. */
export const newDeeds = (tx: ReadTx, seen: Seen): Promise<Deed[]> => after(tx, seen, deedsAfter);

type Deed = Pick<Row, "company_id" | "seq" | "at" | "operation" | "subject">;

const deedsAfter = query((db, p: { companyId: string; after: number; limit: number }) =>
  db
    .selectFrom("events")
    .select(["company_id", "seq", "at", "operation", "subject"])
    .where("company_id", "=", p.companyId)
    .where("seq", ">", p.after)
    .orderBy("seq")
    .limit(p.limit),
);

async function after<R>(
  tx: ReadTx,
  seen: Seen,
  list: Query<{ companyId: string; after: number; limit: number }, R>,
  heads?: Heads,
): Promise<R[]> {
  const found = (heads ?? (await tx.all(allHeads, {}))).flatMap(({ company_id: companyId, seq }) => {
    const last = seen.get(companyId) ?? 0;
    return seq > last ? [tx.all(list, { companyId, after: last, limit: 500 })] : [];
  });
  return (await Promise.all(found)).flat();
}

/** Notes that a follower has seen these events. */
export function markSeen(seen: Seen, events: readonly Pick<Row, "company_id" | "seq">[]): void {
  for (const { company_id, seq } of events) seen.set(company_id, seq);
}

/** The events about a subject, newest first. */
export const aboutSubject = selection(
  "events",
  ["subject"],
  (p: { before: number; limit: number }) => sql`and seq < ${p.before} order by seq desc limit ${p.limit}`,
);

/** The last event of an operation about a subject. */
export const lastDeed = selection("events", ["subject", "operation"], sql`order by seq desc limit 1`);

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
    companyId: row.company_id === "" ? null : row.company_id,
    at: new Date(row.at).toISOString(),
    actor: presentActor(row),
    operation: row.operation,
    subject: row.subject,
    data: parseData(row.data),
    previous: row.previous,
    hash: row.hash,
  };
}

export function presentActor(
  row: Pick<Row, "actor_kind" | "agent_id" | "session_id" | "person_id">,
): Event["actor"] {
  const kind = known(actorKinds, row.actor_kind, "events.actor_kind");
  return { kind, agentId: row.agent_id, sessionId: row.session_id, personId: row.person_id };
}

export const parseData = tables.events.data.parse;
