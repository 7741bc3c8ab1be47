import { sql } from "kysely";
import type { Sandbox } from "../contract/installation.ts";
import {
  type AttentionItem,
  attentionKinds,
  type AttentionKind,
  type Health,
  viewAttention,
} from "../contract/attention.ts";
import type { ApprovalKinds } from "../approvals/kinds.ts";
import { companyState } from "../dispatch/company-settings.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import type { Actor } from "../events/ledger.ts";
import { cursorParts, pageAfter } from "../dispatch/page.ts";
import { query, textQuery } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { causeItems } from "./attention-causes.ts";
import { type Draft, type Look, outcomeRef, rowItems } from "./attention-items.ts";
import { notesIn } from "./attention-notes.ts";
import { type CompanySight, companySight, type Looked, type Resolver } from "./sight.ts";
import * as text from "./texts.ts";
import { viewOf } from "./outcome-trail.ts";
import type { Cause, Trail } from "./trail.ts";
import { answerAbout } from "./why.ts";

/**
 * The attention list: everything in a company that waits for a person, and the health of the open outcomes. One pass over the
 * rows of the company finds both. It asks of each open outcome why it moves or does not (why.ts). A trail that does not move by
 * itself ends at a cause, for which there is an item here. So no outcome can be stuck, or wait for the board, without an item.
 *
 * The board sees the whole company. A person who works from a position sees what waits for that position: messages to it, work it
 * has to judge or to do, and stuck work that it can help. Both take the same number of queries, however many outcomes and
 * items there are. Only values of secrets and the subjects of requests for rights are looked up one by one.
 */
export interface AttentionParts {
  readonly sandbox: () => Sandbox;
  readonly secrets: Resolver;
  readonly kinds: ApprovalKinds;
}

export async function attentionIn(
  tx: ReadTx,
  companyId: string,
  parts: AttentionParts,
  { agentId: you, personId }: Pick<Actor, "agentId" | "personId"> = { agentId: null, personId: null },
) {
  const sight = await companySight(tx, companyId, parts.secrets, you);
  const view = viewOf(sight, parts.sandbox(), Infinity, you);
  const health: Health = { moving: 0, scheduled: 0, waitingForYou: 0, stuck: 0 };
  const causes = new Map<string, { cause: Cause; trail: Trail; leaves: Set<string> }>();
  const company = await companyState(tx, companyId);
  const still = new Set<string>();
  let next = Infinity;
  for (const { id } of sight.live) {
    const { trail } = await answerAbout(view, id);
    if (company.state !== "active" && trail.state === "moving") {
      // Only the board can thaw a company.
      health[you === null ? "waitingForYou" : "stuck"]++;
      still.add(trail.leaf ?? id);
      continue;
    }
    health[trail.state === "waiting" ? (isForYou(you, trail) ? "waitingForYou" : "moving") : trail.state]++;
    if (trail.state === "scheduled") next = Math.min(next, trail.until ?? Infinity);
    const { cause } = trail;
    if (cause === undefined) continue;
    const key = keyOf(cause);
    const found = causes.get(key) ?? { cause, trail, leaves: new Set() };
    causes.set(key, found);
    found.leaves.add(trail.leaf ?? id);
  }
  const leavesOf = (cause: Cause): ReadonlySet<string> => causes.get(keyOf(cause))?.leaves ?? new Set();
  const look: Look = { tx, companyId, sight, personId, leavesOf, kinds: parts.kinds, company, still };
  const drafts = [...(await rowItems(look)), ...(await causeItems(look, [...causes.values()]))];
  const heldBy = holdingUp(sight);
  const places = new Map(drafts.map((draft) => [draft, placeIn(tx, draft, heldBy.count(draft))]));
  const placeOf = (draft: Draft): Place => places.get(draft) ?? placeIn(tx, draft, heldBy.count(draft));
  const items = drafts.toSorted((a, b) => byPlace(placeOf(a), placeOf(b)));
  const pressing = items.filter(({ isNote }) => isNote !== true).length;
  return {
    items,
    placeOf,
    pressing,
    health,
    next,
    sight,
    present: (draft: Draft) => present(draft, heldBy.all(draft)),
  };
}

const keyOf = ({ kind, about, on }: Cause): string => `${kind} ${about} ${on}`;

/**
 * A person in a position can decide verdicts and questions. For all other things that wait for the board, another person
 * decides.
 */
const isForYou = (you: string | null, { cause }: Trail): boolean =>
  you === null || cause?.kind === "verdict" || cause?.kind === "question";

export const attentionHandlers = (parts: AttentionParts): Guarded[] => [
  guarded(viewAttention, async ({ tx, companyId, input, actor, caller }) => {
    if (actor.agentId !== null && caller.person === undefined) throw text.onlyPeopleAttend();
    const found = await attentionIn(tx, companyId, parts, actor);
    const { items, placeOf, pressing, health, next, sight, present } = found;
    const isAbout =
      input.outcome === undefined ? () => true : await concerning(tx, sight, items, input.outcome);
    const wanted = items.filter(
      (item) => (input.kind === undefined || item.kind === input.kind) && isAbout(item),
    );
    const after = input.cursor === undefined ? undefined : placeAt(input.cursor);
    const rest = wanted.filter((item) => after === undefined || byPlace(placeOf(item), after) > 0);
    const { page, nextCursor } = pageAfter(rest, input.limit, (item) => cursorAt(placeOf(item)));
    return {
      items: page.map(present),
      nextCursor,
      counts: countByKind(items.map(({ kind }) => kind)),
      total: input.outcome === undefined ? items.length : wanted.length,
      pressing,
      health,
      next: next === Infinity ? null : new Date(next).toISOString(),
      notes: await notesIn(tx, companyId, sight),
    };
  }),
];

/**
 * The place of an item in the list. Each call makes the list again, and items are settled between two calls. So a page begins
 * after a place, not after a number of items: counting would skip one item for each that was settled meanwhile.
 */
interface Place {
  readonly count: number;
  readonly expires: number;
  readonly since: number;
  /** Tells apart items with the same figures. */
  readonly name: string;
}

function placeIn({ now }: ReadTx, { kind, subject, part = "", expires, since }: Draft, count: number): Place {
  return {
    count,
    expires: expires ?? Infinity,
    // An item without a recorded time began "now", which is another time at the next call.
    since: since < now ? since : Infinity,
    name: `${kind} ${subject.kind} ${subject.id ?? ""} ${part}`,
  };
}

const byPlace = (a: Place, b: Place): number =>
  b.count - a.count || compare(a.expires, b.expires) || compare(a.since, b.since) || compare(a.name, b.name);

const compare = <T extends number | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

/** A dash stands for never. */
const cursorAt = ({ count, expires, since, name }: Place): string =>
  [count, ...[expires, since].map((time) => (time === Infinity ? "-" : time)), name].join(" ");

function placeAt(cursor: string): Place {
  const [count = "", expires = "", since = "", name = ""] = cursorParts(cursor, "place");
  const time = (text: string): number => (text === "-" ? Infinity : Number(text));
  return { count: Number(count), expires: time(expires), since: time(since), name };
}

export function countByKind(kinds: readonly AttentionKind[]): Record<AttentionKind, number> {
  const counts = {
    approval: 0,
    question: 0,
    verdict: 0,
    permission: 0,
    stall: 0,
    budget: 0,
    brain: 0,
    server: 0,
    mail: 0,
  };
  for (const kind of kinds) counts[kind]++;
  return counts satisfies Record<(typeof attentionKinds)[number], number>;
}

/**
 * The items that concern an outcome: those that it, or an outcome below it, waits for, and those that an agent asked for in a
 * session for such an outcome. An agent has one session at a time, so the time of asking identifies the session.
 */
async function concerning(
  tx: ReadTx,
  sight: CompanySight,
  items: readonly Draft[],
  outcome: string,
): Promise<(item: Draft) => boolean> {
  // The outcomes of sessions may have ended since. So they are searched below this one, whatever their status.
  const within = new Set((await tx.all(below, { outcome })).map(({ id }) => id));
  const asked = new Map<Draft, string | null>();
  for (const item of items)
    if (item.asked !== undefined && item.asked.agentId !== null) {
      const { agentId, at } = item.asked;
      const session = await tx.first(sessionThen, { agentId, at });
      asked.set(item, session?.work_outcome_id ?? session?.first_outcome_id ?? null);
    }
  return (item) => {
    const found = new Set([...item.leaves, asked.get(item) ?? "", item.subject.id ?? ""]);
    for (const id of found) {
      if (within.has(id)) return true;
      for (const { id: waiter } of sight.waitersOn(id)) found.add(waiter);
    }
    return false;
  };
}

const below = textQuery(
  (p: { outcome: string }) => sql<{ id: string }>`with recursive below(id) as (
    select id from outcomes where id = ${p.outcome} union select e.child_id from edges e join below b on b.id = e.parent_id)
    select id from below`,
);

const sessionThen = query((db, p: { agentId: string; at: number }) =>
  db
    .selectFrom("sessions")
    .select(["work_outcome_id", "first_outcome_id"])
    .where("agent_id", "=", p.agentId)
    .where("started_at", "<=", p.at)
    .orderBy("started_at", "desc")
    .limit(1),
);

const isStanding = ({ kind }: Looked): boolean => kind === "perpetual" || kind === "mandate";
const mostHeld = 1000;
const mostShown = 5;

/**
 * The outcomes that can't be completed before an item is settled. Standing outcomes are left out, because they never complete.
 * Most outcomes have one outcome that waits for them. So counting upward remembers its results: a thousand blocked outcomes in
 * a chain are counted in one pass.
 */
function holdingUp(sight: CompanySight) {
  const waiters = (id: string): readonly Looked[] => sight.waitersOn(id).filter((one) => !isStanding(one));
  const all = ({ leaves, subject }: Draft): Looked[] => {
    const found = new Map<string, Looked>();
    const frontier = [...leaves];
    for (let id = frontier.pop(); id !== undefined && found.size < mostHeld; id = frontier.pop())
      for (const waiter of waiters(id)) {
        if (found.has(waiter.id)) continue;
        found.set(waiter.id, waiter);
        frontier.push(waiter.id);
      }
    for (const leaf of leaves) {
      const own = sight.known(leaf);
      if (own !== undefined && !isStanding(own)) found.set(leaf, own);
    }
    if (subject.kind === "outcome" && subject.id !== null) found.delete(subject.id);
    return [...found.values()];
  };
  /**
   * How many outcomes wait above an outcome, if only single chains lead up from it. Undefined if they branch or form a circle.
   */
  const above = new Map<string, number | undefined>();
  const countAbove = (start: string): number | undefined => {
    const way: string[] = [];
    const seen = new Set<string>();
    let found: number | undefined = 0;
    for (let id: string | undefined = start; id !== undefined;) {
      if (above.has(id)) {
        found = above.get(id);
        break;
      }
      const [next, ...more] = waiters(id);
      if (more.length > 0 || seen.has(id)) {
        found = undefined;
        break;
      }
      way.push(id);
      seen.add(id);
      id = next?.id;
    }
    // The topmost outcome has no waiter, unless the way ended at an outcome that was already counted.
    let isTop = found === 0 && way.length > 0 && waiters(way.at(-1) ?? "").length === 0;
    for (const id of way.toReversed()) {
      found = found === undefined ? undefined : isTop ? 0 : found + 1;
      isTop = false;
      above.set(id, found);
    }
    return above.has(start) ? above.get(start) : found;
  };
  const count = (draft: Draft): number => {
    const [leaf, ...more] = draft.leaves;
    if (leaf === undefined) return 0;
    const single = more.length === 0 ? countAbove(leaf) : undefined;
    if (single === undefined) return all(draft).length;
    const own = sight.known(leaf);
    const isCounted = own !== undefined && !isStanding(own) && draft.subject.id !== leaf;
    return Math.min(single, mostHeld) + (isCounted ? 1 : 0);
  };
  return { all, count };
}

function present(
  { leaves: _, isNote: _note, part: _part, show, ...draft }: Draft,
  held: readonly Looked[],
): AttentionItem {
  return {
    ...draft,
    ...show(),
    since: new Date(draft.since).toISOString(),
    expires: typeof draft.expires === "number" ? new Date(draft.expires).toISOString() : null,
    holdsUp: { count: held.length, outcomes: held.slice(0, mostShown).map(outcomeRef) },
  };
}
