// Rules for sessions, mail and work that must hold once everything is at rest, and rules for the ledger. Rules that hold at
// any moment are in src/invariants.
import { z } from "zod";
import type { Tables } from "./tables.ts";

const live = "in ('open', 'submitted')";

/** Each query finds rows that must not exist. */
const atRest: Readonly<Record<string, string>> = {
  "a session still lives": "select id from sessions where ended_at is null",
  "an ended session was not settled": "select id from sessions where ended_at is not null and settled = 0",
  "a process was never seen to end": "select id from sessions where pid is not null",
  "a message was not delivered, and has no reason": `select id from messages
    where delivered_at is null and failure is null`,
  "something is open besides what stands": `select id from outcomes
    where status ${live} and kind not in ('perpetual', 'mandate')`,
};

export async function checkRest(tables: Tables): Promise<string[]> {
  const problems: string[] = [];
  for (const [problem, sql] of Object.entries(atRest)) {
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
  /** Events that a session recorded. Each of them was accepted. */
  readonly accepted: number;
  readonly started: number;
}

/**
 * Reads the ledger of each company from its beginning and checks four rules. Whatever a session wrote was written while it was
 * the newest of its agent and had not ended. Epochs only rise. A message is delivered, or fails, once. It is acknowledged once.
 * `slack` is the number of milliseconds by which the times of transactions that waited for each other may be in the wrong
 * order.
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
    "select seq, at, agent_id, session_id, operation, subject, data from events order by company_id, seq",
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
