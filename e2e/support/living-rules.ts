// What must hold of agents, sessions, mail and outcomes at any moment: in the rows, and in the ledger as it was written.
import { z } from "zod";
import type { Tables } from "./tables.ts";

const live = "in ('open', 'submitted')";
const active = "in ('idle', 'paused')";

/** Each query finds rows that must not be there. */
const always: Readonly<Record<string, string>> = {
  "a live session is not its agent's newest, or its agent may not work": `select s.id from sessions s
    join agents a on a.id = s.agent_id where s.ended_at is null and (a.status <> 'idle' or a.epoch <> s.epoch)`,
  "an agent has two live sessions": `select agent_id as id from sessions where ended_at is null
    group by agent_id having count(*) > 1`,
  "two sessions of an agent have the same epoch": `select agent_id as id from sessions
    group by agent_id, epoch having count(*) > 1`,
  "a session has no credential": `select s.id from sessions s
    left join credentials c on c.session_id = s.id where c.id is null`,
  "an inbox outcome is missing, superfluous or doubled": `select a.id from agents a where a.status ${active} and (
      select count(*) from outcomes o where o.responsible_id = a.id and o.kind = 'inbox' and o.status ${live}
    ) <> (case when exists (select 1 from messages m where m.to_id = a.id
      and m.delivered_at is not null and m.acknowledged_at is null) then 1 else 0 end)`,
  "a message is early, or delivered and failed, or acknowledged before it came": `select id from messages
    where delivered_at < deliver_at or (delivered_at is not null and failure is not null)
      or (acknowledged_at is not null and delivered_at is null)`,
  "a message has no file": `select m.id from messages m
    left join files f on f.id = m.file_id where f.id is null`,
  "an agent that left holds a credential": `select c.id from credentials c join agents a on a.id = c.agent_id
    where c.revoked_at is null and a.status = 'terminated'`,
  "a live outcome is nobody's, or of an agent that left": `select o.id from outcomes o
    left join agents a on a.id = o.responsible_id where o.status ${live} and (a.id is null or a.status not ${active})`,
  "who handed an outcome down is not the boss of who answers for it": `select o.id from outcomes o
    join agents a on a.id = o.responsible_id where o.status ${live} and o.delegated = 1
      and coalesce(a.boss_id, '') <> coalesce(o.delegated_by, '')`,
  "an agent does not answer for its mandate, or that has ended": `select a.id from agents a
    join outcomes o on o.id = a.mandate_id where a.status ${active}
      and (coalesce(o.responsible_id, '') <> a.id or o.status not ${live} or o.delegated = 0)`,
  "an agent's boss has left": `select a.id from agents a join agents b on b.id = a.boss_id
    where a.status ${active} and b.status not ${active}`,
  "an agent has no state document": `select a.id from agents a
    left join files f on f.id = a.state_file_id and f.owner_id = a.id where f.id is null`,
  "a completed outcome has live ones below": `select o.id from outcomes o join edges e on e.parent_id = o.id
    join outcomes c on c.id = e.child_id where o.status = 'completed' and c.status ${live}`,
};

/** And these once nothing happens any more. */
const atRest: Readonly<Record<string, string>> = {
  "a session still lives": "select id from sessions where ended_at is null",
  "an ended session was not settled": "select id from sessions where ended_at is not null and settled = 0",
  "a process was never seen to end": "select id from sessions where pid is not null",
  "a message was not delivered, and nobody said why": `select id from messages
    where delivered_at is null and failure is null`,
  "something is open besides what stands": `select id from outcomes
    where status ${live} and kind not in ('perpetual', 'mandate')`,
};

export async function checkRows(tables: Tables, moment: "busy" | "at rest"): Promise<string[]> {
  const problems: string[] = [];
  const rules = { ...always, ...(moment === "at rest" ? atRest : {}) };
  for (const [problem, sql] of Object.entries(rules)) {
    const rows = await tables.ask(sql);
    if (rows.length > 0) problems.push(`${problem}: ${rows.length} times, first ${String(rows[0]?.["id"])}`);
  }
  return problems;
}

const EventRow = z.object({
  seq: z.coerce.number(),
  at: z.coerce.number(),
  agent_id: z.string().nullable(),
  session_id: z.string().nullable(),
  operation: z.string(),
  subject: z.string().nullable(),
  data: z.string().transform((text) => z.record(z.string(), z.unknown()).parse(JSON.parse(text))),
});

export interface LedgerSight {
  readonly problems: string[];
  /** Events that a session put on record, each of which was accepted. */
  readonly accepted: number;
  readonly started: number;
}

/**
 * Reads the ledger from its beginning. Whatever a session wrote was written while it was the newest of its agent and had
 * not ended; epochs only rise; a message is delivered, or fails, once; and is acknowledged once.
 * `slack`: by how many milliseconds the times of transactions that waited for each other may be in the wrong order.
 */
export async function checkLedger(tables: Tables, slack: number): Promise<LedgerSight> {
  const problems: string[] = [];
  const newest = new Map<string, { session: string | null; epoch: number }>();
  const settled = new Map<string, string>();
  const ends = new Map<string, number>();
  for (const row of await tables.ask("select id, ended_at from sessions where ended_at is not null"))
    ends.set(String(row["id"]), Number(row["ended_at"]));
  let accepted = 0;
  let started = 0;
  const rows = await tables.ask(
    "select seq, at, agent_id, session_id, operation, subject, data from events order by seq",
  );
  for (const raw of rows) {
    const event = EventRow.parse(raw);
    const { operation, data, session_id: session } = event;
    const subject = event.subject ?? "";
    const about = `event ${event.seq} (${operation})`;
    if (session !== null && operation !== "access.refused") {
      accepted += 1;
      const current = newest.get(event.agent_id ?? "");
      if (current?.session !== session)
        problems.push(`${about}: session ${session} wrote, accepted was ${current?.session ?? "none"}`);
      const ended = ends.get(session);
      if (ended !== undefined && event.at > ended + slack)
        problems.push(`${about}: session ${session} wrote ${event.at - ended} ms after its end`);
    }
    if (operation === "session.start") {
      started += 1;
      const epoch = Number(data["epoch"]);
      const before = newest.get(subject);
      if (before !== undefined && epoch <= before.epoch)
        problems.push(`${about}: epoch ${epoch} comes after ${before.epoch}`);
      if (before !== undefined && before.session !== null)
        problems.push(`${about}: a session starts while ${before.session} has not ended`);
      newest.set(subject, { session: String(data["session"]), epoch });
    }
    const current = newest.get(subject);
    const ends_ = operation === "session.end" && data["session"] === current?.session;
    if (current !== undefined && (ends_ || stops.has(operation)))
      newest.set(subject, { ...current, session: null });
    if (operation === "mail.deliver" || operation === "mail.fail" || operation === "mail.acknowledge") {
      const key = `${operation === "mail.acknowledge" ? "acknowledged" : "settled"} ${String(data["message"])}`;
      const before = settled.get(key);
      if (before !== undefined) problems.push(`${about}: ${key} a second time, first in ${before}`);
      settled.set(key, about);
    }
  }
  return { problems, accepted, started };
}

const stops = new Set(["agent.pause", "agent.terminate", "agent.retire", "agent.reclaim"]);
