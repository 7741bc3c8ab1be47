import { type BudgetLine, type Cost, listCosts } from "../contract/budgets.ts";
import type { Output } from "../contract/operation.ts";
import { dollars, plural, thousands } from "../contract/phrases.ts";
import { viewOrg } from "../contract/roster.ts";
import { why } from "../contract/outcomes.ts";
import { table } from "./show.ts";

/** Commands whose result needs more than the general table (show.ts). Each gets the operation's output. */
export const screens: Readonly<Record<string, (output: unknown) => string>> = {
  costs: (output) => drawCosts(output),
  org: (output) => drawOrg(viewOrg.output.parse(output)),
  why: (output) => drawWhy(output),
};

function drawCosts(output: unknown): string {
  const { month, by, total, budget, storage, costs, nextCursor } = listCosts.output.parse(output);
  const below = by === "agent" ? "with its team" : "with its parts";
  return [
    `Spent in ${month}: ${costText(total)}`,
    "",
    table("budget", budget.map(budgetRow)),
    "",
    `Stored: ${megabytes(storage.bytes)} of ${megabytes(storage.maxBytes)}`,
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

const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MB`;

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

/** Agents arrive in the order of the tree. An agent is drawn with "└─" if no other follows at the same depth. */
export function drawOrg({ agents, truncated }: Output<typeof viewOrg>): string {
  const lines: string[] = [];
  /** For each depth: does another agent follow there? */
  const open: boolean[] = [];
  for (const [index, agent] of agents.entries()) {
    const { depth } = agent;
    const next = agents.slice(index + 1).find((other) => other.depth <= depth);
    const isLast = next?.depth !== depth;
    open[depth] = !isLast;
    const trunk = open
      .slice(1, depth)
      .map((below) => (below ? "│  " : "   "))
      .join("");
    const branch = depth === 0 ? "" : isLast ? "└─ " : "├─ ";
    const title = agent.title === null ? agent.role : `${agent.role}, ${agent.title}`;
    lines.push(`${trunk}${branch}${agent.name} (${title}) [${agent.status}] ${agent.says}`);
  }
  if (truncated) lines.push(`… and more. Only the first ${agents.length} agents are shown.`);
  return lines.join("\n");
}
