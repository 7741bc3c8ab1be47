// Hostile text in every field of every operation that takes text. The fields come from the schemas, and their kinds from the
// list below. A field that is missing there has no row and fails the suite.
import assert from "node:assert/strict";
import { inputSchema } from "../../src/contract/json-schema.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { Refusal } from "../../src/contract/refusal.ts";
import { showsItself } from "../../src/contract/visible-text.ts";
import { thirdOf } from "../../src/testing/seeds.ts";
import { leavesOf } from "../input-places.ts";
import { table } from "../walk-table.ts";
import type { Row, World } from "../walk-row.ts";
import type { DaemonAttack } from "./attack.ts";

/**
 * reference: an id, a name of something that exists, a time, a hash, a cursor, a path: anything else is refused.
 * line: shown in lists and sentences, so one line of visible text.
 * text: free text, stored as it is and quoted where it is shown.
 * query: words to look for; any text is fine.
 * settings: keys that a brain's schema checks.
 */
export type FieldKind = "reference" | "line" | "text" | "query" | "settings";

/** The kinds of fields, by the last part of the field's path. */
export const fieldKinds: Readonly<Record<string, FieldKind>> = {
  ...kindOf(
    "reference",
    "cursor",
    "digest",
    "companyId",
    "id",
    "keyId",
    "url",
    "hosts",
    "reads",
    "writes",
    "defaultAdapterType",
    "allowedAdapterTypes",
  ),
  ...kindOf(
    "reference",
    "chatLLMProvider",
    "adapterType",
    "reportsTo",
    "resource",
    "path",
    "mediaType",
    "hash",
  ),
  ...kindOf(
    "reference",
    "parents",
    "dependsOn",
    "to",
    "outcome",
    "assignee",
    "until",
    "on",
    "agent",
    "payloadHash",
  ),
  ...kindOf(
    "reference",
    "month",
    "nextAgent",
    "requestId",
    "repo",
    "branch",
    "onto",
    "file",
    "files",
    "deliverAt",
    "inReplyTo",
    "with",
    "of",
    "boss",
    "reports",
    "outcomes",
    "agents",
  ),
  ...kindOf(
    "reference",
    "into",
    "invariant",
    "command",
    "args",
    "type",
    "test",
    "baseUrl",
    "secret",
    "defaultModel",
    "clientId",
    "clientSecret",
    "scope",
    "answer",
  ),
  ...kindOf("reference", "person", "code", "owner", "ids", "actor", "operation", "subject", "from"),
  ...kindOf("line", "name", "title", "role", "label", "fileName"),
  ...kindOf(
    "text",
    "reason",
    "capabilities",
    "prompt",
    "mandate",
    "content",
    "description",
    "rationale",
    "note",
  ),
  ...kindOf(
    "text",
    "acceptance",
    "message",
    "testOutput",
    "decisionNote",
    "body",
    "plan",
    "result",
    "summary",
    "model",
    "chatLLMModel",
  ),
  // A secret may be any text. No answer shows it.
  ...kindOf("query", "query", "q", "text", "value"),
  ...kindOf(
    "settings",
    "defaultAdapterConfig.*",
    "adapterConfig.*",
    "payload.*",
    "models.*",
    "env.*",
    "headers.*",
  ),
};

function kindOf(kind: FieldKind, ...names: string[]): Record<string, FieldKind> {
  return Object.fromEntries(names.map((name) => [name, kind]));
}

const acting = ["a\u001b[2Jb", "a\u202eb", "a\u200bb", "a\u009bb", "a\u{e0041}b"];
const broken = ["a\u0000b", "a\ud800b"];
const tricky = [
  "'; drop table agents; --",
  '" OR * NEAR(',
  "%_\\",
  "$(id) `id` ${HOME}",
  "../../x",
  "-".repeat(5000),
];

const texts = [...acting, ...broken, ...tricky];

export const placesOf = (operation: Operation): string[] => leavesOf(inputSchema(operation.input), "");

const lastPart = (place: string): string => {
  const parts = place.replaceAll("[]", "").split(".");
  return parts.at(-1) === "*" ? parts.slice(-2).join(".") : (parts.at(-1) ?? "");
};

export const kindAt = (place: string): FieldKind | undefined => fieldKinds[lastPart(place)];

/**
 * The last input that no call has used up. A refusal changes nothing, so its input also serves for the next text and the next
 * field of the same operation.
 */
const unused = new WeakMap<World, { row: Row; input: Readonly<Record<string, unknown>> }>();

async function inputOf(row: Row, world: World): Promise<Readonly<Record<string, unknown>>> {
  const known = unused.get(world);
  if (known?.row === row) return known.input;
  const input = await row.input(world);
  unused.set(world, { row, input });
  return input;
}

const fields = table.flatMap((row) => placesOf(row.operation).map((place) => ({ row, place })));

/**
 * The numbers of the tried pairs of a field and a text. A quick run tries some texts in each field, and other texts in the next
 * run.
 */
const tried = new Set(thirdOf(fields.flatMap((_, field) => texts.map((_, text) => pair(field, text)))));

function pair(field: number, text: number): number {
  return field * texts.length + text;
}

export const textFieldAttacks: readonly DaemonAttack[] = fields.map(({ row, place }, field): DaemonAttack => {
  const kind = kindAt(place);
  return {
    class: "injection",
    threat: "text that breaks out of its field",
    attempt: `hostile text in ${place} of ${row.operation.name}`,
    expected:
      kind === "line"
        ? "refused unless it becomes one visible line"
        : "refused or stored as it is, never an error of the daemon",
    run: async ({ world }) => {
      assert.ok(kind !== undefined, `what is ${place}? Add it to fieldKinds`);
      for (const text of texts.filter((_, at) => tried.has(pair(field, at)))) {
        const input = deepSet(
          await inputOf(row, world),
          place,
          kind === "settings" ? { [text]: text } : text,
        );
        const answer = await world.org.core
          .dispatch({ operation: row.operation, token: world.tokens[row.actor], input })
          .then(
            (output: unknown) => ({ output }),
            (error: unknown) => ({ error }),
          );
        if ("error" in answer) {
          assert.ok(answer.error instanceof Refusal, `${JSON.stringify(text)}: ${String(answer.error)}`);
          assert.ok(showsItself(answer.error.message, "\n"), `the refusal repeats ${JSON.stringify(text)}`);
          continue;
        }
        unused.delete(world);
        if (row.saysMalformed?.(answer.output) !== true) {
          const isTaken = JSON.stringify(answer.output).includes(JSON.stringify(text).slice(1, -1));
          assert.ok(!broken.includes(text) || isContent(place), `${JSON.stringify(text)} was taken`);
          assert.ok(
            kind !== "line" || !acting.includes(text) || !isTaken,
            `${JSON.stringify(text)} was taken`,
          );
        }
      }
    },
  };
});

/** The content of a file may be any bytes. */
const isContent = (place: string): boolean => place === "content" || place === "files[].content";

/** The input with the value at this path. Missing objects and lists on the way are created. */
function deepSet(
  base: Readonly<Record<string, unknown>>,
  place: string,
  value: unknown,
): Record<string, unknown> {
  const set = (at: unknown, [first, ...rest]: readonly string[]): unknown => {
    if (first === undefined || first === "*") return value;
    if (first === "[]") {
      const list: unknown[] = Array.isArray(at) ? at : [];
      return [set(list[0], rest), ...list.slice(1)];
    }
    const object: Record<string, unknown> = typeof at === "object" && at !== null ? { ...at } : {};
    return { ...object, [first]: set(object[first], rest) };
  };
  const parts = place
    .split(".")
    .flatMap((part) => (part.endsWith("[]") ? [part.slice(0, -2), "[]"] : [part]));
  const changed = set(base, parts);
  assert.ok(typeof changed === "object" && changed !== null);
  return { ...changed };
}
