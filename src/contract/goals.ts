import { z } from "zod";
import { Budget, BudgetChange } from "./budgets.ts";
import { operation } from "./operation.ts";
import { Acceptance, Description, countedOutput, Outcome, Status } from "./outcomes.ts";
import { CompanyId, idOf, Page, Title } from "./words.ts";

/** Goals: outcomes that the board wants, owned by the root agent and verified by the board. */

const Goal = Outcome.extend({
  depth: z.number().describe("Number of delegations between the goal and this outcome. 0 for a goal."),
});

export const createGoal = operation("goal.create", "POST /api/companies/:companyId/goals", {
  summary: "Create a goal for the company.",
  guidance:
    "Use it to give the company work. For a question, use send_message. The root agent becomes responsible for the goal, divides it and submits the result. The board then accepts the result, or sends it back with a note.",
  input: z.strictObject({
    companyId: CompanyId,
    title: Title.describe("The result to reach, in one line of up to 300 characters."),
    description: Description.optional().describe(
      "Details, as Markdown, up to 100,000 characters. Default: none.",
    ),
    acceptance: Acceptance.optional().describe("Criteria for verifying the result, up to 20,000 characters."),
    budget: Budget.optional().describe(
      'Limit for all work on this goal, such as {"usd": 5}. Work stops when the budget is used up. Default: no limit.',
    ),
  }),
  output: Goal,
  mcp: { server: "outcome", tool: "give_goal", for: ["person"] },
  cli: {
    command: "goals create <title>",
    example: `"A guide to baking bread is published" --budget 5`,
  },
});

export const listGoals = operation("goal.list", "GET /api/companies/:companyId/goals", {
  summary: "List the goals of a company, newest first.",
  guidance: "A submitted goal waits for the board. Accept it or send it back with decide_outcome.",
  input: z.strictObject({ companyId: CompanyId, status: Status, ...Page }),
  output: countedOutput,
  mcp: { server: "outcome", tool: "list_goals", for: ["person"] },
  cli: { command: "goals list", example: "--status open" },
});

export const setGoalBudget = operation("goal.set_budget", "PUT /api/outcomes/:id/budget", {
  summary: "Change the budget of a goal, which limits all work on the goal.",
  guidance: "Work that stopped because the budget was used up continues if the new budget allows it.",
  input: z.strictObject({
    id: idOf("outcome"),
    budget: BudgetChange.describe(
      'New limits, such as {"usd": 10}. Null removes a limit. Limits you leave out stay as they are.',
    ),
  }),
  output: Outcome,
  cli: { command: "goals budget <id>", example: "O41 --budget 10" },
});
