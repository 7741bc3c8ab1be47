import type { Command } from "commander";
import { type Position, viewOrg } from "../contract/roster.ts";
import { clientOf, companyOf, type Context } from "./terminal.ts";

export function addOrg(program: Command, context: Context): void {
  program
    .command("org")
    .description("Who reports to whom, and what each is doing or waiting for.")
    .option("--company <id or name>", "The company, when there are several.")
    .option("--json", "Print the answer as JSON.")
    .action(async (flags: { company?: string; json?: true }) => {
      const client = clientOf(context.env);
      const org = await client.call(viewOrg, { companyId: await companyOf(client, flags.company) });
      context.terminal.out(flags.json === true ? JSON.stringify(org) : drawOrg(org));
    });
}

/** They come in the order of the tree; whether another follows at the same depth says which branch is drawn. */
export function drawOrg({ agents, truncated }: { agents: readonly Position[]; truncated: boolean }): string {
  const lines: string[] = [];
  /** At each depth: does another follow there? */
  const open: boolean[] = [];
  for (const [index, agent] of agents.entries()) {
    const { depth } = agent;
    const next = agents.slice(index + 1).find((other) => other.depth <= depth);
    const goesOn = next?.depth === depth;
    open[depth] = goesOn;
    const trunk = open
      .slice(1, depth)
      .map((below) => (below ? "│  " : "   "))
      .join("");
    const branch = depth === 0 ? "" : goesOn ? "├─ " : "└─ ";
    const title = agent.title === null ? agent.role : `${agent.role}, ${agent.title}`;
    lines.push(`${trunk}${branch}${agent.name} (${title}) [${agent.status}] ${agent.says}`);
  }
  if (truncated) lines.push("… and more");
  return lines.join("\n");
}
