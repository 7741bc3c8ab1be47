import type { Operation } from "./operation.ts";
import { operations } from "./operation-table.ts";

/**
 * The tool and the command that list the ids of a noun. Undefined if nothing lists them. A noun may combine two, as in "agent
 * or outcome".
 */
export function howToFind(noun: string): string | undefined {
  const tools = firstOfEach(noun, ({ mcp }) => mcp !== undefined).map(({ mcp }) => mcp?.tool ?? "");
  const commands = commandsThatList(noun);
  if (tools.length === 0)
    return commands.length === 0 ? undefined : `Run ${commands.join(" or ")} to see them.`;
  const run = commands.length === 0 ? "" : `, or run ${commands.join(" or ")},`;
  return `Call ${tools.join(" or ")}${run} to see them.`;
}

export function commandsThatList(noun: string): string[] {
  return firstOfEach(noun, ({ cli }) => cli !== undefined).map(commandOf);
}

function firstOfEach(noun: string, has: (operation: Operation) => boolean): Operation[] {
  return noun
    .split(" or ")
    .flatMap((one) => operations.find((each) => each.lists === one && has(each)) ?? []);
}

/** A noun alone lists everything, so `list` is left out. A command's id is shown as its noun. */
function commandOf({ cli, within }: Operation): string {
  const nouns = new Map(
    Object.entries(typeof within === "object" ? within : {}).map(([noun, key]) => [key, noun]),
  );
  const args = (cli?.args ?? []).map((key) => `<${nouns.get(key) ?? key}>`);
  const command = args.length === 0 ? cli?.command.replace(/ list$/, "") : cli?.command;
  return `\`${["agency", command, ...args].join(" ")}\``;
}
