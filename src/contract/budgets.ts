import { z } from "zod";
import { operation } from "./operation.ts";
import { AgentRef, CompanyId, Id, nextCursor, numeric, Page, whole } from "./words.ts";

/** What may be spent, and what was. Money is in US dollars outside and in millionths of them inside. */

export const measures = ["usd", "tokens", "sessions"] as const;
export type Measure = (typeof measures)[number];

const Usd = z.number().min(0).max(1e9);
const Tokens = z.number().int().min(0).max(1e15);
const Sessions = z.number().int().min(0).max(1e9);

/** Of an agent: what is not said it takes from whoever has a budget above it. */
export const Budget = z.strictObject({
  usd: Usd.optional(),
  tokens: Tokens.optional(),
  sessions: Sessions.optional(),
});

/** What is not said stays as it is; null takes that part away. */
export const BudgetChange = z.strictObject({
  usd: Usd.nullable().optional(),
  tokens: Tokens.nullable().optional(),
  sessions: Sessions.nullable().optional(),
});
export type BudgetChange = z.infer<typeof BudgetChange>;

export const MonthlyBudget = z
  .strictObject({ usd: Usd.nullable(), tokens: Tokens.nullable(), sessions: Sessions.nullable() })
  .partial()
  .describe("What the company may spend in a calendar month (UTC); 0: nothing, null: as much as it takes.");

export const SessionBudget = z
  .strictObject({ usd: Usd.positive(), tokens: Tokens.positive() })
  .partial()
  .describe("What is set aside for a session before it starts, and again whenever that is used.");

const BudgetLine = z.object({
  measure: z.enum(measures),
  limit: z.number().nullable().describe("In a month; null: no limit."),
  spent: z.number().describe("This month, by whoever has no budget of its own below."),
  reserved: z.number().describe("Set aside for sessions that run."),
  handedDown: z.number().describe("The budgets of agents below."),
  left: z.number().nullable(),
});
export type BudgetLine = z.infer<typeof BudgetLine>;

export const setBudget = operation({
  name: "agent.set_budget",
  summary:
    "Give an agent a monthly budget of its own, out of the one above it; null takes it away. Its boss or the board.",
  input: z.strictObject({
    id: Id,
    usd: numeric(Usd).nullable().optional().describe("US dollars."),
    tokens: whole(0, 1e15).nullable().optional().describe("Tokens, in and out."),
    sessions: whole(0, 1e9).nullable().optional(),
  }),
  output: z.object({ agent: AgentRef, budget: z.array(BudgetLine) }),
  effect: "write",
  within: { agent: "id" },
  needs: "member",
  http: { method: "PUT", path: "/api/agents/:id/budget" },
  mcp: { server: "org", tool: "set_budget" },
  cli: { command: "agents budget", args: ["id"] },
});

export const Use = z.object({ inputTokens: z.number(), outputTokens: z.number(), costUsd: z.number() });
const Cost = Use.extend({
  sessions: z.number(),
  consultants: Use.describe("The part of it that sub-agents of the sessions used."),
});
export type Cost = z.infer<typeof Cost>;

export const listCosts = operation({
  name: "cost.list",
  summary:
    "What was spent in a month, by agent or by outcome, each with all that is below it. An agent sees its own part.",
  input: z.strictObject({
    companyId: CompanyId,
    month: z
      .string()
      .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "a month, such as 2030-01")
      .optional()
      .describe("Such as 2030-01, in UTC; default this one."),
    by: z.enum(["agent", "outcome"]).default("agent"),
    agent: Id.optional().describe("Only the part of this agent and everybody below it."),
    ...Page,
  }),
  output: z.object({
    month: z.string(),
    by: z.enum(["agent", "outcome"]),
    total: Cost,
    budget: z.array(BudgetLine).describe("As it is now; of an agent, the parts it has of its own."),
    costs: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        own: Cost.describe("Of sessions of this agent, or that had this outcome first."),
        total: Cost.describe("With everything below, as things stood when it was spent."),
      }),
    ),
    nextCursor,
  }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId/costs" },
  mcp: { server: "org", tool: "view_costs" },
  cli: { command: "costs" },
});
