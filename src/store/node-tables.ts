import { z } from "zod";
import { integer, json, orNull, string } from "./columns.ts";

/** What the nodes know about each other, as a part of schema.ts. */
export const nodeTables = {
  /** The daemons that share this database. Each renews its row together with its leases (runtime/heart.ts). */
  nodes: {
    id: string,
    name: string,
    address: string,
    version: string,
    /** The most sessions that it runs at the same time. Null: no limit. 0: it starts none. */
    capacity: orNull(integer),
    /** The types of brains that it can start. */
    brains: json(z.array(z.string())),
    /** Programs of brains that it looked for and lacks. */
    lacks: json(z.array(z.string())),
    /** Why its last start of a session failed, if the node itself was the reason. */
    trouble: orNull(string),
    started_at: integer,
    heartbeat: integer,
  },
  /** The contents of transcripts, for nodes without the file (processes/shared-transcripts.ts). */
  transcript_chunks: {
    session_id: string,
    /** The place of the first byte, and the number of bytes. */
    start_byte: integer,
    bytes: integer,
    text: string,
  },
};
