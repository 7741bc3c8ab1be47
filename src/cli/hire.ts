import type { Command } from "commander";
import { hireAgent, createAgent, efforts } from "../contract/hiring.ts";
import { viewApproval } from "../contract/approvals.ts";
import { parseJson } from "./operations.ts";
import { clientOf, companyOf, type Context, print } from "./terminal.ts";
import { companyFlag, example, hireNeeds, howToDecide } from "./texts.ts";

/** The flags that are not keys of the call by the same name. The other flags are passed on as they are. */
interface Flags extends Partial<Record<"role" | "title" | "mandate" | "prompt", string>> {
  readonly company?: string;
  readonly brain?: string;
  readonly config?: unknown;
  readonly grant?: readonly { readonly resource: string; readonly level?: string | undefined }[];
  readonly now?: true;
  readonly json?: true;
}

/** `agency hire` takes flags. On a terminal it asks for the name, the role and what is missing. */
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
    .option("--config <json>", "Configuration of the brain, as a JSON object.", parseJson)
    .option("--model <name>", "Model to use, if the brain offers a choice.")
    .option("--effort <effort>", `How hard the model should think: ${efforts.join(", ")}.`)
    .option("--budget <json>", "Monthly budget as a JSON object, such as '{\"usd\":20}'.", parseJson)
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
  const { company, brain, config, grant, now, json, ...said } = flags;
  const { ask } = json === true ? {} : context.terminal;
  const guided = given === undefined || said.role === undefined;
  const answer = async (question: string, value: string | undefined, required = false) => {
    if (value !== undefined || !guided || ask === undefined) return value;
    for (;;) {
      const line = (await ask(`${question}: `)).trim();
      if (line !== "" || !required) return line === "" ? undefined : line;
    }
  };
  const name = await answer("Name", given, true);
  const role = await answer("Role", said.role, true);
  if (!name || !role) throw hireNeeds();
  const asked = {
    name,
    role,
    title: await answer("Job title (optional)", said.title),
    mandate: await answer("What should the agent be responsible for? (optional)", said.mandate),
    prompt: await answer("How should the agent work? (optional)", said.prompt),
    adapterType: await answer("Brain (press Enter for the company's default)", brain),
  };
  const client = clientOf(context.env);
  const companyId = await companyOf(client, company);
  const input = { ...said, ...asked, companyId, adapterConfig: config, grants: grant };
  if (now === true) {
    const agent = createAgent.output.parse(await client.callAny(createAgent, input));
    return print(context, flags, { agent, approval: null }, hired(agent));
  }
  const result = hireAgent.output.parse(await client.callAny(hireAgent, input));
  if (result.approval === null || json === true) return print(context, flags, result, hired(result.agent));
  const { id, changes } = await client.call(viewApproval, { id: result.approval.id });
  const lines = changes.map((line) => `  ${line}`);
  print(
    context,
    flags,
    result,
    `The hire of ${result.agent.name} needs approval ${id}:`,
    ...lines,
    howToDecide(id),
  );
}

const hired = ({ name, id }: { name: string; id: string }): string => `Hired ${name} (${id}).`;

function grantIn(text: string, before: Flags["grant"] = []): Flags["grant"] {
  const [resource = "", level] = text.split("=");
  return [...before, { resource, level }];
}
