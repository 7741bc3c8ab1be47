import { sql } from "kysely";
import { overdrawn } from "../budgets/overdrawn.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { Broken } from "./broken.ts";
import type { Trace } from "./trace.ts";

/**
 * What must be true of the rows after every step. Each rule is a query for whatever breaks it; all of them go to the
 * database as one statement. Rules that only a change of rights, outcomes or agents can break are asked after those.
 */
interface Rule {
  readonly name: string;
  /** Selects the ids (as `id`) of what breaks it. */
  readonly find: string;
}

const live = "in ('open', 'submitted')";
const active = "in ('idle', 'paused')";

export const everyStep: readonly Rule[] = [
  {
    name: "what is set aside for a session is given back when it is over",
    find: `select r.session_id as id from reservations r join sessions s on s.id = r.session_id
      where s.settled = 1 and s.pid is null`,
  },
  { name: "no budget gives out more than it has", find: overdrawn },
  {
    name: "a live session is of an active agent and of its newest epoch",
    find: `select s.id from sessions s join agents a on a.id = s.agent_id
      where s.ended_at is null and (a.status <> 'idle' or a.epoch <> s.epoch)`,
  },
  {
    name: "exactly one inbox outcome is open if and only if messages wait",
    find: `select a.id from agents a where a.status ${active} and (
        (select count(*) from outcomes o where o.responsible_id = a.id and o.kind = 'inbox' and o.status ${live})
        <> exists (select 1 from messages m where m.to_id = a.id and m.company_id = a.company_id
          and m.delivered_at is not null and m.acknowledged_at is null))`,
  },
  {
    name: "no message is early, and none is both delivered and failed",
    find: `select id from messages where delivered_at < deliver_at
      or (delivered_at is not null and failure is not null) or (acknowledged_at is not null and delivered_at is null)`,
  },
  {
    name: "one call has one effect: outcomes",
    find: `select min(id) as id from outcomes where kind = 'work' and title glob 'call-*'
      group by title having count(*) > 1`,
  },
  {
    name: "one call has one effect: files and messages",
    find: `select min(id) as id from files where kind in ('file', 'message') and (
        description glob 'call-*' or description glob 'Message: call-*' or description glob 'Message: Please* call-*' or description glob 'Message: You* call-*')

      group by description having count(*) > 1`,
  },
];

export const afterChanges: readonly Rule[] = [
  {
    name: "an agent that left holds no credential",
    find: `select c.id from credentials c join agents a on a.id = c.agent_id
      where c.revoked_at is null and a.status = 'terminated'`,
  },
  {
    name: "an agent that left leaves no outcome behind",
    find: `select o.id from outcomes o left join agents a on a.id = o.responsible_id
      where o.status ${live} and (a.id is null or a.status not ${active})`,
  },
  {
    name: "who handed an outcome down is the boss of who answers for it",
    find: `select o.id from outcomes o join agents a on a.id = o.responsible_id
      where o.status ${live} and o.delegated = 1 and a.boss_id is not o.delegated_by`,
  },
  {
    name: "an outcome was handed down by somebody, or by nobody",
    find: `select id from outcomes where status ${live} and delegated = 0 and delegated_by is not null`,
  },
  {
    name: "a live outcome serves a live one",
    find: `select o.id from outcomes o where o.status ${live} and o.kind <> 'perpetual' and not exists (
        select 1 from edges e join outcomes p on p.id = e.parent_id where e.child_id = o.id and p.status ${live})`,
  },
  {
    name: "nothing below a completed outcome is open",
    find: `select o.id from outcomes o where o.status = 'completed' and exists (
        select 1 from edges e join outcomes c on c.id = e.child_id where e.parent_id = o.id and c.status ${live})`,
  },
  {
    name: "agents form a tree",
    find: `with recursive below(id) as (
        select id from agents where boss_id is null
        union select a.id from agents a join below b on a.boss_id = b.id where a.status ${active})
      select id from agents where status ${active} and id not in (select id from below)`,
  },
  {
    name: "an active agent answers for its mandate, which lives",
    find: `select a.id from agents a join outcomes o on o.id = a.mandate_id where a.status ${active}
      and (o.responsible_id is not a.id or o.status not ${live} or o.delegated = 0)`,
  },
  {
    name: "only an agent's mandate is a standing one",
    find: `select o.id from outcomes o where o.status ${live} and o.kind = 'mandate' and not exists (
        select 1 from agents a where a.mandate_id = o.id and a.status ${active})`,
  },
  {
    name: "a right is never wider than what it came from",
    find: `select g.id from grants g join grants p on p.id = g.parent_id
      where g.level > p.level or g.resource <> p.resource or g.granted_by is not p.grantee_id
        or g.structural <> p.structural`,
  },
  {
    name: "a right that stands came from the boss, the board or its own work",
    find: `select g.id from grants g join agents a on a.id = g.grantee_id join agents b on b.id = g.granted_by
      where g.broken = 0 and a.boss_id is not g.granted_by
        and not (g.resource = 'org:hire' and b.boss_id is null)`,
  },
  {
    name: "nobody waits for what ended with its agent",
    find: `select d.outcome_id as id from dependencies d join outcomes w on w.id = d.outcome_id
      join outcomes t on t.id = d.depends_on_id
      where w.status ${live} and t.status = 'closed' and t.kind in ('mandate', 'inbox')`,
  },
  {
    name: "a right stands exactly while every reason for it does",
    find: `with recursive chain(id, link) as (
        select id, id from grants
        union all select c.id, g.parent_id from chain c join grants g on g.id = c.link where g.parent_id is not null)
      select c.id from chain c join grants l on l.id = c.link join grants g on g.id = c.id
        join outcomes s on s.id = l.scope_id join agents a on a.id = l.grantee_id
      group by c.id, g.broken
      having g.broken <> sum((l.revoked_at is not null) + (s.status not ${live}) + (a.status = 'terminated'))`,
  },
  {
    name: "an ended session is of no use to whoever holds its token",
    find: `select s.id from sessions s where s.ended_at is null and exists (
        select 1 from sessions n where n.agent_id = s.agent_id and n.epoch > s.epoch)`,
  },
];

/** Costlier ones, every few steps and at the end. */
export const nowAndThen: readonly Rule[] = [
  {
    name: "versions are counted without a gap, and the file shows the last",
    find: `select f.id from files f join (select file_id, count(*) as number, max(version) as last from versions
        group by file_id) v on v.file_id = f.id
      where v.number <> v.last or f.version <> v.last or not exists (
        select 1 from versions n where n.file_id = f.id and n.version = f.version and n.hash = f.hash)`,
  },
  {
    name: "the content of every version is there",
    find: `select v.file_id as id from versions v where not exists (
        select 1 from blobs b where b.file_id = v.file_id and b.hash = v.hash)`,
  },
  {
    name: "what waits for what has no circle",
    find: `with recursive waits(waiter, target) as (
        select parent_id, child_id from edges union select outcome_id, depends_on_id from dependencies),
      reach(start, at) as (
        select waiter, target from waits union select r.start, w.target from reach r join waits w on w.waiter = r.at)
      select start as id from reach where start = at`,
  },
];

const statements = new Map<readonly Rule[], ReturnType<typeof statementFor>>();

export async function demandRules(tx: ReadTx, rules: readonly Rule[], trace: Trace): Promise<void> {
  const statement = statements.get(rules) ?? statementFor(rules);
  statements.set(rules, statement);
  const broken = await tx.first(statement, {});
  if (broken !== undefined) throw new Broken(broken.rule, `${trace.name("thing", broken.id)} (${broken.id})`);
}

function statementFor(rules: readonly Rule[]) {
  const parts = rules.map(
    ({ name, find }) =>
      `select * from (select '${name.replaceAll("'", "''")}' as rule, f.id as id from (${find}) f limit 1)`,
  );
  return query((db, _: Record<never, never>) => ({
    compile: () => sql.raw<{ rule: string; id: string }>(parts.join(" union all ")).compile(db),
  }));
}
