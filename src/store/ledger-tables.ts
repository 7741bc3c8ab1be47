import { JsonObject } from "../contract/words.ts";
import { integer, json, orNull, string } from "./columns.ts";

/** The tables of events/. A part of schema.ts. */
export const ledgerTables = {
  /** The ledger: a chain of events for each company, and one of the installation, whose company_id is empty. */
  events: {
    company_id: string,
    seq: integer,
    at: integer,
    actor_kind: string,
    agent_id: orNull(string),
    session_id: orNull(string),
    person_id: orNull(string),
    operation: string,
    subject: orNull(string),
    data: json(JsonObject),
    /** The rows that changed since the last event, one per line: table, key, digest (chain.ts). */
    rows: string,
    previous: string,
    hash: string,
  },
  /** The end of each chain, and the rows that changed since its last event. `seal` covers both. */
  ledger_heads: {
    company_id: string,
    seq: integer,
    hash: string,
    rows: string,
    seal: string,
  },
  /** The beginning of a chain that was exported and removed: consecutive stretches from event 1 on. */
  removed_events: {
    company_id: string,
    first_seq: integer,
    last_seq: integer,
    /** `2026-10` */
    month: string,
    /** The hash of the last event. */
    hash: string,
    /** The numbers of the events that stay, because a rule needs them. */
    kept: string,
    /** The newest line about each row that changed in these events, compressed (events/removed.ts). */
    lines: string,
    /** The SHA-256 of these events in the export, and the name of its file. */
    digest: string,
    file: string,
    person_id: orNull(string),
    removed_at: integer,
    /** A keyed hash of all columns above. */
    seal: string,
  },
};
