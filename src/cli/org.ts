import type { Command } from "commander";
import { type Position, viewOrg } from "../contract/roster.ts";
import { clientOf, companyOf, type Context } from "./terminal.ts";
import { companyFlag, jsonFlag } from "./texts.ts";

export function addOrg(program: Command, context: Context): void {
  program
    .command("org")
    .description("Show who reports to whom, and what each agent is doing.")
    .option(...companyFlag)
    .option(...jsonFlag)
    .action(async (flags: { company?: string; json?: true }) => {
      const client = clientOf(context.env);
      const org = await client.call(viewOrg, { companyId: await companyOf(client, flags.company) });
      context.terminal.out(flags.json === true ? JSON.stringify(org) : drawOrg(org));
    });
}

/** Agents arrive in the order of the tree. An agent is drawn with "└─" if no other follows at the same depth. */
export function drawOrg({ agents, truncated }: { agents: readonly Position[]; truncated: boolean }): string {
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
