import type { Command } from "commander";
import type { Client } from "../client/client.ts";
import { efforts, listAgents } from "../contract/agents.ts";
import { createAgent, hireAgent, listBrains } from "../contract/hiring.ts";
import { viewApproval } from "../contract/approvals.ts";
import { Refusal } from "../contract/refusal.ts";
import { drawChanges, isYours, remember } from "./approvals.ts";
import { budgetIn, jsonArgument, parseJson } from "./operations.ts";
import { agentOf, clientOf, companyOf, type Context, isInPosition, print } from "./terminal.ts";
import {
  boardDecidesHire,
  companyFlag,
  example,
  hireNeeds,
  howToDecide,
  noSuchBrain,
  yourAnswersStay,
} from "./texts.ts";

/** Flags whose names differ from the keys of the call. All other flags are passed on as they are. */
interface Flags extends Partial<Record<"role" | "title" | "mandate" | "prompt" | "reportsTo", string>> {
  readonly company?: string;
  readonly brain?: string;
  readonly adapterConfig?: unknown;
  readonly grant?: readonly { readonly resource: string; readonly level?: string | undefined }[];
  readonly request?: true;
  readonly json?: true;
}

/** `agency hire` takes flags. On a terminal it asks for the name, the role and everything else that is missing. */
export function addHire(program: Command, context: Context): void {
  program
    .command("hire")
    .description(
      "Hire an agent. The board hires immediately. From a position, the hire needs the board's approval.",
    )
    .argument("[name]", "Name of the agent. You are asked for it if you leave it out.")
    .option(...companyFlag)
    .option("--role <role>", "Role, such as Writer.")
    .option("--title <title>", "Job title, such as Technical writer.")
    .option("--mandate <text>", "Standing task of the agent: the outcome it is responsible for.")
    .option("--prompt <text>", "Instructions on how to work, added to the agent's system prompt.")
    .option("--capabilities <text>", "Short description of what the agent can do, for others to read.")
    .option(
      "--reports-to <agent>",
      "Manager of the agent. Defaults to you, or to the root agent if the board hires.",
    )
    .option("--adapter-type, --brain <type>", "Type of brain that runs the agent. Defaults to the company's.")
    .option("--adapter-config <json>", "Configuration of the brain, as a JSON object.", parseJson)
    .option("--model <name>", "Model to use, if the brain offers a choice.")
    .option("--effort <effort>", `How hard the model should think: ${efforts.join(", ")}.`)
    .option(
      "--budget <amount>",
      "Monthly budget: dollars such as 20, or JSON such as '{\"tokens\": 1000000}'.",
      budgetIn,
    )
    .option(
      "--grant <resource=level>",
      "Right to start with, such as org:hire=use. Can be repeated.",
      grantIn,
    )
    .option("--request", "Ask the board for approval, also if you are the board.")
    .option("--json", "Print the result as JSON. Asks no questions.")
    .addHelpText(
      "after",
      example('agency hire Vera --role Writer --mandate "Keep the user guide up to date"'),
    )
    .action((name: string | undefined, flags: Flags) => hire(context, name, flags));
}

/** The questions of `hire` on a terminal, in order. */
const questions = [
  ["name", "Name"],
  ["role", "Role"],
  ["title", "Job title (optional)"],
  ["mandate", "What should the agent be responsible for? (optional)"],
  ["prompt", "How should the agent work? (optional)"],
  ["brain", "Brain (Enter for the company's default)"],
  ["adapterConfig", "Configuration of the brain, as JSON (optional)"],
  ["reportsTo", "Manager (Enter for the root agent, or you)"],
] as const;
type Question = (typeof questions)[number][0];

async function hire(context: Context, given: string | undefined, flags: Flags): Promise<void> {
  const { company, brain, adapterConfig, grant, request: asksBoard, json, reportsTo, ...others } = flags;
  const { role, title, mandate, prompt, ...said } = others;
  const { ask } = json === true ? {} : context.terminal;
  const guided = (given === undefined || role === undefined) && ask !== undefined;
  const client = clientOf(context.env);
  const companyId = await companyOf(client, company);
  const answers: Partial<Record<Question, string>> = {
    ...Object.fromEntries(
      Object.entries({ name: given, role, title, mandate, prompt, brain, reportsTo }).filter(isText),
    ),
    ...(adapterConfig !== undefined && { adapterConfig: JSON.stringify(adapterConfig) }),
  };
  const brains = guided || brain !== undefined ? (await client.call(listBrains, { companyId })).brains : [];
  const managers = guided ? (await client.call(listAgents, { companyId, limit: 200 })).agents : [];
  const choices: Partial<Record<Question, readonly string[]>> = {
    brain: brains.map(({ type, available }) => `${type}${available ? "" : " (not available)"}`),
    reportsTo: managers
      .filter(({ status }) => status !== "terminated" && status !== "pending_approval")
      .map(({ slug, role: job }) => `${slug} (${job})`),
  };
  let isAgain = false;
  for (;;) {
    if (guided)
      for (const [key, question] of questions) {
        // Only some brains need a configuration. The refusal names them, and then the configuration can be given.
        const isAsked =
          key === "adapterConfig"
            ? isAgain && answers.brain !== undefined
            : isAgain || answers[key] === undefined;
        if (isAsked) await answer(key, question);
      }
    try {
      return await carryOut();
    } catch (error) {
      if (!guided || !(error instanceof Refusal)) throw error;
      context.terminal.out(`${error.message} ${error.hint}\n${yourAnswersStay}`);
      isAgain = true;
    }
  }

  /** Asks until the answer is valid. Enter keeps the answer of the last round. */
  async function answer(key: Question, question: string): Promise<void> {
    const before = answers[key];
    const listed = choices[key] ?? [];
    if (listed.length > 0) context.terminal.out(`  ${listed.slice(0, 20).join(", ")}`);
    for (;;) {
      const line = ((await ask?.(`${question}${before === undefined ? "" : ` [${before}]`}: `)) ?? "").trim();
      const value = line === "" ? before : line === "none" ? undefined : line;
      try {
        if (value !== undefined) await valueOf(key, value);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        context.terminal.out(`${error.message} ${error.hint}`);
        continue;
      }
      if (value === undefined) delete answers[key];
      else answers[key] = value;
      if (value !== undefined || (key !== "name" && key !== "role")) return;
    }
  }

  /** The value for the call. Refuses an answer that can't be right. */
  async function valueOf(key: Question, value: string): Promise<unknown> {
    if (key === "adapterConfig") return jsonArgument("adapterConfig", value);
    if (key === "reportsTo") return agentOf(client, value, company);
    const types = brains.map(({ type }) => type);
    if (key === "brain" && !types.includes(value)) throw noSuchBrain(value, types);
    return value;
  }

  async function carryOut(): Promise<void> {
    if (!answers.name || !answers.role) throw hireNeeds();
    const values: Partial<Record<Question, unknown>> = {};
    for (const [key] of questions) {
      const value = answers[key];
      if (value !== undefined) values[key] = await valueOf(key, value);
    }
    const { brain: adapterType, adapterConfig, ...rest } = values;
    const input = { ...said, ...rest, adapterType, adapterConfig, companyId, grants: grant };
    // The board hires without an approval. An agent, or a person in its position, asks the board.
    if (asksBoard === true || (await isInPosition(client)))
      return await request(context, flags, client, input);
    const agent = createAgent.output.parse(await client.callAny(createAgent, input));
    return print(context, flags, { agent, approval: null }, hired(agent));
  }
}

const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === "string";

async function request(
  context: Context,
  flags: Flags,
  client: Client,
  input: Record<string, unknown>,
): Promise<void> {
  const result = hireAgent.output.parse(await client.callAny(hireAgent, input));
  if (result.approval === null || flags.json === true)
    return print(context, flags, result, hired(result.agent));
  const approval = await client.call(viewApproval, { id: result.approval.id });
  const { id, changes, abilities } = approval;
  remember(context, approval);
  const lines = drawChanges(changes).map((line) => `  ${line}`);
  print(
    context,
    flags,
    result,
    `The hire of ${result.agent.name} needs approval ${id}:`,
    ...lines,
    isYours(abilities) ? howToDecide(id) : boardDecidesHire(id),
  );
}

const hired = ({ name, slug }: { name: string; slug: string }): string =>
  `${name} is hired. Give it work: agency send "<text>" --to ${slug}`;

function grantIn(text: string, before: Flags["grant"] = []): Flags["grant"] {
  const [resource = "", level] = text.split("=");
  return [...before, { resource, level }];
}
