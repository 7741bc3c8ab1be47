import type { Command } from "commander";
import { type Client, createClient, NoDaemon } from "../client/client.ts";
import { boardInbox, type Message, sendMessage, viewMessage } from "../contract/mail.ts";
import { listCompanies, viewCompany } from "../contract/companies.ts";
import { listAgents, viewAgent } from "../contract/agents.ts";
import { viewSubtree } from "../contract/outcomes.ts";
import { Refusal } from "../contract/refusal.ts";
import { listSessions } from "../contract/sessions.ts";
import { type Asking, decidePending } from "./approvals.ts";
import { firstCompany } from "./first-company.ts";
import { clientOf, companyOf, type Context, homeOf, tokenOf, urlOf } from "./terminal.ts";
import { drawTree } from "./tree.ts";

/**
 * `agency run "<goal>"`: hands the goal to the root agent, shows the organization at work until it is at rest again, and
 * ends with what the root agent reported. Without a daemon it starts one for as long as it takes.
 */
export function addRun(program: Command, context: Context): void {
  program
    .command("run")
    .description("Give the organization a goal and watch it work; ends with the result.")
    .argument("<goal>", "What is to be achieved, in your own words.")
    .option("--company <id or name>", "The company, when there are several.")
    .option("--timeout <seconds>", "Give up watching after this long; the work goes on.", Number, 3600)
    .option("--yes", "Approve whatever the organization asks for, without being asked.")
    .option("--json", "Print the result as JSON.")
    .action(async (goal: string, flags: Flags) => {
      const daemon = await daemonFor(context);
      try {
        const companyId =
          flags.company === undefined && (await hasNone(daemon.client))
            ? (await firstCompany(daemon.client, { home: homeOf(context.env), name: "My company" })).id
            : await companyOf(daemon.client, flags.company);
        const result = await watchGoal(daemon.client, companyId, goal, {
          seconds: flags.timeout,
          yes: flags.yes === true,
          show: (text) => (flags.json === true ? undefined : context.terminal.out(text)),
          // Where the result goes to a program, a person still has to hear what waits.
          say: (text) => {
            if (flags.json !== true) context.terminal.out(text);
            else if (flags.yes !== true) context.terminal.err(text);
          },
          ...(context.terminal.ask === undefined || flags.json === true ? {} : { ask: context.terminal.ask }),
        });
        if (flags.json === true) context.terminal.out(JSON.stringify(result));
        else context.terminal.out(describe(result));
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
  readonly json?: true;
}

interface Result {
  readonly status: "done" | "at_rest" | "timeout";
  readonly messages: readonly Message[];
  readonly seconds: number;
}

async function daemonFor(context: Context): Promise<{ client: Client; stop: () => Promise<void> }> {
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
  const daemon = await startDaemon({
    home: homeOf(env),
    port: 0,
    databaseUrl: env["DATABASE_URL"],
    sandbox: env["AGENCY_SANDBOX"] !== "off",
    log: (line) => context.terminal.err(JSON.stringify(line)),
  });
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
      "No model is set up: the organization rehearses. It goes through the motions, nobody thinks.\n",
    );
  if (root.status === "paused")
    throw new Refusal(
      "refused",
      "The root agent is paused.",
      `Resume it: agency agents resume ${rootAgentId}.`,
    );
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
    // Twice in a row, so that a session about to start is not missed.
    if (calm < 3) continue;
    const messages = (await inboxOf(client, companyId)).filter(({ id }) => !before.has(id));
    const reported = messages.some(({ from }) => from.id === rootAgentId);
    return { status: reported ? "done" : "at_rest", messages, seconds: elapsed() };
  }
  return { status: "timeout", messages: [], seconds: elapsed() };
}

async function inboxOf(client: Client, companyId: string): Promise<Message[]> {
  return (await client.call(boardInbox, { companyId, limit: 1000 })).messages;
}

/** Who does what, and what is open. */
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
  const head = `${employed.length} employed, at work: ${busy.length === 0 ? "nobody" : busy.join(", ")}`;
  return { text: `${head}\n${drawTree(rootId, subtree, false)}`, atWork: busy.length, workable };
}

function describe(result: Result): string {
  const time = `after ${result.seconds.toFixed(1)} s`;
  if (result.status === "timeout")
    return `Still at work ${time}. \`agency tree\` and \`agency inbox\` show how it goes on.`;
  const letters = result.messages.map(
    ({ id, from, body, file }) =>
      `From ${from.name} (message ${id}, file ${file}):\n${body ?? "(read the file)"}`,
  );
  return [
    result.status === "done"
      ? `Done ${time}.`
      : `At rest ${time}, but the root agent reported nothing. \`agency why <id>\` says why.`,
    "",
    ...letters,
    "",
    "Read a file: agency kb read <id>. Acknowledge a message: agency mail acknowledge <id>.",
  ].join("\n");
}
