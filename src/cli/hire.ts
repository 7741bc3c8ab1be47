import { type Command, InvalidArgumentError } from "commander";
import { hireAgent, createAgent, efforts } from "../contract/hiring.ts";
import { viewApproval } from "../contract/approvals.ts";
import { clientOf, companyOf, type Context } from "./terminal.ts";
import { companyFlag, example, hireNeeds, howToDecide } from "./texts.ts";

/** `agency hire` takes flags. On a terminal it asks for the name, the role and what is missing. */
interface Flags {
  readonly company?: string;
  readonly role?: string;
  readonly title?: string;
  readonly mandate?: string;
  readonly prompt?: string;
  readonly capabilities?: string;
  readonly reportsTo?: string;
  readonly brain?: string;
  readonly config?: Record<string, unknown>;
  readonly model?: string;
  readonly effort?: string;
  readonly budget?: Record<string, unknown>;
  readonly grant?: readonly { readonly resource: string; readonly level?: string }[];
  readonly now?: true;
  readonly json?: true;
}

export function addHire(program: Command, context: Context): void {
  program
    .command("hire")
    .description("Hire an agent. The hire needs approval if the company requires it.")
    .argument("[name]", "Name of the agent. You are asked for it if you leave it out.")
    .option(...companyFlag)
    .option("--role <role>", "Role, such as Writer.")
    .option("--title <title>", "Job title, such as Technical writer.")
    .option("--mandate <text>", "Standing task of the agent: the outcome it is responsible for.")
    .option("--prompt <text>", "Instructions on how to work, added to the agent's system prompt.")
    .option("--capabilities <text>", "Short description of what the agent can do, for others to read.")
    .option("--reports-to <id>", "Manager of the agent. Defaults to the root agent.")
    .option("--brain <type>", "Type of brain that runs the agent. Defaults to the company's.")
    .option("--config <json>", "Configuration of the brain, as a JSON object.", jsonIn)
    .option("--model <name>", "Model to use, if the brain offers a choice.")
    .option("--effort <effort>", `How hard the model should think: ${efforts.join(", ")}.`)
    .option("--budget <json>", "Monthly budget as a JSON object, such as '{\"usd\":20}'.", jsonIn)
    .option(
      "--grant <resource=level>",
      "Right to start with, such as org:hire=use. Can be repeated.",
      grantIn,
    )
    .option("--now", "Hire immediately, without an approval. Only the board can do this.")
    .option("--json", "Print the result as JSON. Asks no questions.")
    .addHelpText(
      "after",
      example('agency hire Vera --role Writer --mandate "Keep the user guide up to date"'),
    )
    .action((name: string | undefined, flags: Flags) => hire(context, name, flags));
}

async function hire(context: Context, given: string | undefined, flags: Flags): Promise<void> {
  const { ask } = flags.json === true ? {} : context.terminal;
  const guided = given === undefined || flags.role === undefined;
  const answer = async (question: string, value: string | undefined, required = false): Promise<string> => {
    if (value !== undefined || !guided || ask === undefined) return value ?? "";
    for (;;) {
      const line = (await ask(`${question}: `)).trim();
      if (line !== "" || !required) return line;
    }
  };
  const name = await answer("Name", given, true);
  const role = await answer("Role", flags.role, true);
  if (name === "" || role === "") throw hireNeeds();
  const title = await answer("Job title (optional)", flags.title);
  const mandate = await answer("What should the agent be responsible for? (optional)", flags.mandate);
  const prompt = await answer("How should the agent work? (optional)", flags.prompt);
  const adapterType = await answer("Brain (press Enter for the company's default)", flags.brain);
  const client = clientOf(context.env);
  const input = {
    companyId: await companyOf(client, flags.company),
    name,
    role,
    ...said({
      title,
      mandate,
      prompt,
      adapterType,
      capabilities: flags.capabilities,
      reportsTo: flags.reportsTo,
      adapterConfig: flags.config,
      model: flags.model,
      effort: flags.effort,
      budget: flags.budget,
      grants: flags.grant,
    }),
  };
  const { out } = context.terminal;
  if (flags.now === true) {
    const agent = createAgent.output.parse(await client.callAny(createAgent, input));
    return out(flags.json === true ? JSON.stringify({ agent, approval: null }) : hired(agent));
  }
  const result = hireAgent.output.parse(await client.callAny(hireAgent, input));
  if (flags.json === true) return out(JSON.stringify(result));
  if (result.approval === null) return out(hired(result.agent));
  const { id, changes } = await client.call(viewApproval, { id: result.approval.id });
  const lines = changes.map((line) => `  ${line}`).join("\n");
  out(`The hire of ${result.agent.name} needs approval ${id}:\n${lines}\n${howToDecide(id)}`);
}

const hired = ({ name, id }: { name: string; id: string }): string => `Hired ${name} (${id}).`;

/** Empty answers are left out of the call rather than sent as empty strings. */
function said(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== ""),
  );
}

function jsonIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Reported below, as for JSON that is not an object.
  }
  throw new InvalidArgumentError("It must be a JSON object.");
}

function grantIn(text: string, before: Flags["grant"] = []): Flags["grant"] {
  const [resource = "", level] = text.split("=");
  return [...before, { resource, ...(level === undefined ? {} : { level }) }];
}
