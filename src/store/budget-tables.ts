import { measures } from "../contract/budgets.ts";
import { flag, integer, oneOf, orNull, string } from "./columns.ts";

/** The tables of budgets/. A part of schema.ts. */
export const budgetTables = {
  /** The budgets of active agents, one row for each part. Amounts are as in budgets/budget.ts. */
  budgets: {
    agent_id: string,
    measure: oneOf(measures),
    company_id: string,
    amount: integer,
  },
  /** The amounts reserved for a session, until it has ended and its process is gone. */
  reservations: {
    session_id: string,
    measure: oneOf(measures),
    pool_id: string,
    amount: integer,
  },
  /** The spending of a pool (of an agent or the company) in a month. */
  charges: {
    pool_id: string,
    month: string,
    measure: oneOf(measures),
    amount: integer,
  },
  /** The effects of a pool in a month: the notice that it runs out, and the approval that was asked for. */
  budget_alerts: {
    pool_id: string,
    month: string,
    kind: string,
    approval_id: orNull(string),
  },
  /** Agents that a used-up pool has paused. */
  budget_pauses: {
    agent_id: string,
    company_id: string,
    pool_id: string,
  },
  /** Sums of costs per agent and outcome. Each report of usage adds to them. */
  costs: {
    kind: oneOf(["agent", "outcome"]),
    id: string,
    /** A month such as 2030-01. The own costs of an agent also have each day, such as 2030-01-15. */
    period: string,
    /** 1: its own costs; 0: including everything below it. */
    own: flag,
    company_id: string,
    usd: integer,
    input_tokens: integer,
    output_tokens: integer,
    sessions: integer,
    consultant_usd: integer,
    consultant_input_tokens: integer,
    consultant_output_tokens: integer,
  },
} as const;
