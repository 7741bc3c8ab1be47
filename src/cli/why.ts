import type { Command } from "commander";
import type { Client } from "../client/client.ts";
import { viewAgent } from "../contract/agents.ts";
import { viewAttention } from "../contract/attention.ts";
import { whyMany } from "../contract/finding.ts";
import type { Output } from "../contract/operation.ts";
import { viewOutcome } from "../contract/outcomes.ts";
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
        const helps = flags.json === true ? [] : await commandsThatHelp(client, answer);
        return print(context, flags, answer, drawWhy(answer, helps));
      }
      const found = await client.call(whyMany, { ids: ids.join(",") });
      const missing = found.missing.map((each) => `There is no agent or outcome ${each}.`);
      print(
        context,
        flags,
        found,
        [...found.answers.map((answer) => drawWhy(answer)), ...missing].join("\n\n"),
      );
    });
}

/** The commands that settle what the thing waits for: those of the item of the attention list that its path ends at. */
async function commandsThatHelp(
  client: Client,
  { path, references, state }: Output<typeof why>,
): Promise<string[]> {
  if (state !== "stuck" && state !== "waiting") return [];
  const outcome = path.findLast(({ kind }) => kind === "outcome")?.id;
  const named = new Set([...path, ...references].map(({ id }) => id));
  try {
    const found = await client.call(viewAttention, { ...(outcome !== undefined && { outcome }), limit: 100 });
    const item = found.items.find(({ subject }) => outcome !== undefined || named.has(subject.id));
    return item?.abilities.flatMap(({ command }) => command ?? []) ?? (await commandFor(client, path.at(-1)));
  } catch {
    // With several companies the call has to name one. The thing itself still says what helps.
    return commandFor(client, path.at(-1));
  }
}

/** What helps the agent or the outcome that the path ends at, if the attention list leaves it to the agents. */
async function commandFor(
  client: Client,
  last: Output<typeof why>["path"][number] | undefined,
): Promise<string[]> {
  if (last?.kind === "agent") {
    const { slug, status } = await client.call(viewAgent, { id: last.id });
    return [status === "paused" ? `agency agents resume ${slug}` : `agency agents view ${slug}`];
  }
  if (last?.kind !== "outcome") return [];
  const { id, blocked, responsible } = await client.call(viewOutcome, { id: last.id });
  if (blocked !== null) return [`agency unblock ${id}`];
  return [responsible === null ? `agency outcomes delegate ${id} <agent>` : `agency outcomes view ${id}`];
}

function drawWhy(
  { moves, says, path, references }: Output<typeof why>,
  helps: readonly string[] = [],
): string {
  const steps = new Set(path.map(({ id }) => id));
  const others = references.flatMap(({ kind, id, title }) =>
    id === null || steps.has(id) ? [] : [`  ${kind}: ${title ?? ""} (${id})`],
  );
  return [
    `${moves ? "Moving" : "Stuck"}. ${says}`,
    ...path.map(({ id, what }) => `  ${what} (${id})`),
    ...others,
    ...helps.map((command) => `To settle it: ${command}`),
  ].join("\n");
}
