import { type RawBuilder, sql } from "kysely";
import { undecided } from "../approvals/table.ts";
import { undelivered } from "../mail/table.ts";
import { textQuery } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * Everything that a tick asks the store about all companies. It is one statement, because most ticks find nothing. The answer
 * has what is due now and, of each kind, the first that will be due. The tick checks again in the transaction that acts,
 * because another node may have been faster.
 */
export interface Due {
  /** All chains if any of them may have new events, otherwise none. */
  readonly chains: readonly { readonly company_id: string; readonly seq: number }[];
  readonly mail: readonly DueThing[];
  readonly approvals: readonly DueThing[];
  /** The agents with an outcome whose timed block has ended. */
  readonly alarmed: readonly string[];
  /** Sessions that were asked to stop and still run after their deadline. */
  readonly overdue: readonly DueThing[];
  /** Sessions of other nodes that did not renew their leases in time. */
  readonly lapsed: readonly DueThing[];
  /** Sessions that were ended (by a reclaim or a pause) but not settled, on this node or on a silent one. */
  readonly unsettled: readonly DueThing[];
  /** The sessions of this node. */
  readonly live: readonly DueThing[];
  /** When each of these things was due, and when the next of each kind will be. */
  readonly times: readonly number[];
}

export interface DueThing {
  readonly id: string;
  readonly company_id: string;
  /** Why the session ended, if the thing is an ended session. */
  readonly reason: string | null;
}

type Asked = {
  readonly nodeId: string;
  readonly now: number;
  /** The time up to which ended blocks have been noticed. */
  readonly alarmsAfter: number;
  /** The sum of the last event numbers that were followed. It only grows. */
  readonly followed: number;
};

export async function dueNow(tx: ReadTx, asked: Omit<Asked, "now">): Promise<Due> {
  const rows = await tx.all(everythingDue, { ...asked, now: tx.now });
  const due = (kind: Kind): DueRow[] => rows.filter((row) => row.kind === kind && row.at <= tx.now);
  const timed = new Set<string>(["mail", "approval", "overdue", "lapsed"] satisfies Kind[]);
  return {
    chains: rows.flatMap(({ kind, company_id, at }) => (kind === "chain" ? [{ company_id, seq: at }] : [])),
    mail: due("mail"),
    approvals: due("approval"),
    alarmed: due("alarm").flatMap(({ id }) => id ?? []),
    overdue: due("overdue"),
    lapsed: due("lapsed"),
    unsettled: due("unsettled"),
    live: due("live"),
    times: rows.flatMap(({ kind, at }) => (timed.has(kind) || (kind === "alarm" && at > tx.now) ? [at] : [])),
  };
}

type Kind = "chain" | "mail" | "approval" | "alarm" | "overdue" | "lapsed" | "unsettled" | "live";

interface DueRow extends DueThing {
  readonly kind: Kind;
  readonly at: number;
}

const mostMail = 100;
const mostApprovals = 100;
const mostSessions = 500;

const everythingDue = textQuery((p: Asked) => {
  const isLive = sql`ended_at is null`;
  const parts = [
    sql`select 'chain' as kind, company_id as id, company_id, seq as at, null as reason from ledger_heads
      where (select sum(seq) from ledger_heads) <> ${p.followed}`,
    ...timely(p, "mail", sql`messages`, sql`deliver_at`, undelivered, mostMail),
    ...timely(p, "approval", sql`approvals`, sql`expires_at`, undecided, mostApprovals),
    // No limit: this span is asked for only once.
    sql`select 'alarm', responsible_id, company_id, blocked_until, null from outcomes
      where status = 'open' and blocked_until > ${p.alarmsAfter} and blocked_until <= ${p.now}`,
    sql`select * from (select 'alarm', responsible_id, company_id, blocked_until, null from outcomes
      where status = 'open' and blocked_until > ${p.now} order by blocked_until limit 1) as next_alarm`,
    ...timely(p, "overdue", sql`sessions`, sql`end_by`, isLive, mostSessions),
    ...timely(
      p,
      "lapsed",
      sql`sessions`,
      sql`lease_until + 1`,
      sql`${isLive} and node_id <> ${p.nodeId}`,
      mostSessions,
    ),
    sql`select * from (select 'unsettled', id, company_id, ended_at, end_reason from sessions
      where settled = 0 and ended_at is not null
        and (node_id is null or node_id = ${p.nodeId} or lease_until < ${p.now})
      limit ${mostSessions}) as unsettled`,
    sql`select 'live', id, company_id, started_at, null from sessions where ${isLive} and node_id = ${p.nodeId}`,
  ];
  return sql<DueRow>`${sql.join(parts, sql` union all `)}`;
});

/** The things that are due, oldest first, and the next one after them. */
function timely(
  p: Asked,
  kind: Kind,
  table: RawBuilder<unknown>,
  at: RawBuilder<unknown>,
  where: RawBuilder<unknown>,
  most: number,
): RawBuilder<unknown>[] {
  const found = (when: RawBuilder<unknown>, limit: number) => sql`select * from (
    select ${sql.lit(kind)}, id, company_id, ${at}, null from ${table} where ${where} and ${when}
    order by ${at} limit ${limit}) as ${sql.ref(`${kind}_${limit}`)}`;
  return [found(sql`${at} <= ${p.now}`, most), found(sql`${at} > ${p.now}`, 1)];
}
