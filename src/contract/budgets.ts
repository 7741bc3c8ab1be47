import { z } from "zod";
import { operation } from "./operation.ts";
import {
  AgentRef,
  CompanyId,
  count,
  hiddenInTools,
  Flag,
  idOf,
  nextCursor,
  numeric,
  Page,
  shownInTools,
  Reference,
  whole,
} from "./words.ts";

/** Budgets and costs. Money is in US dollars in requests and answers, and in millionths of a dollar in the store. */

export const measures = ["usd", "tokens", "sessions"] as const;
export type Measure = (typeof measures)[number];

const Usd = z.number().min(0).max(1e9).describe("US dollars.");
const Tokens = count(0, 1e15).describe("Input and output tokens.");
const Sessions = count(0, 1e9).describe("Number of sessions.");

/** The budget of an agent. A measure that is left out is drawn from the nearest budget above the agent. */
export const Budget = z
  .strictObject({ usd: Usd, tokens: Tokens, sessions: Sessions })
  .partial()
  .register(shownInTools, { type: "object" });

/** A measure that is left out stays the same; null removes it. */
export const BudgetChange = z
  .strictObject({ usd: Usd.nullable(), tokens: Tokens.nullable(), sessions: Sessions.nullable() })
  .partial()
  .register(shownInTools, { type: "object" });
export type BudgetChange = z.infer<typeof BudgetChange>;

export const MonthlyBudget = BudgetChange.describe(
  'Limit for the company in a calendar month (UTC), for example {"usd": 100}. 0 stops all spending. Null means no limit.',
);

export const OutcomeLimit = Usd.nullable().describe(
  "Limit for the cost of one outcome in US dollars, with everything below it and over all months. Work on an outcome that reaches the limit is blocked until the limit is raised. A goal with its own budget in dollars has that budget instead. Null: no limit.",
);

export const SessionBudget = z
  .strictObject({ usd: Usd.positive(), tokens: Tokens.positive() })
  .partial()
  .describe("The amount reserved before a session starts, and again each time the session has used it.");

/** The usage that a brain reports so far, consultants included. budgets/ checks whether it can be true. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
  /** The part that consultants used. */
  readonly consultants?: Omit<Usage, "consultants">;
}

export const BudgetLine = z.object({
  measure: z.enum(measures),
  limit: z.number().nullable().describe("Limit for the month. Null: no limit."),
  spent: z.number().describe("Spent this month by agents that draw from this budget."),
  reserved: z.number().describe("Reserved for running sessions."),
  handedDown: z.number().describe("Given to agents below as separate budgets."),
  left: z.number().nullable().describe("Amount that can still be spent or given. Null: no limit."),
});
export type BudgetLine = z.infer<typeof BudgetLine>;

const OutcomeBudgetLine = BudgetLine.pick({ measure: true }).extend({
  limit: z.number(),
  spent: z.number(),
  left: z.number(),
  own: z.boolean().describe("True for the budget of a goal, false for the company's limit for one outcome."),
});
export type OutcomeBudgetLine = z.infer<typeof OutcomeBudgetLine>;

export const setBudget = operation("agent.set_budget", "PUT /api/agents/:id/budget", {
  summary: "Give an agent its own monthly budget, taken from the budget above it.",
  guidance:
    "Use it to limit a report, or to give a report a larger share. Where a limit is null, the agent shares the budget above.",
  input: z.strictObject({
    id: idOf("agent").describe("UUID of your direct report."),
    usd: numeric(Usd).nullable().optional().describe("US dollars per month. Default: unchanged."),
    tokens: whole(0, 1e15).nullable().optional().describe("Tokens per month. Default: unchanged."),
    sessions: whole(0, 1e9).nullable().optional().describe("Sessions per month. Default: unchanged."),
  }),
  output: z.object({ agent: AgentRef, budget: z.array(BudgetLine) }),
  needs: "member",
  mcp: { server: "org", tool: "set_budget", for: ["manager"] },
  cli: { command: "agents budget <id>", example: "ada --usd 5" },
});

export const Use = z.object({ inputTokens: z.number(), outputTokens: z.number(), costUsd: z.number() });
export const Cost = Use.extend({
  sessions: z.number(),
  consultants: Use.describe("The part used by sub-agents of the sessions."),
});
export type Cost = z.infer<typeof Cost>;

export const listCosts = operation("cost.list", "GET /api/companies/:companyId/costs", {
  summary: "Show the costs of a month, by agent or by outcome, highest first.",
  guidance:
    "Use it to see where the money goes. The answer covers you and the agents below you, and the rest of your budget.",
  input: z.strictObject({
    companyId: CompanyId,
    month: z
      .string()
      .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "a month such as 2030-01")
      .optional()
      .describe("Month in UTC, such as `2030-01`. Default: this month."),
    by: z
      .enum(["agent", "outcome"])
      .default("agent")
      .describe("One row for each agent, or for each outcome. Default `agent`."),
    agent: idOf("agent")
      .optional()
      .describe("Only this agent (UUID) and the agents below it. Default: all agents.")
      .register(hiddenInTools, {}),
    days: Flag.optional()
      .describe("true adds the cost of each day of the month. Default false.")
      .register(hiddenInTools, {}),
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
        "Size of all versions, messages and commits: those the agent wrote, or for the board all of the company.",
      ),
    costs: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        own: Cost.describe("Sessions of this agent, or sessions that started with this outcome."),
        total: Cost.describe("With everything that was below it when the cost arose."),
        lastMonthUsd: z.number().describe("`total` of the month before, in US dollars."),
        budget: z
          .array(OutcomeBudgetLine)
          .optional()
          .describe(
            "Only for outcomes: the limits of each over all months, with everything below it. Empty: no limit.",
          ),
      }),
    ),
    months: z
      .array(z.object({ month: z.string(), total: Cost }))
      .describe("The cost of each of the last 24 months, newest first."),
    days: z
      .array(
        z.object({
          day: z.string().describe("In UTC, such as `2030-01-15`."),
          total: Cost,
          agents: z
            .array(z.object({ id: z.string(), name: z.string(), costUsd: z.number() }))
            .describe("The own costs of the five agents that spent most in the month."),
        }),
      )
      .optional()
      .describe("The days with costs, in order. Only if `days` is true."),
    nextCursor,
  }),
  needs: "member",
  mcp: { server: "org", tool: "view_costs", for: ["manager"] },
  cli: { command: "costs", example: "--month 2030-01 --by outcome --days" },
});

export const listBudgets = operation("budget.list", "GET /api/companies/:companyId/budgets", {
  summary: "List all budgets of this month, with the amounts spent, reserved, given to reports and left.",
  guidance:
    "The board sees the company's budget first. An agent sees its own budget and those of the agents below it.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({
    month: z.string(),
    budgets: z.array(
      z.object({
        of: Reference.describe("The company, or the agent that has this budget."),
        budget: z.array(BudgetLine).describe("Only the measures that this budget limits."),
      }),
    ),
  }),
  needs: "member",
  cli: { command: "budgets" },
});
