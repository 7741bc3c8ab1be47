import { sql } from "kysely";
import { hash as digest } from "node:crypto";
import { system } from "../events/ledger.ts";
import { type OutcomeRow, render } from "../outcomes/outcome.ts";
import { mostChildrenShown, outcomeById, saveOutcome } from "../outcomes/table.ts";
import { textQuery } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { invariantsOf, live } from "./invariant.ts";
import { type Scope, scoped } from "./scope.ts";

/** Invariants of outcomes: who is responsible, what is part of what, and the files that show them. */

export const outcomeInvariants = invariantsOf("organization", {
  "outcome-responsible": {
    statement: "Every live outcome has a responsible agent that has not left.",
    subject: "outcomes",
    find: `select o.id from outcomes o left join agents a on a.id = o.responsible_id
      where {here} and o.status ${live} and (a.id is null or a.status = 'terminated' or a.company_id <> o.company_id)`,
    broken: "is live, but no agent of the company is responsible for it.",
    advice:
      "Delegate it (`agency outcomes delegate {id} <agent>`) or close it (`agency outcomes close {id} <rationale>`).",
  },
  "outcome-delegator": {
    statement: "A delegated outcome was delegated by the manager of the agent that is responsible for it.",
    subject: "outcomes",
    find: `select o.id from outcomes o join agents a on a.id = o.responsible_id
      where {here} and o.status ${live} and o.delegated = 1 and o.delegated_by is distinct from a.boss_id`,
    broken: "would be verified by an agent that is not the responsible agent's manager.",
    advice: "Reclaim the outcome and delegate it again: `agency outcomes reclaim {id} <reason>`.",
  },
  "outcome-undelegated": {
    statement: "An outcome that was not delegated has no delegator.",
    subject: "outcomes",
    find: `select o.id from outcomes o where {here} and o.status ${live} and o.delegated = 0 and o.delegated_by is not null`,
    broken: "names a delegator, although it was not delegated.",
    advice:
      "The delegator has rights on the outcome that it should not have. Close the outcome and create it again: `agency outcomes close {id} <rationale>`.",
  },
  "outcome-parent": {
    statement: "Every live outcome except the root is a part of a live outcome.",
    subject: "outcomes",
    find: `select o.id from outcomes o where {here} and o.status ${live} and o.kind <> 'perpetual' and not exists (
        select 1 from edges e join outcomes p on p.id = e.parent_id where e.child_id = o.id and p.status ${live})`,
    broken: "is live, but everything it is a part of has ended.",
    advice:
      "Give it a live parent (`agency outcomes update {id} --parents <ids>`) or close it (`agency outcomes close {id} <rationale>`).",
  },
  "outcome-completed": {
    statement: "A completed outcome has no live parts.",
    subject: "outcomes",
    find: `select o.id from outcomes o where {here} and o.status = 'completed' and exists (
        select 1 from edges e join outcomes c on c.id = e.child_id where e.parent_id = o.id and c.status ${live})`,
    broken: "is completed, but a part of it is still live.",
    advice: "Reopen it until its parts have ended: `agency outcomes reopen {id} <reason>`.",
  },
  "outcome-circle": {
    statement: "No outcome waits for itself, through parts or dependencies.",
    subject: "outcomes",
    find: findCircles,
    broken: "waits for itself: its parts and dependencies form a circle, so none of them can complete.",
    advice:
      "Remove one dependency or parent of the circle, which `agency why {id}` shows: `agency outcomes update {id} --depends-on <ids>`.",
  },
  "outcome-ghost": {
    statement: "No live outcome depends on a mandate or an inbox that ended with its agent.",
    subject: "outcomes",
    find: `select o.id from outcomes o join dependencies d on d.outcome_id = o.id
      join outcomes t on t.id = d.depends_on_id
      where {here} and o.status ${live} and t.status = 'closed' and t.kind in ('mandate', 'inbox')`,
    broken: "depends on the mandate or inbox of an agent that has left, which will never complete.",
    advice: "Change what it depends on: `agency outcomes update {id} --depends-on <ids>`.",
  },
  "outcome-reason": {
    statement: "Every live outcome can move or names what it waits for, and that exists.",
    subject: "outcomes",
    find: `select o.id from outcomes o where {here} and o.status ${live} and (
        (o.blocked_reason is null and (o.blocked_until is not null or o.blocked_on is not null))
        or (o.blocked_on is not null and not exists (
          select 1 from outcomes b where b.id = o.blocked_on and b.company_id = o.company_id))
        or (o.for_agent_id is not null and not exists (
          select 1 from agents a where a.id = o.for_agent_id and a.status = 'pending_approval'))
        or (o.status = 'submitted' and o.delegated = 0))`,
    broken: "waits for something that does not exist, or is blocked without a reason.",
    advice: "Unblock it: `agency outcomes update {id} --blocked null`.",
  },
});

export const outcomeHistoryInvariants = [
  ...invariantsOf("history", {
    "outcome-links": {
      statement: "Every parent, part and dependency of an outcome is an outcome of the same company.",
      subject: "outcomes",
      find: `select o.id from outcomes o where {here} and (
        (o.kind <> 'perpetual' and not exists (select 1 from edges e where e.child_id = o.id))
        or exists (select 1 from edges e left join outcomes p on p.id = e.parent_id
          where e.child_id = o.id and p.company_id is distinct from o.company_id)
        or exists (select 1 from edges e left join outcomes c on c.id = e.child_id
          where e.parent_id = o.id and c.company_id is distinct from o.company_id)
        or exists (select 1 from dependencies d left join outcomes t on t.id = d.depends_on_id
          where d.outcome_id = o.id and t.company_id is distinct from o.company_id)
        or exists (select 1 from dependencies d left join outcomes w on w.id = d.outcome_id
          where d.depends_on_id = o.id and w.company_id is distinct from o.company_id))`,
      broken: "has no parent, or a parent, part or dependency that does not exist in this company.",
      advice:
        "Set its parents and dependencies again: `agency outcomes update {id} --parents <ids> --depends-on <ids>`.",
    },
    "outcome-file": {
      statement: "Every outcome has a knowledge file that shows it.",
      subject: "outcomes",
      find: `select o.id from outcomes o where {here} and not exists (
          select 1 from files f where f.id = o.id and f.kind = 'outcome' and f.company_id = o.company_id)`,
      broken: "has no file.",
      advice:
        "Every change of this outcome fails without its file. Restore a backup, or insert a row into files with the outcome's id.",
    },
    "outcome-deliverables": {
      statement: "Everything an outcome delivers is a version of a file of its company that exists.",
      subject: "outcomes",
      find: `select o.id from outcomes o where {here} and exists (
          select 1 from deliverables d left join files f on f.id = d.file_id
            left join versions v on v.file_id = d.file_id and v.version = d.version
          where d.outcome_id = o.id and (v.file_id is null or f.company_id is distinct from o.company_id
            or d.company_id <> o.company_id))`,
      broken: "delivers a version of a file that does not exist in this company.",
      advice: "Submit it again with files that exist, or restore a backup.",
    },
    "deliverable-outcome": {
      statement:
        "A right to a delivered version follows from an outcome that exists; what a completed outcome delivers was accepted.",
      subject: "files",
      find: `select f.id from files f where {here} and exists (
          select 1 from deliverables d left join outcomes o on o.id = d.outcome_id
          where d.file_id = f.id and (o.id is null
            or (o.status = 'completed' and d.listed = 1 and d.accepted_at is null)))`,
      broken: "was delivered with an outcome that does not exist, or was completed without accepting it.",
      advice: "Reopen and complete the outcome, or restore a backup.",
    },
    "file-outcome": {
      statement: "Every file of an outcome belongs to an outcome that exists.",
      subject: "files",
      find: `select f.id from files f where {here} and f.kind = 'outcome' and not exists (
          select 1 from outcomes o where o.id = f.id)`,
      broken: "shows an outcome that does not exist.",
      advice:
        "The outcome's row was lost. Restore a backup from before; the record names the outcome: `agency audit events`.",
    },
  }),
  ...invariantsOf("bytes", {
    "outcome-text": {
      statement:
        "The file of every outcome shows its present state, unless it is marked to be written again.",
      subject: "outcomes",
      find: findOutdated,
      broken: "has a file that shows an earlier state.",
      repair: async ({ tx }, id) => saveOutcome(tx, await outcomeById(tx, id), system),
    },
  }),
];

interface Wait {
  readonly waiter: string;
  readonly target: string;
}

/** Which outcome waits for which: a parent for its parts, and an outcome for its dependencies. */
const waitsFor = scoped<Wait>(
  "outcomes",
  `select e.parent_id as waiter, o.id as target from outcomes o join edges e on e.child_id = o.id where {here}
   union all select d.outcome_id, o.id from outcomes o join dependencies d on d.depends_on_id = o.id where {here}`,
);

const waitsForAny = (ids: readonly string[]) =>
  textQuery(
    () => sql<Wait>`select parent_id as waiter, child_id as target from edges where child_id in (${sql.join(ids)})
      union all select outcome_id, depends_on_id from dependencies where depends_on_id in (${sql.join(ids)})`,
  );

/** The outcomes that wait for those in the scope, directly or through others, up to the root. */
async function waitsAbove(tx: ReadTx, scope: Scope): Promise<Wait[]> {
  const found = await waitsFor(tx, scope);
  // With all rows, or all of a company, every waiting outcome is already among them.
  if (scope.kind === "all" || scope.kind === "company") return found;
  const seen = new Set(found.map(({ target }) => target));
  let frontier = newIn(found, seen);
  while (frontier.length > 0) {
    const next = await tx.all(waitsForAny(frontier.slice(0, idsAtOnce)), {});
    found.push(...next);
    frontier = [...frontier.slice(idsAtOnce), ...newIn(next, seen)];
  }
  return found;
}

const idsAtOnce = 500;

function newIn(waits: readonly Wait[], seen: Set<string>): string[] {
  const fresh = new Set(waits.map(({ waiter }) => waiter).filter((id) => !seen.has(id)));
  for (const id of fresh) seen.add(id);
  return [...fresh];
}

const idsHere = scoped<{ id: string }>("outcomes", "select o.id from outcomes o where {here}");

/**
 * Finds circles of outcomes that wait for each other. The search goes upward from the outcomes in the scope, because few
 * outcomes wait for another. Outcomes that no circle reaches are removed leaf by leaf. Each of the remaining ones is on a
 * circle, or above one.
 */
async function findCircles(tx: ReadTx, scope: Scope): Promise<string[]> {
  const waits = await waitsAbove(tx, scope);
  const waiters = Map.groupBy(waits, ({ target }) => target);
  const pending = new Map<string, number>();
  for (const { waiter } of waits) pending.set(waiter, (pending.get(waiter) ?? 0) + 1);
  const free = [...waiters.keys()].filter((id) => !pending.has(id));
  for (let id = free.pop(); id !== undefined; id = free.pop())
    for (const { waiter } of waiters.get(id) ?? []) {
      const left = (pending.get(waiter) ?? 0) - 1;
      if (left > 0) pending.set(waiter, left);
      else {
        pending.delete(waiter);
        free.push(waiter);
      }
    }
  if (pending.size === 0) return [];
  const here = new Set((await idsHere(tx, scope)).map(({ id }) => id));
  return [...pending.keys()].filter((id) => here.has(id) && reaches(waiters, id));
}

/** Whether the outcome is on a circle itself, and not only above one. */
function reaches(waiters: ReadonlyMap<string, readonly Wait[]>, start: string): boolean {
  // A loop over a set also visits elements that are added meanwhile.
  const above = new Set((waiters.get(start) ?? []).map(({ waiter }) => waiter));
  for (const id of above) for (const { waiter } of waiters.get(id) ?? []) above.add(waiter);
  return above.has(start);
}

const rendered = scoped<OutcomeRow & { file_hash: string }>(
  "outcomes",
  `select o.*, f.hash as file_hash from outcomes o join files f on f.id = o.id where {here} and o.stale = 0`,
);
const partsOf = (from: string, to: string, table: string, which = "") =>
  scoped<{ of: string; id: string }>(
    "outcomes",
    `select o.id as "of", n.id from outcomes o join ${table} e on e.${from} = o.id join outcomes n on n.id = e.${to}
     where {here} and o.stale = 0 ${which} order by o.id, n.num`,
  );
const parents = partsOf("child_id", "parent_id", "edges");
const children = partsOf("parent_id", "child_id", "edges", "and n.kind <> 'inbox'");
const dependencies = partsOf("outcome_id", "depends_on_id", "dependencies");

const deliverables = scoped<{ of: string; id: string }>(
  "outcomes",
  `select o.id as "of", d.file_id as id from outcomes o join deliverables d on d.outcome_id = o.id and d.listed = 1
   where {here} and o.stale = 0 order by o.id, d.created_at, d.file_id`,
);

async function findOutdated(tx: ReadTx, scope: Scope): Promise<string[]> {
  const rows = await rendered(tx, scope);
  if (rows.length === 0) return [];
  const above = grouped(await parents(tx, scope));
  const below = grouped(await children(tx, scope));
  const before = grouped(await dependencies(tx, scope));
  const delivered = grouped(await deliverables(tx, scope));
  return rows
    .filter((row) => {
      const text = render(row, {
        parents: above(row.id),
        children: below(row.id).slice(0, mostChildrenShown),
        dependsOn: before(row.id),
        deliverables: delivered(row.id),
        responsible: row.responsible_id,
      });
      return digest("sha256", text) !== row.file_hash;
    })
    .map(({ id }) => id);
}

function grouped(rows: readonly { of: string; id: string }[]): (of: string) => string[] {
  const groups = Map.groupBy(rows, ({ of }) => of);
  return (of) => (groups.get(of) ?? []).map(({ id }) => id);
}
