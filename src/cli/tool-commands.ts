import type { Operation } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";

/**
 * Messages and refusals name the tools of agents. A person at the command line uses commands instead. This returns a line for
 * each tool in the text: `decide_outcome is: agency decide <id> <verdict>`.
 */
export function commandsForTools(text: string): string[] {
  const words = new Set(text.match(/\b[a-z]+(?:_[a-z]+)+\b/g));
  return operations.flatMap((operation) => {
    const { mcp } = operation;
    if (mcp === undefined || !words.has(mcp.tool)) return [];
    const command = composed[mcp.tool] ?? commandOf(operation);
    const isSaid = command === undefined || text.includes(`agency ${command.replace(/ <.*/, "")}`);
    return isSaid ? [] : [`${mcp.tool} is: agency ${command}`];
  });
}

/** Tools whose command makes more than one call, so no operation declares it. */
const composed: Readonly<Record<string, string>> = {
  hire_agent: "hire",
  view_approval: "approvals show <id>",
  approval_timeline: "approvals show <id>",
};

function commandOf(operation: Operation): string | undefined {
  const { cli } = operations.find(({ fromPosition }) => fromPosition === operation) ?? operation;
  if (cli === undefined) return undefined;
  return [cli.command.replace(/ list$/, ""), ...(cli.args ?? []).map((key) => `<${key}>`)].join(" ");
}
