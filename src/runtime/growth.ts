import { writeIn } from "../dispatch/context.ts";
import { sql } from "kysely";
import type { Settings } from "../contract/companies.ts";
import { companyState, settingsOf } from "../dispatch/company-settings.ts";
import { tellOnce, wasTold } from "../mail/notices.ts";
import { notify } from "../mail/notices.ts";
import { waitingFor } from "../mail/table.ts";
import { workable } from "../outcomes/workable.ts";
import { query, selection } from "../store/query.ts";
import { agentRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx, Store } from "../store/store.ts";
import type { InCompany } from "./lanes.ts";
import { countLive } from "./sessions.ts";
import { mayBeOverloaded, overload } from "./texts.ts";

/**
 * Signs that an agent is overloaded: long sessions, waiting work, a full inbox. Each sign becomes a suggestion to the agent's
 * boss and to the board, at most once a day. Boss and board decide; this code changes nothing.
 */
type Kind = "long_sessions" | "waiting_work" | "full_inbox";

interface Sign {
  readonly kind: Kind;
  readonly measured: Readonly<Record<string, number>>;
  readonly says: string;
  readonly could: string;
}

const minute = 60_000;
const day = 24 * 60 * minute;
/** The most rows counted for an agent, which limits the cost of a look. */
const mostLooked = 500;

interface Overloaded {
  readonly id: string;
  readonly companyId: string;
}

/** The overloaded ones of these agents. */
export async function overloadedOf(
  tx: ReadTx,
  agents: readonly Pick<Row<"agents">, "id" | "company_id">[],
): Promise<Overloaded[]> {
  const found = [];
  for (const { id, company_id } of agents)
    if ((await unsaidSigns(tx, id)).length > 0) found.push({ id, companyId: company_id });
  return found;
}

/** Sends suggestions. A company is locked only if there is something to suggest. */
export async function suggestGrowth(
  store: Store,
  agents: readonly Overloaded[],
  newId: () => string,
  run: InCompany,
): Promise<void> {
  for (const { id, companyId } of agents)
    await run(companyId, () =>
      writeIn(store, companyId, newId, async (call) => {
        const { tx } = call;
        const agent = await tx.first(agentRow, { id });
        if (agent === undefined) return;
        // Check again under the lock: another node may have made the suggestion, or the work may be done.
        for (const { kind, measured, says, could } of await unsaidSigns(tx, id)) {
          await call.record(id, { kind, ...measured }, "growth.suggest");
          const words = mayBeOverloaded(agent, says, could);
          await tellOnce(call, { about: id, kind: noticeOf(kind), to: null, text: words });
          if (agent.boss_id !== null) await notify(call, agent.boss_id, words);
        }
      }),
    );
}

async function unsaidSigns(tx: ReadTx, agentId: string): Promise<Sign[]> {
  const agent = await tx.first(agentRow, { id: agentId });
  if (agent?.status !== "idle") return [];
  if ((await companyState(tx, agent.company_id)).state !== "active") return [];
  const settings = await settingsOf(tx, agent.company_id);
  const signs: Sign[] = [];
  for (const [kind, look] of Object.entries(looks)) {
    const notice = { about: agentId, kind: noticeOf(kind) };
    const sign = (await wasTold(tx, agent.company_id, notice)) ? null : await look(tx, agent, settings);
    if (sign !== null) signs.push(sign);
  }
  return signs;
}

const noticeOf = (kind: string): string => `growth ${kind}`;

type Look = (
  tx: ReadTx,
  agent: { id: string; company_id: string },
  settings: Settings,
) => Promise<Sign | null>;

const looks: Readonly<Record<Kind, Look>> = {
  long_sessions: async (tx, { id }, { growthSessionMinutes: limit }) => {
    if (limit === null) return null;
    const sessions = await tx.all(lastSessions, { agent_id: id, since: tx.now - day, limit: 3 });
    const spent = sessions.reduce(
      (sum, { started_at, ended_at }) => sum + (ended_at ?? tx.now) - started_at,
      0,
    );
    const minutes = Math.floor(spent / minute);
    if (minutes < 3 * limit) return null;
    return {
      kind: "long_sessions",
      measured: { sessions: sessions.length, minutes },
      ...overload.longSessions(sessions.length, minutes, limit),
    };
  },
  waiting_work: async (
    tx,
    { id, company_id },
    { growthWaitingOutcomes: limit, growthWaitMinutes, maxSessions },
  ) => {
    if (limit === null) return null;
    const before = tx.now - growthWaitMinutes * minute;
    const count = (await tx.all(waitingWork, { agentId: id, now: tx.now, before, limit: mostLooked })).length;
    if (count < limit) return null;
    const live = (await tx.first(countLive, { company_id }))?.count ?? 0;
    const isFull = live >= maxSessions;
    return {
      kind: "waiting_work",
      measured: { outcomes: count, minutes: growthWaitMinutes, liveSessions: live, maxSessions },
      ...overload.waitingWork(count, growthWaitMinutes, limit, isFull ? maxSessions : null),
    };
  },
  full_inbox: async (tx, { id, company_id }, { growthInboxMessages: limit, growthWaitMinutes }) => {
    if (limit === null) return null;
    const before = tx.now - growthWaitMinutes * minute;
    const waiting = await waitingFor(tx, { companyId: company_id, toId: id, after: 0, limit: mostLooked });
    const oldest = waiting[0]?.delivered_at ?? null;
    if (waiting.length < limit || oldest === null || oldest > before) return null;
    const minutes = Math.floor((tx.now - oldest) / minute);
    return {
      kind: "full_inbox",
      measured: { messages: waiting.length, minutes },
      ...overload.fullInbox(waiting.length, minutes, limit),
    };
  },
};

const lastSessions = selection(
  "sessions",
  ["agent_id"],
  (p: { since: number; limit: number }) =>
    sql`and started_at > ${p.since} order by started_at desc limit ${p.limit}`,
);

/** The inner list is limited first, because the test whether an outcome is workable reads other outcomes. */
const waitingWork = query((db, p: { agentId: string; now: number; before: number; limit: number }) =>
  db
    .selectFrom(
      db
        .selectFrom("outcomes")
        .selectAll()
        .where("responsible_id", "=", p.agentId)
        .where("status", "=", "open")
        .where("kind", "<>", "inbox")
        .where("updated_at", "<=", p.before)
        .limit(p.limit)
        .as("o"),
    )
    .select("o.id")
    .where((eb) => sql<boolean>`${workable(eb, p.now)} = 1`),
);
