import type { Command } from "commander";
import { type Client, createClient, NoDaemon } from "../client/client.ts";
import { viewAgent } from "../contract/agents.ts";
import { listCompanies, viewCompany } from "../contract/companies.ts";
import { createGoal, listGoals } from "../contract/goals.ts";
import { closeOutcome } from "../contract/outcomes.ts";
import { onOneLine } from "../contract/visible-text.ts";
import { offerCheckout } from "./checkout.ts";
import { firstCompany } from "./first-company.ts";
import { followGoal, type Followed } from "./following.ts";
import { isolationOf } from "./isolation.ts";
import { idNamed } from "./resolving.ts";
import { clientOf, companyOf, type Context, daemonOptions, print } from "./terminal.ts";
import {
  companyFlag,
  example,
  jsonFlag,
  noGoalYet,
  notDollars,
  onlyRehearsing,
  rootIsPaused,
} from "./texts.ts";
import { homeOf, tokenOf, urlOf } from "./where.ts";

/**
 * `agency run "<goal>"` sets a goal and follows it until a person has accepted the result. `agency follow` does the same for a goal
 * that exists, and `agency cancel` ends one. If no daemon is running, `run` starts one until the work is done.
 */
interface Flags {
  readonly company?: string;
  readonly timeout: number;
  readonly yes?: true;
  readonly accept?: true;
  readonly maxUsd?: number;
  readonly allowUnsandboxed?: true;
  readonly json?: true;
}

export function addRun(program: Command, context: Context): void {
  const run = program
    .command("run")
    .description("Give the organization a goal, watch it work and accept the result.")
    .argument("<goal>", "Goal to reach, in the words you would use to a person.")
    .option("--max-usd <amount>", "Maximum cost of all work on this goal, in US dollars.", dollarsIn)
    .option("--allow-unsandboxed", "If this starts a daemon: run programs even without a sandbox.");
  followFlags(run)
    .addHelpText(
      "after",
      example(
        'agency run "Write a one-page guide to baking bread" --max-usd 2',
        'agency run "…" --yes --accept',
      ),
    )
    .action(async (goal: string, flags: Flags) => {
      const daemon = await daemonFor(context, flags);
      try {
        const companyId =
          flags.company === undefined && (await hasNone(daemon.client))
            ? await founded(context, daemon.client)
            : await companyOf(daemon.client, flags.company);
        const { rootAgentId } = await daemon.client.call(viewCompany, { companyId });
        const root = await daemon.client.call(viewAgent, { id: rootAgentId });
        if (root.adapterType === "rehearsal" && flags.json !== true)
          context.terminal.out(`${onlyRehearsing}\n`);
        if (root.status === "paused") throw rootIsPaused(rootAgentId);
        if (flags.json !== true) await offerCheckout(context, daemon.client, { companyId, rootAgentId });
        const { id } = await daemon.client.call(createGoal, {
          companyId,
          title: firstLineOf(goal),
          description: goal,
          ...(flags.maxUsd !== undefined && { budget: { usd: flags.maxUsd } }),
        });
        const ours = { companyId, id, stopsWithUs: daemon.isOurs };
        // The session that completed the goal still has to save its state.
        if ((await followed(context, daemon.client, ours, flags)) === "done") await daemon.stop(10_000);
      } finally {
        await daemon.stop();
      }
    });
}

const followFlags = (command: Command): Command =>
  command
    .option(...companyFlag)
    .option("--timeout <seconds>", "Stop watching after this time. The work continues.", Number, 3600)
    .option("--yes", "Approve every request of this goal without asking you.")
    .option("--accept", "Accept the result without asking you.")
    .option(...jsonFlag);

export function addFollow(program: Command, context: Context): void {
  followFlags(
    program
      .command("follow")
      .description("Follow a goal until its result is accepted. Without a goal: the newest one.")
      .argument("[goal]", "Id, short id or title of the goal."),
  )
    .addHelpText("after", example("agency follow", "agency follow O41"))
    .action(async (given: string | undefined, flags: Flags) => {
      const client = clientOf(context.env);
      const companyId = await companyOf(client, flags.company);
      const id =
        given === undefined
          ? (await client.call(listGoals, { companyId, limit: 1 })).outcomes[0]?.id
          : await idNamed(context, client, "outcome", given, flags.company);
      if (id === undefined) throw noGoalYet();
      await followed(context, client, { companyId, id, stopsWithUs: false }, flags);
    });
  program
    .command("cancel")
    .description("Cancel a goal or an outcome, with everything below it. All its owners are told.")
    .argument("<goal>", "Id, short id or title.")
    .argument("[reason]", "Reason, which its owners read.", "The board cancelled it.")
    .option(...companyFlag)
    .option(...jsonFlag)
    .addHelpText("after", example('agency cancel O41 "We buy the bread instead."'))
    .action(async (given: string, rationale: string, flags: { company?: string; json?: true }) => {
      const client = clientOf(context.env);
      const id = await idNamed(context, client, "outcome", given, flags.company);
      const closed = await client.call(closeOutcome, { id, rationale });
      print(context, flags, closed, `"${closed.title}" is cancelled, with everything below it.`);
    });
}

async function followed(
  context: Context,
  client: Client,
  goal: { companyId: string; id: string; stopsWithUs: boolean },
  flags: Flags,
): Promise<Followed["status"]> {
  const result = await followGoal(context, client, goal, {
    seconds: flags.timeout,
    yes: flags.yes === true,
    accept: flags.accept === true,
    isJson: flags.json === true,
  });
  if (flags.json === true) context.terminal.out(JSON.stringify(result));
  context.exitCode = exitCodes[result.status];
  return result.status;
}

/** Exit code 4: a person is needed, and there is no terminal to ask at. */
const exitCodes: Readonly<Record<Followed["status"], number>> = {
  done: 0,
  closed: 1,
  submitted: 4,
  waiting: 4,
  at_rest: 1,
  timeout: 1,
  interrupted: 130,
};

function dollarsIn(text: string): number {
  const amount = Number(text.replace(/^\$/, ""));
  if (!Number.isFinite(amount) || amount <= 0) throw notDollars(text);
  return amount;
}

/** The title of a goal is one line. The whole text is its description. */
function firstLineOf(goal: string): string {
  const line = onOneLine(goal.split("\n").find((text) => text.trim() !== "") ?? goal);
  return line.trim().slice(0, 200).toWellFormed();
}

async function daemonFor(
  context: Context,
  flags: Flags,
): Promise<{ client: Client; isOurs: boolean; stop: (drainMilliseconds?: number) => Promise<void> }> {
  const { env } = context;
  const client = clientOf(env);
  try {
    if (tokenOf(env) === undefined) throw new NoDaemon(urlOf(env));
    await client.call(listCompanies, { limit: 1 });
    return { client, isOurs: false, stop: async () => undefined };
  } catch (error) {
    if (!(error instanceof NoDaemon)) throw error;
  }
  const { startDaemon } = await import("../daemon/daemon.ts");
  const { logLine } = await import("../daemon/log-lines.ts");
  const daemon = await startDaemon({
    ...daemonOptions(context, logLine),
    ...isolationOf(context, flags),
    port: 0,
  });
  return {
    client: createClient(daemon),
    isOurs: true,
    stop: (drainMilliseconds) => daemon.stop(drainMilliseconds),
  };
}

async function founded(context: Context, client: Client): Promise<string> {
  const { company, brain } = await firstCompany(client, { home: homeOf(context.env), name: "My company" });
  if (brain) context.terminal.err(brain.says);
  return company.id;
}

const hasNone = async (client: Client): Promise<boolean> =>
  (await client.call(listCompanies, { limit: 1 })).companies.length === 0;
