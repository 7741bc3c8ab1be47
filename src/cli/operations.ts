import { readFileSync } from "node:fs";
import { isUtf8 } from "node:buffer";
import { type Command, InvalidArgumentError, Option } from "commander";
import { z } from "zod";
import { measures } from "../contract/budgets.ts";
import { inputSchema } from "../contract/json-schema.ts";
import { testBrain } from "../contract/hiring.ts";
import { sendMessage } from "../contract/mail.ts";
import { viewTranscript } from "../contract/sessions.ts";
import { flagOf, type Operation } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { Refusal } from "../contract/refusal.ts";
import { nounAt } from "../contract/problems.ts";
import { remember, seenHash } from "./approvals.ts";
import { bytesOf } from "./saving.ts";
import { screens } from "./screens.ts";
import { show } from "./show.ts";
import { idNamed, resourceNamed } from "./resolving.ts";
import { sentenceOf } from "./sentences.ts";
import { clientOf, companyOf, type Context, isInPosition, drawingFor, drawingOf } from "./terminal.ts";
import { companyFlag, decideQuestion, example, jsonFlag, lookAgain, notJson, nounHelp } from "./texts.ts";

/** Adds a command for every operation that declares one: `agency kb read <id>` is the operation with `cli.command` "kb read". */
export function addOperations(program: Command, context: Context, words: readonly string[]): void {
  const nouns = new Map<string, Command>();
  for (const operation of operations) {
    if (operation.cli === undefined) continue;
    const [noun = "", verb] = operation.cli.command.split(" ");
    // Making the flags takes most of the time of a start, so only the typed command gets them.
    const addFlags = words.includes(noun) ? addVerb : addName;
    if (verb === undefined) {
      addFlags(program.command(noun), operation, context);
      continue;
    }
    let parent = nouns.get(noun);
    if (parent === undefined) {
      parent = program.command(noun).description(nounHelp[noun] ?? "");
      nouns.set(noun, parent);
    }
    // `agency agents` without a verb means `agency agents list`.
    addFlags(parent.command(verb, { isDefault: verb === "list" }), operation, context);
  }
}

function addName(command: Command, operation: Operation): void {
  command.description(operation.summary).summary(firstSentence(operation.summary));
  const required = new Set(
    Object.entries(operation.input.shape).flatMap(([key, schema]) =>
      schema.safeParse(undefined).success ? [] : [key],
    ),
  );
  for (const key of operation.cli?.args ?? [])
    command.argument(key === "companyId" ? "<company>" : required.has(key) ? `<${key}>` : `[${key}]`);
}

interface Property {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Property[];
  readonly oneOf?: readonly Property[];
  readonly properties?: Readonly<Record<string, Property>>;
}

function addVerb(command: Command, operation: Operation, context: Context): void {
  command.description(operation.summary).summary(firstSentence(operation.summary));
  const properties = propertiesOf(operation);
  const args = operation.cli?.args ?? [];
  for (const key of args)
    command.argument(
      key === "companyId" ? "<company>" : properties.get(key)?.required === true ? `<${key}>` : `[${key}]`,
      key === "companyId"
        ? "Id, name or slug of the company."
        : named(properties.get(key)?.schema.description),
    );
  for (const [key, { schema }] of properties) {
    if (args.includes(key) || key === "companyId" || key === "path") continue;
    command.addOption(operation === sendMessage && key === "to" ? toSeveral : optionFor(key, schema));
  }
  const takesContent = properties.has("content");
  if (takesContent)
    command.option("--file <path>", "File to read the content from. Use - for standard input.");
  const takesCompany = properties.has("companyId") && !args.includes("companyId");
  // A name is unique only within its company.
  if (takesCompany || (typeof operation.within === "object" && args.length > 0))
    command.option(...companyFlag);
  command.option("--key <key>", "Idempotency key. Repeating a call with the same key changes nothing twice.");
  command.option(...jsonFlag);
  const { cli } = operation;
  if (cli !== undefined)
    command.addHelpText("after", example(`agency ${cli.command} ${cli.example ?? ""}`.trim()));
  command.action(async (...given: unknown[]) => {
    const flags: Record<string, unknown> = command.opts();
    const input: Record<string, unknown> = {};
    for (const [index, key] of args.entries()) {
      const value = given[index];
      const isJson = typeof value === "string" && typeOf(properties.get(key)?.schema ?? {}) === "object";
      if (value !== undefined) input[key] = isJson ? jsonArgument(key, value) : value;
    }
    for (const [key] of properties) {
      const value = flags[new Option(flagOf(key)).attributeName()];
      if (value !== undefined) input[key] = value === setToNull ? null : value;
    }
    if (takesContent && typeof flags["file"] === "string")
      Object.assign(input, await contentFrom(flags["file"], context));
    const client = clientOf(context.env);
    const named = input["companyId"] ?? flags["company"];
    const company = typeof named === "string" ? named : undefined;
    for (const [key, value] of Object.entries(input)) input[key] = await resolved(key, value);
    const { fromPosition } = operation;
    const asked = fromPosition !== undefined && (await isInPosition(client)) ? fromPosition : operation;
    const isNamed = asked.http.path.includes(":companyId") || company !== undefined;
    if (isNamed && "companyId" in asked.input.shape) input["companyId"] = await companyOf(client, company);
    const key = typeof flags["key"] === "string" ? { key: flags["key"] } : {};
    if (operation === sendMessage && Array.isArray(input["to"])) {
      const recipients = input["to"].map(String);
      input["to"] = recipients.pop();
      // Each recipient gets a separate message. If one is refused, the earlier ones have been sent.
      for (const to of recipients) {
        const copy = await client.callAny(
          asked,
          { ...input, to },
          key.key ? { key: `${key.key} ${to}` } : {},
        );
        context.terminal.out(flags["json"] === true ? JSON.stringify(copy) : await textOf(copy));
      }
    }
    const call = () => client.callAny(asked, input, key);
    const isDecision = operation.name in decideQuestion && input["payloadHash"] === undefined;
    const output = isDecision ? await decided(String(input["id"])) : await call();
    remember(context, output);
    if (operation === testBrain && testBrain.output.parse(output).status !== "works") context.exitCode = 1;
    if (flags["json"] === true) return context.terminal.out(JSON.stringify(output));
    const content = FileBytes.safeParse(output);
    if (content.success)
      return context.terminal.raw === undefined
        ? context.terminal.exact(show(output, drawingOf(context.terminal, context.shorts)))
        : context.terminal.raw(bytesOf(content.data));
    const text = await textOf(output);
    // A transcript is a record, so its ids stay those that the agent saw.
    if (operation === viewTranscript) context.terminal.exact(text);
    else context.terminal.out(text);

    async function textOf(result: unknown): Promise<string> {
      const look = await drawingFor(context, result);
      const says = sentenceOf(operation, result, look);
      return says ?? (screens[operation.cli?.command ?? ""] ?? show)(result, look);
    }

    /** The id of the thing that a person named. Values of other inputs stay unchanged. */
    async function resolved(key: string, value: unknown): Promise<unknown> {
      if (Array.isArray(value)) return Promise.all(value.map((one) => resolved(key, one)));
      if (typeof value !== "string" || key === "companyId") return value;
      if (key === "resource") return resourceNamed(context, client, value, company);
      const one = nounAt(operation.input, [key]) ?? nounAt(operation.input, [key, 0]);
      return one === undefined ? value : idNamed(context, client, one, value, company);
    }

    /** Sends a decision with the hash of the displayed request. */
    async function decided(id: string): Promise<unknown> {
      input["payloadHash"] = await seenHash(context, client, operation.name, id, flags["json"] === true);
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof Refusal) || error.details?.["payloadHash"] === undefined) throw error;
        throw lookAgain(error.message, id);
      }
    }
  });
}

const toSeveral = new Option(
  "--to <agent...>",
  "Agents by slug or id, or `board`. Each of several gets a message. Default: the writer of --in-reply-to.",
);

/** The content of a file, which goes to a pipe unchanged. */
const FileBytes = z.object({ content: z.string(), encoding: z.enum(["utf8", "base64"]), hash: z.string() });

/** The description of an input that takes an id. Calls take ids, but people can also type what the screens show. */
const named = (description: string | undefined): string | undefined =>
  description?.replace(/^UUID(s?) of (?=\w+ ?)/, "Id$1, short id$1 or name$1 of ");

/** The list of commands shows one sentence for each. A command's own help has the whole description. */
const firstSentence = (text: string): string => text.split(/(?<=\.)\s/u)[0] ?? text;

function propertiesOf(operation: Operation): Map<string, { schema: Property; required: boolean }> {
  const schema = inputSchema(operation.input);
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const properties: [string, Property][] = Object.entries(schema["properties"] ?? {});
  return new Map(
    properties.map(([key, property]) => [key, { schema: property, required: required.includes(key) }]),
  );
}

function optionFor(key: string, schema: Property): Option {
  const type = typeOf(schema);
  // Every command that takes the type of a brain has this flag. The name of the input works as well.
  const flag = key === "adapterType" ? `--brain, ${flagOf(key)}` : flagOf(key);
  if (type === "boolean")
    return new Option(`${flag} [on|off]`, schema.description).argParser(parseSwitch).preset("on");
  if (type === "array")
    return new Option(`${flag} <value...>`, schema.description).argParser((text: string, before: unknown) => [
      ...(Array.isArray(before) ? before : []),
      ...[/^[[{]/.test(text) ? parseJson(text) : text].flat(),
    ]);
  const orNull =
    (parse: (text: string) => unknown) =>
    (text: string): unknown =>
      (text === "none" || text === "null") && takesNull(schema) ? setToNull : parse(text);
  if (isBudget(schema))
    return new Option(`${flag} <amount>`, schema.description).argParser(
      takesNull(schema) ? orNull(budgetIn) : budgetIn,
    );
  if (type === "object") return new Option(`${flag} <json>`, schema.description).argParser(orNull(parseJson));
  if (type === "integer" || type === "number")
    return new Option(`${flag} <number>`, schema.description).argParser(orNull(parseNumber));
  const option = new Option(`${flag} <value>`, schema.description);
  if (schema.enum !== undefined) return option.choices([...schema.enum]);
  return takesNull(schema) ? option.argParser(orNull((text) => text)) : option;
}

/**
 * The value of `--blocked none`. Commander turns a parser's null into an empty string, so a symbol stands for null until the
 * call.
 */
const setToNull = Symbol("null");

const takesNull = ({ type, anyOf, oneOf }: Property): boolean =>
  type === "null" || (anyOf ?? oneOf ?? []).some(takesNull);

const isBudget = ({ properties, anyOf, oneOf }: Property): boolean =>
  properties === undefined
    ? (anyOf ?? oneOf ?? []).some(isBudget)
    : measures.every((key) => key in properties);

/** `20` and `$20` are dollars, `none` removes every limit, and JSON names the measures. */
export function budgetIn(text: string): unknown {
  const [, usd] = /^\$?(\d+(?:\.\d+)?)$/.exec(text.trim()) ?? [];
  if (usd !== undefined) return { usd: Number(usd) };
  if (text === "none") return Object.fromEntries(measures.map((key) => [key, null]));
  if (text.startsWith("{")) return parseJson(text);
  throw new InvalidArgumentError("Use dollars such as 20, `none`, or JSON such as '{\"tokens\": 1000000}'.");
}

function typeOf(schema: Property): string {
  if (schema.type !== undefined) return schema.type;
  const kinds = (schema.anyOf ?? schema.oneOf ?? []).map(typeOf);
  for (const kind of ["boolean", "object", "array", "integer", "number"])
    if (kinds.includes(kind)) return kind;
  return "string";
}

/** Commander reports an invalid option itself. An invalid argument is reported here. */
export function jsonArgument(key: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson(key);
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError("It must be JSON.");
  }
}

/** Only these six words are accepted: a switch that guesses could turn on rights by mistake. */
function parseSwitch(text: string): boolean {
  const word = text.toLowerCase();
  if (["on", "yes", "true"].includes(word)) return true;
  if (["off", "no", "false"].includes(word)) return false;
  throw new InvalidArgumentError("Use on or off (also yes or no, true or false).");
}

function parseNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number)) throw new InvalidArgumentError("It must be a number.");
  return number;
}

async function contentFrom(
  path: string,
  context: Context,
): Promise<{ content: string; encoding: "utf8" | "base64" }> {
  const bytes = path === "-" ? await context.terminal.readStdin() : readFileSync(path);
  return isUtf8(bytes)
    ? { content: bytes.toString("utf8"), encoding: "utf8" }
    : { content: bytes.toString("base64"), encoding: "base64" };
}
