import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { approve } from "./approvals.ts";
import { listCosts, setBudget } from "./budgets.ts";
import { grantPermission } from "./capabilities.ts";
import { putMcpServer } from "./servers.ts";
import { hireAgent } from "./hiring.ts";
import { sendDeferredMessage } from "./mail.ts";
import type { Operation } from "./operation.ts";
import { operations } from "./operation-table.ts";
import { createOutcome, listOutcomes, updateOutcome } from "./outcomes.ts";
import { planWork } from "./delegation.ts";
import { why } from "./why.ts";

import { check } from "./problems.ts";
import { planReorganization } from "./reorganization.ts";

const id = "3f0e1c2a-9b7d-4c1e-8a55-0d6f2b7c9e10";

/** The message of a refusal, and its hints. */
function saidOf({ input }: Operation, value: unknown): string[] {
  const checked = check(input, value);
  return "problems" in checked ? checked.problems.flatMap(({ says, hint }) => [says, hint ?? []].flat()) : [];
}

describe("a wrong input is explained", () => {
  const cases: [name: string, operation: Operation, value: unknown, said: string[]][] = [
    [
      "an id is of a thing, and something lists those",
      approve,
      { id: "01a1e38b" },
      ["`01a1e38b` is not an approval.", "Run `agency approvals` to see them."],
    ],
    [
      "an id of another argument is named by that argument",
      createOutcome,
      { title: "t", parents: [id, "x"] },
      ["`x` (`parents[1]`) is not an outcome.", "Call my_outcomes, or run `agency outcomes`, to see them."],
    ],
    [
      "an id may be of one of two things",
      why,
      { id: "x" },
      [
        "`x` is not an agent or outcome.",
        "Call list_roster or my_outcomes, or run `agency agents` or `agency outcomes`, to see them.",
      ],
    ],
    ["a missing argument", approve, {}, ["`id` is missing."]],
    ["no object at all", approve, "yes", ["The input must be an object."]],
    ["a wrong type", approve, { id, decisionNote: 7 }, ["`decisionNote` must be text."]],
    ["an unknown argument", approve, { id, why: "x" }, ["`why` is unknown."]],
    [
      "an unknown key inside an argument",
      updateOutcome,
      { id, blocked: { reason: "r", tll: 1 } },
      ["`blocked.tll` is unknown. `blocked` takes reason, until and on."],
    ],
    [
      "a word that is not one of several",
      listOutcomes,
      { status: "done" },
      ["`status` is `done`. Use open, submitted, completed or closed."],
    ],
    [
      "a time",
      sendDeferredMessage,
      { to: "self", body: "b", deliverAt: "tomorrow" },
      ["`deliverAt` is `tomorrow`. Use a date and time with a time zone, such as 2030-01-31T09:00:00Z."],
    ],
    ["a month", listCosts, { month: "2030-1" }, ["`month` is `2030-1`. Use a month such as 2030-01."]],
    [
      "text past its limit",
      createOutcome,
      { title: "t".repeat(301), parents: [id] },
      ["`title` has 301 characters. The limit is 300."],
    ],
    ["no entries", createOutcome, { title: "t", parents: [] }, ["`parents` is empty."]],
    ["a number past its bounds", listOutcomes, { limit: 5000 }, ["`limit` is `5000`. The maximum is 1000."]],
    ["text in place of a number", setBudget, { id, usd: "five" }, ["`usd` is `five`. Use a number."]],
    [
      "an invisible name",
      hireAgent,
      { name: " ", role: "Editor" },
      ["`name` is empty. Use at least one visible character."],
    ],
    [
      "a resource",
      grantPermission,
      { to: "ada", resource: "file:x" },
      [
        "`resource` is `file:x`. Use kb:<file id>, outcome:<id>, mail:<agent id>, mail:board, mcp:<server>, repo:<name>, net:<host>, org:hire or org:consult.",
      ],
    ],
    [
      "the kind of a change",
      planReorganization,
      { change: { kind: "promote" } },
      [
        "`change.kind` must be insert_layer, remove_layer, move_report, split, merge, hand_over, fire or shrink.",
      ],
    ],
    [
      "an entry of a list",
      planWork,
      { outcome: id, tasks: [{ title: "Draft" }] },
      ["`tasks[0].assignee` is missing."],
    ],
  ];
  for (const [name, operation, value, said] of cases)
    test(name, () => assert.deepEqual(saidOf(operation, value), said));

  test("a configuration is not repeated, because it may hold a secret", () => {
    const said = saidOf(putMcpServer, { name: "x", config: { type: "http", url: "ftp://token@host" } });
    assert.doesNotMatch(said.join(" "), /token/);
    assert.match(said.join(" "), /Use an http or https URL/);
  });

  test("a long value is shortened", () => {
    const [said = ""] = saidOf(approve, { id: "x".repeat(10_000) });
    assert.ok(said.length < 100);
  });
});

test("the schema of every operation explains what it refuses without zod's own words", () => {
  for (const { name, input } of operations) {
    const wrong = Object.fromEntries(Object.keys(input.shape).map((key) => [key, { surprise: 1 }]));
    for (const value of [{}, wrong, { nonsense: 1 }, null]) {
      const checked = check(input, value);
      const said = "problems" in checked ? checked.problems.map(({ says }) => says).join(" ") : "";
      assert.doesNotMatch(
        said,
        /Invalid|expected|received|undefined|Unrecognized|\[object/,
        `${name}: ${said}`,
      );
    }
  }
});

test("every check in the contract says what to use", () => {
  for (const { name, input } of operations)
    for (const schema of schemasIn(input))
      for (const { _zod } of schema._zod.def.checks ?? []) {
        const { check: kind, error } = _zod.def;
        const format = "format" in _zod.def ? _zod.def.format : undefined;
        if (kind === "custom" || format === "regex")
          assert.ok(error, `${name}: a ${kind} check has no message`);
      }
});

function schemasIn(schema: z.core.$ZodType, seen = new Set<z.core.$ZodType>()): Set<z.core.$ZodType> {
  if (seen.has(schema)) return seen;
  seen.add(schema);
  const inner =
    schema instanceof z.ZodObject
      ? Object.values(schema.shape)
      : schema instanceof z.ZodArray
        ? [schema.element]
        : schema instanceof z.ZodUnion
          ? schema.options
          : schema instanceof z.ZodPipe
            ? [schema.in, schema.out]
            : schema instanceof z.ZodOptional ||
                schema instanceof z.ZodNullable ||
                schema instanceof z.ZodDefault
              ? [schema.unwrap()]
              : [];
  for (const one of inner) schemasIn(one, seen);
  return seen;
}
