import { type Command, InvalidArgumentError } from "commander";
import { hireAgent, createAgent, efforts } from "../contract/hiring.ts";
import { viewApproval } from "../contract/approvals.ts";
import { Refusal } from "../contract/refusal.ts";
import { clientOf, companyOf, type Context } from "./terminal.ts";

/** `agency hire`: by flags, or, at a terminal, by being asked. */
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
  readonly grant: readonly { readonly resource: string; readonly level?: string }[];
  readonly now?: true;
  readonly json?: true;
}

export function addHire(program: Command, context: Context): void {
  program
    .command("hire")
    .description("Hire an agent. Where the company wants it, it waits for approval; --now does without.")
    .argument("[name]", "Its name; asked for when left out.")
    .option("--company <id or name>", "The company, when there are several.")
    .option("--role <role>", "What it is.")
    .option("--title <title>", "What it is called.")
    .option("--mandate <text>", "What it is for.")
    .option("--prompt <text>", "How it works.")
    .option("--capabilities <text>", "What it can do.")
    .option("--reports-to <id>", "Its boss; default the root agent.")
    .option("--brain <type>", "What thinks for it; default the company's.")
    .option("--config <json>", "The brain's configuration.", jsonIn)
    .option("--model <name>", "Which model, where the brain has a choice.")
    .option("--effort <effort>", `One of ${efforts.join(", ")}.`)
    .option("--budget <json>", "What it may spend in a month.", jsonIn)
    .option("--grant <resource=level>", "A right it begins with; may be repeated.", grantIn, [])
    .option("--now", "As the board, without an approval.")
    .option("--json", "Print the result as JSON.")
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
  if (name === "" || role === "")
    throw new Refusal("invalid", "Whom?", "agency hire <name> --role <role>; at a terminal you are asked.");
  const title = await answer("Title (may be empty)", flags.title);
  const mandate = await answer("What is it for? (may be empty)", flags.mandate);
  const prompt = await answer("How should it work? (may be empty)", flags.prompt);
  const adapterType = await answer("Brain (empty: the company's)", flags.brain);
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
      grants: flags.grant.length === 0 ? undefined : [...flags.grant],
    }),
  };
  const { out } = context.terminal;
  if (flags.now === true) {
    const agent = createAgent.output.parse(await client.callAny(createAgent, input));
    out(
      flags.json === true
        ? JSON.stringify({ agent, approval: null })
        : `${agent.name} (${agent.id}) is hired.`,
    );
    return;
  }
  const result = hireAgent.output.parse(await client.callAny(hireAgent, input));
  if (flags.json === true) return out(JSON.stringify(result));
  if (result.approval === null) return out(`${result.agent.name} (${result.agent.id}) is hired.`);
  const { id, changes } = await client.call(viewApproval, { id: result.approval.id });
  const lines = changes.map((line) => `  ${line}`).join("\n");
  out(
    `${result.agent.name} waits for approval ${id}:\n${lines}\nagency approve ${id}, or agency reject ${id}`,
  );
}

/** The rest is left out rather than sent empty. */
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
    // Said below.
  }
  throw new InvalidArgumentError("It must be a JSON object.");
}

function grantIn(text: string, before: Flags["grant"]): Flags["grant"] {
  const [resource = "", level] = text.split("=");
  return [...before, { resource, ...(level === undefined ? {} : { level }) }];
}
