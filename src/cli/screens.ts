import { type BudgetLine, type Cost, listCosts } from "../contract/budgets.ts";
import { dollars, plural, thousands } from "../contract/phrases.ts";
import { why } from "../contract/why.ts";
import { table } from "./show.ts";

/** Commands whose result needs more than the general table (show.ts). Each gets the operation's output. */
export const screens: Readonly<Record<string, (output: unknown) => string>> = {
  costs: (output) => drawCosts(output),
  why: (output) => drawWhy(output),
};

function drawCosts(output: unknown): string {
  const { month, by, total, budget, costs, nextCursor } = listCosts.output.parse(output);
  const below = by === "agent" ? "with its team" : "with its parts";
  return [
    `Spent in ${month}: ${costText(total)}`,
    "",
    table("budget", budget.map(budgetRow)),
    "",
    table(
      "costs",
      costs.map((cost) => ({
        [`by ${by}`]: cost.name,
        own: costText(cost.own),
        [below]: costText(cost.total),
      })),
    ),
    ...(nextCursor === null ? [] : [`For more, add: --cursor "${nextCursor}"`]),
  ].join("\n");
}

function budgetRow({ measure, limit, spent, reserved, handedDown, left }: BudgetLine) {
  const text = (amount: number | null): string => {
    if (amount === null) return "no limit";
    return measure === "usd" ? dollars(amount) : measure === "tokens" ? thousands(amount) : String(amount);
  };
  return {
    budget: measure === "usd" ? "money" : measure,
    limit: text(limit),
    spent: text(spent),
    reserved: text(reserved),
    "given to reports": text(handedDown),
    left: text(left),
  };
}

const costText = ({ costUsd, inputTokens, outputTokens, sessions }: Cost): string =>
  `${dollars(costUsd)}, ${thousands(inputTokens + outputTokens)} tokens, ${plural(sessions, "session")}`;

function drawWhy(output: unknown): string {
  const { moves, says, path } = why.output.parse(output);
  const steps = path.map(({ id, what }) => `  ${what} (${id})`);
  return [`${moves ? "Moving" : "Stuck"}. ${says}`, ...steps].join("\n");
}
