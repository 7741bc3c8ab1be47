import type { Command } from "commander";
import { applyReorganization, type Move, planReorganization } from "../contract/reorganization.ts";
import { clientOf, companyOf, type Context } from "./terminal.ts";

/** `agency fire`: lets an agent go and says what moved; with --plan only what would. */
interface Flags {
  readonly company?: string;
  readonly reason?: string;
  readonly plan?: true;
  readonly json?: true;
}

export function addFire(program: Command, context: Context): void {
  program
    .command("fire")
    .description(
      "Let an agent go. Its reports, its work and its mail go to its boss; agency reorg undo brings it back.",
    )
    .argument("<agent>", "Its id or slug.")
    .option("--company <id or name>", "The company, when there are several.")
    .option("--reason <text>", "Why.")
    .option("--plan", "Only show what would move.")
    .option("--json", "Print the answer as JSON.")
    .action((agent: string, flags: Flags) => fire(context, agent, flags));
}

async function fire(context: Context, agent: string, flags: Flags): Promise<void> {
  const { out } = context.terminal;
  const client = clientOf(context.env);
  const companyId = await companyOf(client, flags.company);
  const change = {
    kind: "fire" as const,
    agent,
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
  };
  if (flags.plan === true) {
    const plan = await client.call(planReorganization, { companyId, change });
    return out(flags.json === true ? JSON.stringify(plan) : linesOf(plan.moves, plan.warnings).join("\n"));
  }
  const done = await client.call(applyReorganization, { companyId, change });
  out(
    flags.json === true
      ? JSON.stringify(done)
      : [`${done.summary}.`, ...linesOf(done.moves, done.warnings), `agency reorg undo ${done.id}`].join(
          "\n",
        ),
  );
}

function linesOf(moves: readonly Move[], warnings: readonly string[]): string[] {
  return [
    ...moves.map(({ kind, what, from, to }) => `  ${kind}: ${what}: ${from ?? "–"} → ${to ?? "–"}`),
    ...warnings.map((warning) => `  ! ${warning}`),
  ];
}
