import { readFileSync } from "node:fs";
import { isUtf8 } from "node:buffer";
import { type Command, InvalidArgumentError, Option } from "commander";
import { inputSchema } from "../contract/json-schema.ts";
import type { Operation } from "../contract/operation.ts";
import { operations } from "../contract/operations.ts";
import { Refusal } from "../contract/refusal.ts";
import { show } from "./show.ts";
import { agentOf, clientOf, companyOf, type Context } from "./terminal.ts";

/** Commands made from the table of operations: `kb read <id>` is the operation whose `cli.command` says so. */
export function addOperations(program: Command, context: Context): void {
  const nouns = new Map<string, Command>();
  for (const operation of operations) {
    if (operation.cli === undefined || handmade.has(operation.cli.command)) continue;
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
    // A noun alone lists what there is.
    addVerb(parent.command(verb, { isDefault: verb === "list" }), operation, context);
  }
}

export const handmade = new Set(["audit verify"]);

const nounHelp: Readonly<Record<string, string>> = {
  companies: "Companies and their settings.",
  agents: "Agents and their keys.",
  kb: "The knowledge base.",
  outcomes: "Outcomes: what is to be achieved, how and why.",
  mail: "Messages: receipts, deferred ones, acknowledgement.",
  skills: "What agents can read up on: folders with a SKILL.md.",
  sessions: "Runs of agents: what they did and printed.",
  access: "Who may do what, and why.",
  approvals: "What waits for a person's yes, and what was decided.",
  reorg: "Who reports to whom: plan a change, apply it, undo it.",
  audit: "The record of everything that happened.",
};

interface Property {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Property[];
  readonly oneOf?: readonly Property[];
}

function addVerb(command: Command, operation: Operation, context: Context): void {
  command.description(operation.summary);
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
    command.option("--file <path>", "Read the content from this file; - reads standard input.");
  if (properties.has("companyId"))
    command.option("--company <id or name>", "The company, when there are several.");
  command.option("--key <key>", "Idempotency key: the same key answers the first result.");
  command.option("--json", "Print the answer as JSON.");
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
      if (value !== undefined) input[key] = value;
    }
    if (takesContent && typeof flags["file"] === "string")
      Object.assign(input, await contentFrom(flags["file"], context));
    const client = clientOf(context.env);
    const named = args.find((key) => key === agentKeyOf(operation));
    if (named !== undefined && typeof input[named] === "string")
      input[named] = await agentOf(client, input[named]);
    const company = typeof flags["company"] === "string" ? flags["company"] : undefined;
    if (operation.http.path.includes(":companyId") || company !== undefined)
      input["companyId"] = await companyOf(client, company);
    const key = typeof flags["key"] === "string" ? { key: flags["key"] } : {};
    const output = await client.callAny(operation, input, key);
    context.terminal.out(flags["json"] === true ? JSON.stringify(output) : show(output));
  });
}

/** The part of the input that says which agent it is about. */
function agentKeyOf({ within }: Operation): string | undefined {
  return Object.entries(Object(within)).flatMap(([kind, key]) =>
    (kind === "agent" || kind === "agent or outcome") && typeof key === "string" ? [key] : [],
  )[0];
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
    return new Option(`${flag} [yes]`, schema.description)
      .argParser((text) => text !== "false" && text !== "no")
      .preset(true);
  if (type === "array")
    return new Option(`${flag} <value...>`, schema.description).argParser((text: string, before: unknown) => [
      ...(Array.isArray(before) ? before : []),
      text.startsWith("{") ? parseJson(text) : text,
    ]);
  if (type === "object") return new Option(`${flag} <json>`, schema.description).argParser(parseJson);
  if (type === "integer" || type === "number")
    return new Option(`${flag} <number>`, schema.description).argParser(Number);
  const option = new Option(`${flag} <value>`, schema.description);
  return schema.enum === undefined ? option : option.choices([...schema.enum]);
}

function typeOf(schema: Property): string {
  if (schema.type !== undefined) return schema.type;
  const kinds = (schema.anyOf ?? schema.oneOf ?? []).map(typeOf);
  for (const kind of ["boolean", "object", "array", "integer", "number"])
    if (kinds.includes(kind)) return kind;
  return "string";
}

/** Commander tells of what is wrong with an option; of an argument it is for us to say. */
function jsonArgument(key: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(
      "invalid",
      `${key} is not JSON.`,
      `Write it in single quotes, such as '{"kind":"fire","agent":"ada"}'; agency help and /api/openapi.json say what it takes.`,
    );
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError("This must be JSON.");
  }
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
