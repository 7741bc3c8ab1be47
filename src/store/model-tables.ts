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
  /** How long a provider can't be asked, and how much of its windows is used (gateway/states.ts). */
  provider_limits: {
    company_id: string,
    provider: string,
    /** Empty for the provider itself, otherwise the name of a window. */
    name: string,
    cause: oneOf(["refused", "waiting", "window"]),
    says: string,
    /** Percent of a window. */
    used: integer,
    until_at: integer,
    /** The length of the last wait after a refusal. */
    wait: integer,
    /** A hash of the refused key. */
    key_hash: orNull(string),
  },
  /** The calls of sessions to models, one row each. */
  model_calls: {
    id: string,
    company_id: string,
    session_id: string,
    agent_id: string,
    outcome_id: orNull(string),
    provider: string,
    model: string,
    status: oneOf(["open", "done", "cut", "failed"]),
    /** The most that the call can cost. Money is in millionths of a dollar. */
    most_tokens: integer,
    most_usd: integer,
    /** Without tokens read from a cache or written to it. */
    input_tokens: integer,
    output_tokens: integer,
    cache_read_tokens: integer,
    cache_write_tokens: integer,
    cost: integer,
    started_at: integer,
    ended_at: orNull(integer),
  },
};
