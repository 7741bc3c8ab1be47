import type { Command } from "commander";
import { whyMany } from "../contract/finding.ts";
import type { Output } from "../contract/operation.ts";
import { why } from "../contract/why.ts";
import { idNamed } from "./resolving.ts";
import { clientOf, type Context, print } from "./terminal.ts";
import { companyFlag, example, jsonFlag } from "./texts.ts";

export function addWhy(program: Command, context: Context): void {
  program
    .command("why")
    .description(why.summary)
    .argument(
      "<ids...>",
      "Agents (id, slug or name) or outcomes (id, short id or title), up to 100 of one company.",
    )
    .option(...companyFlag)
    .option(...jsonFlag)
    .addHelpText("after", example("agency why ada", "agency why ada O41"))
    .action(async (given: string[], flags: { company?: string; json?: true }) => {
      const client = clientOf(context.env);
      const ids: string[] = [];
      for (const name of given)
        ids.push(await idNamed(context, client, "agent or outcome", name, flags.company));
      const [id] = ids;
      if (id !== undefined && ids.length === 1) {
        const answer = await client.call(why, { id });
        return print(context, flags, answer, drawWhy(answer));
      }
      const found = await client.call(whyMany, { ids: ids.join(",") });
      const missing = found.missing.map((each) => `There is no agent or outcome ${each}.`);
      print(context, flags, found, [...found.answers.map(drawWhy), ...missing].join("\n\n"));
    });
}

function drawWhy({ moves, says, path, references, next }: Output<typeof why>): string {
  const steps = new Set(path.map(({ id }) => id));
  const others = references.flatMap(({ kind, id, title }) =>
    id === null || steps.has(id) ? [] : [`  ${kind}: ${title ?? ""} (${id})`],
  );
  return [
    `${moves ? "Moving" : "Stuck"}. ${says}`,
    ...path.map(({ id, what }) => `  ${what} (${id})`),
    ...others,
    ...next.flatMap(({ command }) => (command === null ? [] : [`To settle it: ${command}`])),
  ].join("\n");
}
