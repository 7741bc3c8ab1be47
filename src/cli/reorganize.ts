import type { Command } from "commander";
import {
  applyReorganization,
  type Change,
  type Move,
  moveSentence,
  type Newcomer,
  planReorganization,
} from "../contract/reorganization.ts";
import { parseJson } from "./operations.ts";
import { clientOf, companyOf, type Context } from "./terminal.ts";
import { companyFlag, example, jsonFlag } from "./texts.ts";

/**
 * `agency fire` and one command of `agency reorg` for each kind of change. A command applies its change immediately and
 * prints what moved. With --plan it only prints what would move. `reorg plan` and `reorg apply` take any change as JSON.
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
  verb(
    program,
    "fire",
    "Fire an agent. Its manager takes over its reports, work and mail.",
    "agency fire ada",
  )
    .argument("<agent>", who)
    .option(...why)
    .action((agent: string, flags: Wished) =>
      carryOut(context, flags, { kind: "fire", agent, ...reasonOf(flags) }),
    );
}

export function addReorganize(program: Command, context: Context): void {
  const reorg = program.commands.find((command) => command.name() === "reorg") ?? program.command("reorg");
  const done = (flags: Flags, change: Change): Promise<void> => carryOut(context, flags, change);
  verb(reorg, "move", "Move an agent, and its whole team, to another manager.", "agency reorg move bob ada")
    .argument("<agent>", who)
    .argument("<boss>", "New manager: id or slug.")
    .action((agent: string, to: string, flags: Flags) => done(flags, { kind: "move_report", agent, to }));
  verb(
    reorg,
    "insert",
    "Hire a manager between an agent and some of its reports.",
    "agency reorg insert root Eve --role Lead --reports bob,cid",
  )
    .argument("<boss>", "Agent above the new manager: id or slug.")
    .argument("<name>", "Name of the new manager.")
    .requiredOption(...role)
    .requiredOption(
      "--reports <agents>",
      "Agents who will report to the new manager, separated by commas.",
      listOf,
    )
    .option(...mandate)
    .action((boss: string, name: string, flags: Wished) =>
      done(flags, {
        kind: "insert_layer",
        boss,
        manager: newcomer(name, flags),
        reports: flags.reports ?? [],
      }),
    );
  verb(
    reorg,
    "remove",
    "Remove a manager. Its own manager takes over its reports and work.",
    "agency reorg remove eve",
  )
    .argument("<agent>", who)
    .option(...why)
    .action((agent: string, flags: Wished) =>
      done(flags, { kind: "remove_layer", agent, ...reasonOf(flags) }),
    );
  verb(
    reorg,
    "split",
    "Hire a colleague for an agent, who takes over part of its reports and work.",
    "agency reorg split ada Gus --role Writer --reports bob",
  )
    .argument("<agent>", who)
    .argument("<name>", "Name of the new agent.")
    .requiredOption(...role)
    .option("--reports <agents>", "Agents who will report to the new agent, separated by commas.", listOf)
    .option("--outcomes <ids>", "Ids of open outcomes the new agent takes over, separated by commas.", listOf)
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
  verb(
    reorg,
    "merge",
    "Merge agents into one that has the same manager. The merged agents leave.",
    "agency reorg merge cid dan --into bob",
  )
    .argument("<agents...>", leaving)
    .requiredOption("--into <agent>", "Agent that takes over: id or slug.")
    .option(...why)
    .action((agents: string[], flags: Wished) =>
      done(flags, { kind: "merge", agents, into: flags.into, ...reasonOf(flags) }),
    );
  verb(
    reorg,
    "hand-over",
    "Hand a position to a person, or back to a brain.",
    "agency reorg hand-over ada human",
  )
    .argument("<agent>", who)
    .argument("<brain>", "human for a person, or the type of a brain.")
    .option("--config <json>", "Configuration of the brain, as a JSON object.", parseJson)
    .action((agent: string, adapterType: string, { config, ...flags }: Wished) =>
      done(flags, {
        kind: "hand_over",
        agent,
        adapterType,
        ...(config === undefined ? {} : { adapterConfig: config }),
      }),
    );
  verb(
    reorg,
    "shrink",
    "Fire several agents: the ones you name, or as many as --to requires.",
    "agency reorg shrink --to 5",
  )
    .argument("[agents...]", leaving)
    .option("--to <number>", "Number of agents to keep, including the root agent.", Number)
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

const who = "Agent: id or slug.";
const leaving = "Agents that leave: ids or slugs.";
const why = ["--reason <text>", "Reason, kept on record."] as const;
const role = ["--role <role>", "Role of the new agent."] as const;
const mandate = ["--mandate <text>", "Standing task of the new agent."] as const;

function verb(parent: Command, name: string, description: string, usage: string): Command {
  return parent
    .command(name)
    .description(description)
    .option(...companyFlag)
    .option("--plan", "Show what would move, without changing anything.")
    .option(...jsonFlag)
    .addHelpText("after", `${example(usage)}\n\nTo undo a change, run \`agency reorg undo <id>\`.`);
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
      : [
          `${done.summary}.`,
          ...linesOf(done.moves, done.warnings),
          `To undo this, run: agency reorg undo ${done.id}`,
        ].join("\n"),
  );
}

function linesOf(moves: readonly Move[], warnings: readonly string[]): string[] {
  return [...moves.map((move) => `  ${moveSentence(move)}`), ...warnings.map((warning) => `  ! ${warning}`)];
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
