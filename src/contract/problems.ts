import { z } from "zod";
import { howToFind } from "./listing.ts";
import { type NounOfId, nounsOfIds } from "./words.ts";

/**
 * The mistakes in an input as sentences: which argument, the given value, the expected value. Every refusal of a wrong input is
 * written here, and zod's own messages reach no reader. The message of a check in a schema completes "Use …".
 */
export interface Problem {
  readonly says: string;
  /** For a wrong id: the tool and the command that list the right ones. */
  readonly hint?: string;
}

/**
 * The problems of a value that a schema refused with `reportInput`. `place` is the position of the value within a larger one.
 */
export function problemsIn(schema: z.core.$ZodType, error: z.ZodError, place?: string): Problem[] {
  return error.issues.slice(0, mostProblems).map((issue) => problemOf(schema, issue, place));
}

/** Checks a value against a schema. */
export function check<S extends z.ZodType>(
  schema: S,
  value: unknown,
  place?: string,
): { readonly data: z.output<S> } | { readonly problems: readonly Problem[] } {
  const parsed = schema.safeParse(value, { reportInput: true });
  return parsed.success ? { data: parsed.data } : { problems: problemsIn(schema, parsed.error, place) };
}

export const sentencesOf = (problems: readonly Problem[]): string =>
  problems
    .map(({ says }) => says)
    .join(" ")
    .slice(0, 1000);

const mostProblems = 5;

function problemOf(schema: z.core.$ZodType, issue: z.core.$ZodIssue, place?: string): Problem {
  const { input } = issue;
  const path = [...(place === undefined ? [] : [place]), ...issue.path];
  const name = path.length === 0 ? "The input" : `\`${placeOf(path)}\``;
  if (input === undefined) return { says: `${name} is missing.` };
  const noun = issue.code === "invalid_format" ? nounAt(schema, issue.path) : undefined;
  if (noun === undefined) return { says: sentence(schema, issue, path, name) };
  const where = path.length === 1 && path[0] === "id" ? "" : ` (${name})`;
  const says = `${quoted(input)}${where} is not ${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}.`;
  const hint = howToFind(noun);
  return hint === undefined ? { says } : { says, hint };
}

function sentence(
  schema: z.core.$ZodType,
  issue: z.core.$ZodIssue,
  path: readonly PropertyKey[],
  name: string,
): string {
  const wrong = (expected: string): string =>
    `${name} ${isPrivate(path) ? "is not valid" : `is ${quoted(issue.input)}`}. Use ${expected}.`;
  switch (issue.code) {
    case "invalid_type":
      return `${name} must be ${typeWords[issue.expected] ?? issue.expected}.`;
    case "invalid_value":
      return wrong(oneOf(issue.values));
    case "too_big":
      return tooMuch(issue, name);
    case "too_small":
      return tooLittle(issue, name);
    case "unrecognized_keys":
      return unknownKeys(schema, issue, path);
    case "invalid_union":
      if ("options" in issue && issue.options !== undefined)
        return `${name} must be ${oneOf(issue.options)}.`;
      return issue.message === "Invalid input"
        ? `${name} does not have the right form.`
        : wrong(issue.message);
    default:
      return wrong(issue.message);
  }
}

const typeWords: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

const units: Readonly<Record<string, string>> = { string: "characters", array: "entries" };

function tooMuch({ origin, maximum, input }: z.core.$ZodIssueTooBig, name: string): string {
  return units[origin] === undefined
    ? `${name} is ${quoted(input)}. The maximum is ${String(maximum)}.`
    : `${name} has ${sizeOf(input)} ${units[origin]}. The limit is ${String(maximum)}.`;
}

function tooLittle({ origin, minimum, inclusive, input }: z.core.$ZodIssueTooSmall, name: string): string {
  const rule = `${inclusive === false ? "It must be more than" : "The minimum is"} ${String(minimum)}.`;
  if (units[origin] === undefined) return `${name} is ${quoted(input)}. ${rule}`;
  return sizeOf(input) === 0 ? `${name} is empty.` : `${name} has ${sizeOf(input)} ${units[origin]}. ${rule}`;
}

const sizeOf = (input: unknown): number =>
  typeof input === "string" || Array.isArray(input) ? input.length : 0;

function unknownKeys(
  schema: z.core.$ZodType,
  issue: z.core.$ZodIssueUnrecognizedKeys,
  path: readonly PropertyKey[],
): string {
  const unknown = issue.keys.slice(0, 3).map((key) => `\`${placeOf([...path, key.slice(0, 60)])}\``);
  const known = schemasAt(schema, issue.path).flatMap((at) =>
    at instanceof z.ZodObject ? Object.keys(at.shape) : [],
  );
  const takes = list([...new Set(known)], "and") || "nothing";
  return `${list(unknown, "and")} ${unknown.length === 1 ? "is" : "are"} unknown.${path.length === 0 ? "" : ` \`${placeOf(path)}\` takes ${takes}.`}`;
}

/** The kind of thing the id at this place names, if the place takes an id. */
export function nounAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): NounOfId | undefined {
  return schemasAt(schema, path).flatMap((at) => nounsOfIds.get(at)?.noun ?? [])[0];
}

/** The schemas for a value at this place: several if the path leads through a union. */
function schemasAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType[] {
  let found = unwrapped(schema);
  for (const key of path) found = found.flatMap((at) => inside(at, key)).flatMap(unwrapped);
  return found;
}

function inside(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType[] {
  if (schema instanceof z.ZodObject) return schema.shape[String(key)] ?? [];
  if (schema instanceof z.ZodArray) return [schema.element];
  return schema instanceof z.ZodRecord ? [schema.valueType] : [];
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrapped(schema.unwrap());
  if (schema instanceof z.ZodPipe) return unwrapped(schema.in);
  return schema instanceof z.ZodUnion ? schema.options.flatMap(unwrapped) : [schema];
}

/** `tasks[0].title` */
function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((key, index) => (typeof key === "number" ? `[${key}]` : `${index === 0 ? "" : "."}${String(key)}`))
    .join("");
}

/** Configurations may hold secrets, so a refusal does not repeat their content. */
const isPrivate = (path: readonly PropertyKey[]): boolean =>
  path.some((key) => ["adapterConfig", "config", "payload", "content", "env"].includes(String(key)));

function quoted(input: unknown): string {
  if (typeof input === "object" && input !== null) return Array.isArray(input) ? "a list" : "an object";
  const text = JSON.stringify(typeof input === "string" ? input.toWellFormed() : String(input)).slice(1, -1);
  return text === "" ? "empty" : `\`${text.length > 60 ? `${text.slice(0, 60).toWellFormed()}…` : text}\``;
}

const oneOf = (values: readonly unknown[]): string =>
  values.length === 1 ? String(values[0]) : list(values.map(String), "or");

function list(words: readonly string[], joint: "and" | "or"): string {
  return words.length < 2
    ? words.join("")
    : `${words.slice(0, -1).join(", ")} ${joint} ${words.at(-1) ?? ""}`;
}
