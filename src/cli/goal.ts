import type { Command } from "commander";
import { type Client, createClient, NoDaemon } from "../client/client.ts";
import { approve, listApprovals, reject, viewApproval } from "../contract/approvals.ts";
import { boardInbox, type Message, sendMessage, viewMessage } from "../contract/mail.ts";
import { listCompanies, viewCompany } from "../contract/companies.ts";
import { listAgents, viewAgent } from "../contract/agents.ts";
import { viewSubtree } from "../contract/outcomes.ts";
import { listSessions } from "../contract/sessions.ts";
import { plural } from "../contract/phrases.ts";
import { Refusal } from "../contract/refusal.ts";
import { firstCompany } from "./first-company.ts";
import { isolationOf } from "./isolation.ts";
import { indented } from "./show.ts";
import {
  clientOf,
  companyOf,
  type Context,
  daemonOptions,
  homeOf,
  print,
  tokenOf,
  urlOf,
} from "./terminal.ts";
import { companyFlag, example, howToDecide, rootIsPaused } from "./texts.ts";
import { drawTree } from "./tree.ts";

/**
 * `agency run "<goal>"` sends the goal to the root agent, shows the organization at work until it is at rest again, and
 * ends with what the root agent reported. If no daemon is running, it starts one until the work is done.
 */
export function addRun(program: Command, context: Context): void {
  program
    .command("run")
    .description("Give the organization a goal, watch it work and print the result.")
    .argument("<goal>", "What you want done, as you would tell a person.")
    .option(...companyFlag)
    .option("--timeout <seconds>", "Stop watching after this time. The work continues.", Number, 3600)
    .option("--yes", "Approve every request of the organization without asking you.")
    .option("--allow-unsandboxed", "If this starts a daemon: run programs even without a sandbox.")
    .option("--json", "Print the result as JSON.")
    .addHelpText("after", example('agency run "Write a one-page guide to baking bread" --yes'))
    .action(async (goal: string, flags: Flags) => {
      const daemon = await daemonFor(context, flags);
      try {
        const companyId =
          flags.company === undefined && (await hasNone(daemon.client))
            ? (await firstCompany(daemon.client, { home: homeOf(context.env), name: "My company" })).id
            : await companyOf(daemon.client, flags.company);
        const result = await watchGoal(daemon.client, companyId, goal, {
          seconds: flags.timeout,
          yes: flags.yes === true,
          show: (text) => (flags.json === true ? undefined : context.terminal.out(text)),
          // With --json a program reads the result, but a person still has to hear of pending approvals.
          say: (text) => {
            if (flags.json !== true) context.terminal.out(text);
            else if (flags.yes !== true) context.terminal.err(text);
          },
          ...(context.terminal.ask === undefined || flags.json === true ? {} : { ask: context.terminal.ask }),
        });
        print(context, flags, result, describe(result));
        if (result.status !== "done") context.exitCode = 1;
      } finally {
        await daemon.stop();
      }
    });
}

interface Flags {
  readonly company?: string;
  readonly timeout: number;
  readonly yes?: true;
  readonly allowUnsandboxed?: true;
  readonly json?: true;
}

interface Result {
  readonly status: "done" | "at_rest" | "timeout";
  readonly messages: readonly Message[];
  readonly seconds: number;
}

async function daemonFor(
  context: Context,
  flags: Flags,
): Promise<{ client: Client; stop: () => Promise<void> }> {
  const { env } = context;
  const client = clientOf(env);
  try {
    if (tokenOf(env) === undefined) throw new NoDaemon(urlOf(env));
    await client.call(listCompanies, { limit: 1 });
    return { client, stop: async () => undefined };
  } catch (error) {
    if (!(error instanceof NoDaemon)) throw error;
  }
  const { startDaemon } = await import("../daemon/daemon.ts");
  const daemon = await startDaemon({ ...daemonOptions(context), ...isolationOf(context, flags), port: 0 });
  return { client: createClient(daemon), stop: () => daemon.stop() };
}

const hasNone = async (client: Client): Promise<boolean> =>
  (await client.call(listCompanies, { limit: 1 })).companies.length === 0;

async function watchGoal(
  client: Client,
  companyId: string,
  goal: string,
  options: { seconds: number; show: (text: string) => void } & Asking,
): Promise<Result> {
  const { rootAgentId, rootOutcomeId } = await client.call(viewCompany, { companyId });
  const root = await client.call(viewAgent, { id: rootAgentId });
  if (root.adapterType === "rehearsal")
    options.show(
      "There is no model: the agents only rehearse. They go through every step with placeholder results.\n",
    );
  if (root.status === "paused") throw rootIsPaused(rootAgentId);
  const before = new Set((await inboxOf(client, companyId)).map(({ id }) => id));
  const sent = await client.call(sendMessage, { companyId, body: goal });
  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 1000;
  let drawn = "";
  let calm = 0;
  const told = new Set<string>();
  while (elapsed() < options.seconds) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    const picture = await draw(client, companyId, rootOutcomeId);
    if (picture.text !== drawn) options.show(`${picture.text}\n`);
    drawn = picture.text;
    const waiting = await decidePending(client, companyId, options, told);
    const taken = (await client.call(viewMessage, { id: sent.id })).acknowledgedAt !== null;
    calm = taken && waiting === 0 && picture.atWork === 0 && !picture.workable ? calm + 1 : 0;
    // Three calm looks in a row: a single one could miss a session that is about to start.
    if (calm < 3) continue;
    const messages = (await inboxOf(client, companyId)).filter(({ id }) => !before.has(id));
    const reported = messages.some(({ from }) => from.id === rootAgentId);
    return { status: reported ? "done" : "at_rest", messages, seconds: elapsed() };
  }
  return { status: "timeout", messages: [], seconds: elapsed() };
}

/** How to put pending approvals before the person at the terminal. */
interface Asking {
  /** Approve everything without asking. */
  readonly yes: boolean;
  /** Absent if the terminal is not interactive. Approvals are then only announced. */
  readonly ask?: (question: string) => Promise<string>;
  readonly say: (text: string) => void;
}

/** Decides each pending approval, or announces it once. Returns how many are still pending. */
async function decidePending(
  client: Client,
  companyId: string,
  asking: Asking,
  told: Set<string>,
): Promise<number> {
  const { approvals } = await client.call(listApprovals, { companyId, status: "pending", limit: 100 });
  let waiting = 0;
  for (const { id } of approvals.toReversed()) {
    const { changes, payloadHash } = await client.call(viewApproval, { id });
    const what = changes.map((change) => `  ${indented(change)}`).join("\n");
    if (!asking.yes && asking.ask === undefined) {
      waiting++;
      if (!told.has(id)) asking.say(`Approval ${id} needs your decision:\n${what}\n${howToDecide(id)}\n`);
      told.add(id);
      continue;
    }
    const says = asking.yes ? "y" : await asking.ask?.(`Approval ${id}:\n${what}\nApprove? [y/N] `);
    const isYes = /^\s*y(es)?\s*$/i.test(says ?? "");
    try {
      // The hash ties the decision to what was shown. If the request has changed since, it is shown again.
      await client.call(isYes ? approve : reject, { id, payloadHash });
      asking.say(`${isYes ? "Approved" : "Rejected"}:\n${what}\n`);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== "conflict") throw error;
      waiting++;
    }
  }
  return waiting;
}

async function inboxOf(client: Client, companyId: string): Promise<Message[]> {
  return (await client.call(boardInbox, { companyId, limit: 1000 })).messages;
}

/** The agents at work and the open outcomes. */
async function draw(
  client: Client,
  companyId: string,
  rootId: string,
): Promise<{ text: string; atWork: number; workable: boolean }> {
  const { sessions } = await client.call(listSessions, { companyId, live: true });
  const { agents } = await client.call(listAgents, { companyId, limit: 1000 });
  const subtree = await client.call(viewSubtree, { id: rootId, limit: 1000 });
  const busy = sessions.map(({ agent }) => agent.name);
  const employed = agents.filter(({ status }) => status !== "terminated");
  const open = subtree.outcomes.filter(
    ({ status, kind }) => status === "open" && kind !== "perpetual" && kind !== "mandate",
  );
  const parents = new Set(open.flatMap((outcome) => outcome.parents));
  const workable = open.some(({ id, blocked }) => !parents.has(id) && blocked === null);
  const head = `${plural(employed.length, "agent")}, ${busy.length === 0 ? "none at work" : `${busy.length} at work: ${busy.join(", ")}`}`;
  return { text: `${head}\n${drawTree(rootId, subtree, false)}`, atWork: busy.length, workable };
}

function describe(result: Result): string {
  const time = `after ${result.seconds.toFixed(1)} seconds`;
  if (result.status === "timeout")
    return `The agents are still working ${time}. Run \`agency tree\` and \`agency inbox\` to follow the work.`;
  const letters = result.messages.map(
    ({ id, from, body, file }) =>
      `From ${from.name} (message ${id}, file ${file}):\n${body ?? "(too long to show: read the file)"}`,
  );
  return [
    result.status === "done"
      ? `Done ${time}.`
      : `The work stopped ${time}, and the root agent reported nothing. Run \`agency why root\` to see the reason.`,
    "",
    ...letters,
    "",
    "Read a file:           agency kb read <id>",
    "Acknowledge a message: agency mail acknowledge <id>",
  ].join("\n");
}
