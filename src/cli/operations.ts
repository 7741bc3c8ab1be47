import { readFileSync } from "node:fs";
import { isUtf8 } from "node:buffer";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Client } from "../client/client.ts";
import { inputSchema } from "../contract/json-schema.ts";
import type { Operation } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { Id } from "../contract/words.ts";
import { screens } from "./screens.ts";
import { show } from "./show.ts";
import { agentOf, clientOf, companyOf, type Context } from "./terminal.ts";
import { companyFlag, example, jsonFlag, notAnId, notJson, nounHelp } from "./texts.ts";

/** Adds a command for every operation that declares one: `agency kb read <id>` is the operation with `cli.command` "kb read". */
export function addOperations(program: Command, context: Context): void {
  const nouns = new Map<string, Command>();
  for (const operation of operations) {
    if (operation.cli === undefined) continue;
    const [noun = "", verb] = operation.cli.command.split(" ");
    if (verb === undefined) {
      addVerb(program.command(noun), operation, context);
      continue;
    }
    let parent = nouns.get(noun);
    if (parent === undefined) {
      parent = program.command(noun).description(nounHelp[noun] ?? "");
      nouns.set(noun, parent);
    }
    // `agency agents` without a verb means `agency agents list`.
    addVerb(parent.command(verb, { isDefault: verb === "list" }), operation, context);
  }
}

interface Property {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Property[];
  readonly oneOf?: readonly Property[];
}

function addVerb(command: Command, operation: Operation, context: Context): void {
  command.description(operation.summary).summary(firstSentence(operation.summary));
  const properties = propertiesOf(operation);
  const args = operation.cli?.args ?? [];
  for (const key of args)
    command.argument(
      properties.get(key)?.required === true ? `<${key}>` : `[${key}]`,
      properties.get(key)?.schema.description,
    );
  for (const [key, { schema }] of properties) {
    if (args.includes(key) || key === "companyId" || key === "path") continue;
    command.addOption(optionFor(key, schema));
  }
  const takesContent = properties.has("content");
  if (takesContent)
    command.option("--file <path>", "File to read the content from. Use - for standard input.");
  if (properties.has("companyId")) command.option(...companyFlag);
  command.option("--key <key>", "Idempotency key. Repeating a call with the same key changes nothing twice.");
  command.option(...jsonFlag);
  const { cli } = operation;
  if (cli?.example !== undefined)
    command.addHelpText("after", example(`agency ${cli.command} ${cli.example}`));
  command.action(async (...given: unknown[]) => {
    const flags: Record<string, unknown> = command.opts();
    const input: Record<string, unknown> = {};
    for (const [index, key] of args.entries()) {
      const value = given[index];
      const isJson = typeof value === "string" && typeOf(properties.get(key)?.schema ?? {}) === "object";
      if (value !== undefined) input[key] = isJson ? jsonArgument(key, value) : value;
    }
    for (const [key] of properties) {
      const value = flags[key];
      if (value !== undefined) input[key] = value === setToNull ? null : value;
    }
    if (takesContent && typeof flags["file"] === "string")
      Object.assign(input, await contentFrom(flags["file"], context));
    const client = clientOf(context.env);
    const [noun, subject] = Object.entries(Object(operation.within))[0] ?? [];
    if (typeof subject === "string" && typeof input[subject] === "string" && args.includes(subject))
      input[subject] = await idOf(client, noun, input[subject]);
    const company = typeof flags["company"] === "string" ? flags["company"] : undefined;
    if (operation.http.path.includes(":companyId") || company !== undefined)
      input["companyId"] = await companyOf(client, company);
    const key = typeof flags["key"] === "string" ? { key: flags["key"] } : {};
    const output = await client.callAny(operation, input, key);
    context.terminal.out(
      flags["json"] === true
        ? JSON.stringify(output)
        : (screens[operation.cli?.command ?? ""] ?? show)(output),
    );
  });
}

/** The list of commands shows one sentence for each. The whole description is in the command's own help. */
const firstSentence = (text: string): string => text.split(/(?<=\.)\s/u)[0] ?? text;

/** A person may give an agent's name or slug instead of its id. Everything else is named by its id only. */
async function idOf(client: Client, noun: string | undefined, given: string): Promise<string> {
  if (Id.safeParse(given).success) return given;
  if (noun === "agent" || noun === "agent or outcome") return agentOf(client, given);
  throw notAnId(noun ?? "thing", given);
}

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
  const flag = `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  if (type === "boolean")
    return new Option(`${flag} [on|off]`, schema.description).argParser(parseSwitch).preset("on");
  if (type === "array")
    return new Option(`${flag} <value...>`, schema.description).argParser((text: string, before: unknown) => [
      ...(Array.isArray(before) ? before : []),
      text.startsWith("{") ? parseJson(text) : text,
    ]);
  const orNull =
    (parse: (text: string) => unknown) =>
    (text: string): unknown =>
      text === "null" && takesNull(schema) ? setToNull : parse(text);
  if (type === "object") return new Option(`${flag} <json>`, schema.description).argParser(orNull(parseJson));
  if (type === "integer" || type === "number")
    return new Option(`${flag} <number>`, schema.description).argParser(orNull(parseNumber));
  const option = new Option(`${flag} <value>`, schema.description);
  if (schema.enum !== undefined) return option.choices([...schema.enum]);
  return takesNull(schema) ? option.argParser(orNull((text) => text)) : option;
}

/** What `--blocked null` means. Commander turns a parser's null into an empty string, so a symbol stands for it until the call. */
const setToNull = Symbol("null");

const takesNull = ({ type, anyOf, oneOf }: Property): boolean =>
  type === "null" || (anyOf ?? oneOf ?? []).some(takesNull);

function typeOf(schema: Property): string {
  if (schema.type !== undefined) return schema.type;
  const kinds = (schema.anyOf ?? schema.oneOf ?? []).map(typeOf);
  for (const kind of ["boolean", "object", "array", "integer", "number"])
    if (kinds.includes(kind)) return kind;
  return "string";
}

/** Commander reports a bad option by itself. A bad argument is reported here. */
function jsonArgument(key: string, text: string): unknown {
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

/** Anything but these six words is refused: a switch that guesses turns rights on by mistake. */
function parseSwitch(text: string): boolean {
  if (["on", "yes", "true"].includes(text)) return true;
  if (["off", "no", "false"].includes(text)) return false;
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
