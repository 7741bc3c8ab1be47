// The attack suite: a table of attacks by class, run against a daemon. Separate suites run the rows about text fields and those
// that need processes of agents, a flood or a database file. These rows are counted here.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { operations } from "../src/contract/operation-table.ts";
import { thirdOf } from "../src/testing/seeds.ts";
import { type AttackClass, attackClasses, type DaemonAttack } from "./attacks/attack.ts";
import { agentKeyAttacks } from "./attacks/agent-key.ts";
import { browserAttacks } from "./attacks/browser-doors.ts";
import { otherDoorAttacks } from "./attacks/other-doors.ts";
import { importAttacks } from "./attacks/import.ts";
import { injectionAttacks } from "./attacks/injection.ts";
import { kindAt, placesOf, textFieldAttacks } from "./attacks/text-fields.ts";
import { outsideServerAttacks } from "./attacks/outside-servers.ts";
import { repositoryAttacks } from "./attacks/repositories.ts";
import { testAttacks } from "./attacks/daemon.ts";
import { otherAttacks } from "./attacks/other-suites.ts";
import { webPageAttacks } from "./attacks/web-page.ts";
import { table } from "./walk-table.ts";

const doorAttacks = [...browserAttacks, ...otherDoorAttacks];
const attacks: readonly DaemonAttack[] = [
  ...doorAttacks,
  ...webPageAttacks,
  ...agentKeyAttacks,
  ...importAttacks,
  ...injectionAttacks,
  ...outsideServerAttacks,
  ...repositoryAttacks,
];

/** A class that shrinks below this lost rows by accident. */
const leastOfClass: Readonly<Record<AttackClass, number>> = {
  "web page": 120,
  "agent with a key": 40,
  "agent's process": 60,
  import: 20,
  flood: 5,
  tampering: 18,
  injection: 60,
};

/** The files that open a door with a separate path, and the entrances without a path. The rows of the tools attack `mcp`. */
function doors(): string[] {
  const folder = join(import.meta.dirname, "../src/doors");
  const opening = readdirSync(folder).filter(
    (file) => !file.includes(".test.") && /^ {4}prefix\b/m.test(readFileSync(join(folder, file), "utf8")),
  );
  assert.ok(opening.includes("stream.ts") && opening.includes("mcp.ts"));
  const named = opening.map((file) => file.replace(/\.ts$/, "")).filter((file) => file !== "mcp");
  return [...named, "credential", "sign-in", "site", "metrics", "relay"];
}

describe("the table of attacks", () => {
  test("has every route, tool and text field", () => {
    const walked = new Set(table.map(({ operation }) => operation.name));
    for (const { name } of operations) assert.ok(walked.has(name), `${name} is missing in the walk`);
    for (const operation of operations)
      for (const place of placesOf(operation))
        assert.ok(
          kindAt(place) !== undefined,
          `${operation.name} takes text in ${place}: add it to fieldKinds`,
        );
  });

  test("has every door", () => {
    const attacked = new Set(doorAttacks.map(({ door }) => door));
    for (const door of doors())
      assert.ok(attacked.has(door), `src/doors/${door}.ts has no row with its name`);
  });

  test("names each attack once, with its threat and what must happen", () => {
    const all = [...attacks, ...textFieldAttacks, ...otherAttacks];
    const named = all.map((one) => `${one.class}: ${one.attempt}`);
    assert.deepEqual(
      named.filter((name, at) => named.indexOf(name) !== at),
      [],
    );
    for (const { threat, attempt, expected } of all)
      assert.ok(threat !== "" && attempt !== "" && expected !== "");
    // The rows for fields of operations are generated. The other rows were written by hand.
    assert.ok(all.length - textFieldAttacks.length >= 120, `${all.length - textFieldAttacks.length} attacks`);
    for (const one of attackClasses) {
      const count = all.filter((attack) => attack.class === one).length;
      assert.ok(count >= leastOfClass[one], `${count} attacks of the class ${one}`);
    }
    for (const { suite } of otherAttacks) assert.ok(existsSync(suite), suite);
  });
});

testAttacks(thirdOf(attacks));
