import { ProviderConfig } from "../contract/providers.ts";
import { integer, json, oneOf, orNull, string } from "./columns.ts";

/** The tables about models, as a part of schema.ts. */
export const modelTables = {
  providers: {
    company_id: string,
    name: string,
    config: json(ProviderConfig),
    created_at: integer,
  },
  /** What sessions asked models, each call once. */
  model_calls: {
    id: string,
    company_id: string,
    session_id: string,
    agent_id: string,
    outcome_id: orNull(string),
    provider: string,
    model: string,
    status: oneOf(["open", "done", "cut", "failed"]),
    /** The most it can cost. Money is in millionths of a dollar. */
    most_tokens: integer,
    most_usd: integer,
    /** Without what was read from a cache or written to it. */
    input_tokens: integer,
    output_tokens: integer,
    cache_read_tokens: integer,
    cache_write_tokens: integer,
    cost: integer,
    started_at: integer,
    ended_at: orNull(integer),
  },
};
