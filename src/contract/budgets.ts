import { z } from "zod";
import { operation } from "./operation.ts";
import { AgentRef, CompanyId, count, idOf, nextCursor, numeric, Page, whole } from "./words.ts";

/** Budgets and costs. Money is in US dollars in requests and answers, and in millionths of a dollar in the store. */

export const measures = ["usd", "tokens", "sessions"] as const;
export type Measure = (typeof measures)[number];

const Usd = z.number().min(0).max(1e9).describe("US dollars.");
const Tokens = count(0, 1e15).describe("Input and output tokens.");
const Sessions = count(0, 1e9).describe("Number of sessions.");

/** The budget of an agent. A measure that is left out is drawn from the nearest budget above the agent. */
export const Budget = z.strictObject({ usd: Usd, tokens: Tokens, sessions: Sessions }).partial();

/** A measure that is left out stays as it is; null removes it. */
export const BudgetChange = z
  .strictObject({ usd: Usd.nullable(), tokens: Tokens.nullable(), sessions: Sessions.nullable() })
  .partial();
export type BudgetChange = z.infer<typeof BudgetChange>;

export const MonthlyBudget = BudgetChange.describe(
  'What the company may spend in a calendar month (UTC), for example {"usd": 100}. 0 stops all spending; null means no limit.',
);

export const SessionBudget = z
  .strictObject({ usd: Usd.positive(), tokens: Tokens.positive() })
  .partial()
  .describe("The amount reserved before a session starts, and again each time the session has used it.");

const BudgetLine = z.object({
  measure: z.enum(measures),
  limit: z.number().nullable().describe("Limit for the month. Null: no limit."),
  spent: z.number().describe("Spent this month by agents that draw from this budget."),
  reserved: z.number().describe("Reserved for running sessions."),
  handedDown: z.number().describe("Given to agents below as budgets of their own."),
  left: z.number().nullable().describe("What can still be spent or given. Null: no limit."),
});
export type BudgetLine = z.infer<typeof BudgetLine>;

export const setBudget = operation("agent.set_budget", "PUT /api/agents/:id/budget", {
  summary: "Give an agent its own monthly budget, taken from the budget above it.",
  guidance:
    'Managers use it for their direct reports; the board can use it for any agent. Measures you leave out stay as they are, and null removes one: the agent then shares the budget above it. Returns the agent\'s limits with what is spent, reserved and left. Example: {"id": "<agent id>", "usd": 5}.',
  input: z.strictObject({
    id: idOf("agent").describe("Id of the agent, your direct report (UUID)."),
    usd: numeric(Usd)
      .nullable()
      .optional()
      .describe("US dollars per calendar month (UTC). Null removes the limit. Default: unchanged."),
    tokens: whole(0, 1e15)
      .nullable()
      .optional()
      .describe("Input and output tokens per month. Null removes the limit. Default: unchanged."),
    sessions: whole(0, 1e9)
      .nullable()
      .optional()
      .describe("Sessions per month. Null removes the limit. Default: unchanged."),
  }),
  output: z.object({ agent: AgentRef, budget: z.array(BudgetLine) }),
  needs: "member",
  mcp: { server: "org", tool: "set_budget" },
  cli: { command: "agents budget <id>", example: "ada --usd 5" },
});

export const Use = z.object({ inputTokens: z.number(), outputTokens: z.number(), costUsd: z.number() });
const Cost = Use.extend({
  sessions: z.number(),
  consultants: Use.describe("The part used by sub-agents of the sessions."),
});
export type Cost = z.infer<typeof Cost>;

export const listCosts = operation("cost.list", "GET /api/companies/:companyId/costs", {
  summary: "Show what was spent in a month, by agent or by outcome.",
  guidance:
    "Each row has its own costs and a total with everything below it. An agent sees itself and the agents below it; the board sees the whole company. Also returns the current budget with what is left, so call it before you hire or delegate costly work.",
  input: z.strictObject({
    companyId: CompanyId,
    month: z
      .string()
      .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "a month such as 2030-01")
      .optional()
      .describe("Calendar month in UTC, such as `2030-01`. Default: the current month."),
    by: z.enum(["agent", "outcome"]).default("agent").describe("What each row stands for. Default `agent`."),
    agent: idOf("agent")
      .optional()
      .describe("Only this agent and the agents below it (UUID). Default: all you can see."),
    ...Page,
  }),
  output: z.object({
    month: z.string(),
    by: z.enum(["agent", "outcome"]),
    total: Cost,
    budget: z
      .array(BudgetLine)
      .describe("The budget as it is now. For an agent, only the measures it has its own limit for."),
    storage: z
      .object({ bytes: z.number(), maxBytes: z.number() })
      .describe(
        "What all versions and messages take: those the agent wrote, or for the board all of the company.",
      ),
    costs: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        own: Cost.describe("Sessions of this agent, or sessions that started with this outcome."),
        total: Cost.describe("With everything that was below it when the cost arose."),
      }),
    ),
    nextCursor,
  }),
  needs: "member",
  mcp: { server: "org", tool: "view_costs" },
  cli: { command: "costs", example: "--month 2030-01 --by outcome" },
});
