import type { Command } from "commander";
import {
  applyReorganization,
  type Change,
  type Move,
  type Newcomer,
  planReorganization,
} from "../contract/reorganization.ts";
import { parseJson } from "./operations.ts";
import { clientOf, companyOf, type Context } from "./terminal.ts";

/**
 * `agency fire` and the changes of `agency reorg` in words: each is carried out at once and says what moved; with --plan it
 * only says what would. `reorg plan` and `reorg apply` take any change whole, as JSON.
 */
interface Flags {
  readonly company?: string;
  readonly plan?: true;
  readonly json?: true;
}

interface Wished extends Flags {
  readonly reason?: string;
  readonly role: string;
  readonly mandate?: string;
  readonly reports?: string[];
  readonly outcomes?: string[];
  readonly into: string;
  readonly to?: number;
  readonly config?: Record<string, unknown>;
}

export function addFire(program: Command, context: Context): void {
  verb(program, "fire", "Let an agent go. Its reports, its work and its mail go to its boss.")
    .argument("<agent>", who)
    .option(...why)
    .action((agent: string, flags: Wished) =>
      carryOut(context, flags, { kind: "fire", agent, ...reasonOf(flags) }),
    );
}

export function addReorganize(program: Command, context: Context): void {
  const reorg = program.commands.find((command) => command.name() === "reorg") ?? program.command("reorg");
  const done = (flags: Flags, change: Change): Promise<void> => carryOut(context, flags, change);
  verb(reorg, "move", "An agent reports to somebody else from now on, with all below it.")
    .argument("<agent>", who)
    .argument("<boss>", "Its new boss.")
    .action((agent: string, to: string, flags: Flags) => done(flags, { kind: "move_report", agent, to }));
  verb(reorg, "insert", "A new manager between a boss and some of its reports.")
    .argument("<boss>", who)
    .argument("<name>", "The manager's name.")
    .requiredOption(...role)
    .requiredOption("--reports <agents>", "Who will report to it, separated by commas.", listOf)
    .option(...mandate)
    .action((boss: string, name: string, flags: Wished) =>
      done(flags, {
        kind: "insert_layer",
        boss,
        manager: newcomer(name, flags),
        reports: flags.reports ?? [],
      }),
    );
  verb(reorg, "remove", "A manager leaves; its reports and its work go to its boss.")
    .argument("<agent>", who)
    .option(...why)
    .action((agent: string, flags: Wished) =>
      done(flags, { kind: "remove_layer", agent, ...reasonOf(flags) }),
    );
  verb(reorg, "split", "A new agent beside one that has too much to do takes some of it over.")
    .argument("<agent>", who)
    .argument("<name>", "The new agent's name.")
    .requiredOption(...role)
    .option("--reports <agents>", "Whom it takes over, separated by commas.", listOf)
    .option("--outcomes <ids>", "Which live outcomes it takes over, separated by commas.", listOf)
    .option(...mandate)
    .action((agent: string, name: string, flags: Wished) => {
      const { reports, outcomes } = flags;
      return done(flags, {
        kind: "split",
        agent,
        into: [
          {
            agent: newcomer(name, flags),
            ...(reports === undefined ? {} : { reports }),
            ...(outcomes === undefined ? {} : { outcomes }),
          },
        ],
      });
    });
  verb(reorg, "merge", "Agents leave, and one of the same boss takes over all they have.")
    .argument("<agents...>", "Their ids or slugs.")
    .requiredOption("--into <agent>", "Who takes over.")
    .option(...why)
    .action((agents: string[], flags: Wished) =>
      done(flags, { kind: "merge", agents, into: flags.into, ...reasonOf(flags) }),
    );
  verb(reorg, "hand-over", "A person takes a position (human), or a brain takes it back.")
    .argument("<agent>", who)
    .argument("<brain>", "human, or the type of a brain.")
    .option("--config <json>", "The brain's configuration.", parseJson)
    .action((agent: string, adapterType: string, { config, ...flags }: Wished) =>
      done(flags, {
        kind: "hand_over",
        agent,
        adapterType,
        ...(config === undefined ? {} : { adapterConfig: config }),
      }),
    );
  verb(reorg, "shrink", "Several agents leave: those you name, or as many as it takes.")
    .argument("[agents...]", "Their ids or slugs.")
    .option("--to <number>", "How many stay, the root agent among them.", Number)
    .option(...why)
    .action((agents: string[], flags: Wished) =>
      done(flags, {
        kind: "shrink",
        ...(agents.length === 0 ? {} : { agents }),
        ...(flags.to === undefined ? {} : { to: flags.to }),
        ...reasonOf(flags),
      }),
    );
}

const who = "An agent: its id or slug.";
const why = ["--reason <text>", "Why."] as const;
const role = ["--role <role>", "The new agent's role."] as const;
const mandate = ["--mandate <text>", "What the new agent is for."] as const;

function verb(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(`${description} agency reorg undo takes it back.`)
    .option("--company <id or name>", "The company, when there are several.")
    .option("--plan", "Only show what would move.")
    .option("--json", "Print the answer as JSON.");
}

async function carryOut(context: Context, flags: Flags, change: Change): Promise<void> {
  const { out } = context.terminal;
  const client = clientOf(context.env);
  const companyId = await companyOf(client, flags.company);
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

const newcomer = (name: string, flags: Wished): Newcomer => ({
  name,
  role: flags.role,
  ...(flags.mandate === undefined ? {} : { mandate: flags.mandate }),
});

const reasonOf = ({ reason }: Wished): { reason?: string } => (reason === undefined ? {} : { reason });

const listOf = (words: string): string[] =>
  words
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
