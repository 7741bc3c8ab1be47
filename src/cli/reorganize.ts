import type { Command } from "commander";
import { applyReorganization, type Change, planReorganization } from "../contract/reorganization.ts";
import { parseJson } from "./operations.ts";
import { recordLines } from "./record-screens.ts";
import { clientOf, companyOf, type Context, nounOf, print } from "./terminal.ts";
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
  readonly adapterConfig?: Record<string, unknown>;
}

export function addFire(program: Command, context: Context): void {
  verb(program, "agency fire ada", "Fire an agent. Its manager takes over its reports, work and mail.")
    .argument("<agent>", who)
    .option(...why)
    .action((agent: string, flags: Wished) =>
      carryOut(context, flags, { kind: "fire", agent, reason: flags.reason }),
    );
}

export function addReorganize(program: Command, context: Context): void {
  const reorg = nounOf(program, "reorg");
  const done = (flags: Flags, change: Change): Promise<void> => carryOut(context, flags, change);
  verb(reorg, "agency reorg move bob ada", "Move an agent, and its whole team, to another manager.")
    .argument("<agent>", who)
    .argument("<boss>", "New manager: id or slug.")
    .action((agent: string, to: string, flags: Flags) => done(flags, { kind: "move_report", agent, to }));
  const insert = "agency reorg insert root Eve --role Lead --reports bob,cid";
  verb(reorg, insert, "Hire a manager between an agent and some of its reports.")
    .argument("<boss>", "Agent above the new manager: id or slug.")
    .argument("<name>", "Name of the new manager.")
    .requiredOption(...role)
    .requiredOption(
      "--reports <agents>",
      "Agents who will report to the new manager, separated by commas.",
      listOf,
    )
    .option(...mandate)
    .action((boss: string, name: string, flags: Wished) => {
      const { role, mandate, reports = [] } = flags;
      return done(flags, { kind: "insert_layer", boss, manager: { name, role, mandate }, reports });
    });
  const remove = "Remove a manager. Its own manager takes over its reports and work.";
  verb(reorg, "agency reorg remove eve", remove)
    .argument("<agent>", who)
    .option(...why)
    .action((agent: string, flags: Wished) =>
      done(flags, { kind: "remove_layer", agent, reason: flags.reason }),
    );
  const split = "agency reorg split ada Gus --role Writer --reports bob";
  verb(reorg, split, "Hire a colleague for an agent, who takes over part of its reports and work.")
    .argument("<agent>", who)
    .argument("<name>", "Name of the new agent.")
    .requiredOption(...role)
    .option("--reports <agents>", "Agents who will report to the new agent, separated by commas.", listOf)
    .option("--outcomes <ids>", "Ids of open outcomes the new agent takes over, separated by commas.", listOf)
    .option(...mandate)
    .action((agent: string, name: string, flags: Wished) => {
      const { role, mandate, reports, outcomes } = flags;
      return done(flags, {
        kind: "split",
        agent,
        into: [{ agent: { name, role, mandate }, reports, outcomes }],
      });
    });
  const merge = "Merge agents into one that has the same manager. The merged agents leave.";
  verb(reorg, "agency reorg merge cid dan --into bob", merge)
    .argument("<agents...>", leaving)
    .requiredOption("--into <agent>", "Agent that takes over: id or slug.")
    .option(...why)
    .action((agents: string[], flags: Wished) =>
      done(flags, { kind: "merge", agents, into: flags.into, reason: flags.reason }),
    );
  verb(reorg, "agency reorg hand-over ada human", "Hand a position to a person, or back to a brain.")
    .argument("<agent>", who)
    .argument("<brain>", "human for a person, or the type of a brain.")
    .option("--adapter-config <json>", "Configuration of the brain, as a JSON object.", parseJson)
    .action((agent: string, adapterType: string, flags: Wished) =>
      done(flags, { kind: "hand_over", agent, adapterType, adapterConfig: flags.adapterConfig }),
    );
  const shrink = "Fire several agents: the ones you name, or as many as --to requires.";
  verb(reorg, "agency reorg shrink --to 5", shrink)
    .argument("[agents...]", leaving)
    .option("--to <number>", "Number of agents to keep, including the root agent.", Number)
    .option(...why)
    .action((agents: string[], flags: Wished) => {
      const { to, reason } = flags;
      return done(flags, { kind: "shrink", agents: agents.length === 0 ? undefined : agents, to, reason });
    });
}

const who = "Agent: id or slug.";
const leaving = "Agents that leave: ids or slugs.";
const why = ["--reason <text>", "Reason, kept on record."] as const;
const role = ["--role <role>", "Role of the new agent."] as const;
const mandate = ["--mandate <text>", "Standing task of the new agent."] as const;

/** The example names the command: the word after the parent's. */
function verb(parent: Command, usage: string, description: string): Command {
  const name = usage.split(" ")[parent.parent === null ? 1 : 2] ?? "";
  return parent
    .command(name)
    .description(description)
    .option(...companyFlag)
    .option("--plan", "Show the plan without changing anything.")
    .option(...jsonFlag)
    .addHelpText("after", `${example(usage)}\n\nTo undo a change, run \`agency reorg undo <id>\`.`);
}

async function carryOut(context: Context, flags: Flags, change: Change): Promise<void> {
  const client = clientOf(context.env);
  const companyId = await companyOf(client, flags.company);
  if (flags.plan === true) {
    const plan = await client.call(planReorganization, { companyId, change });
    return print(context, flags, plan, ...recordLines(plan));
  }
  const done = await client.call(applyReorganization, { companyId, change });
  const undo = `To undo this, run: agency reorg undo ${done.id}`;
  print(context, flags, done, `${done.summary}.`, ...recordLines(done), undo);
}

const listOf = (words: string): string[] =>
  words
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
