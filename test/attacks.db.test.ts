// The attack suite: a table of attacks by class, run against a daemon. The rows that need processes of agents, a flood or a
// database file run in suites of their own and are counted here.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createKey } from "../src/contract/agents.ts";
import { operations } from "../src/contract/operation-table.ts";
import { startDaemon } from "../src/daemon/daemon.ts";
import { storeDatabase } from "../src/testing/postgres.ts";
import { storeKinds } from "../src/testing/organization.ts";
import { type AttackClass, attackClasses, type DaemonAttack, type Place, send } from "./attacks/attack.ts";
import { agentKeyAttacks } from "./attacks/agent-key.ts";
import { browserAttacks } from "./attacks/browser-doors.ts";
import { otherDoorAttacks } from "./attacks/other-doors.ts";
import { importAttacks } from "./attacks/import.ts";
import { injectionAttacks } from "./attacks/injection.ts";
import { kindAt, placesOf, textFieldAttacks } from "./attacks/text-fields.ts";
import { outsideServerAttacks } from "./attacks/outside-servers.ts";
import { repositoryAttacks } from "./attacks/repositories.ts";
import { otherAttacks } from "./attacks/other-suites.ts";
import { webPageAttacks } from "./attacks/web-page.ts";
import { keepMirrors } from "../src/repos/mirrors.ts";
import { createWorld } from "./walk-world.ts";
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
  ...textFieldAttacks,
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

/** The files that open a door by a path of its own, and the ways in that have no path. The rows of the tools attack `mcp`. */
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
    const all = [...attacks, ...otherAttacks];
    const named = all.map((one) => `${one.class}: ${one.attempt}`);
    assert.deepEqual(
      named.filter((name, at) => named.indexOf(name) !== at),
      [],
    );
    for (const { threat, attempt, expected } of all)
      assert.ok(threat !== "" && attempt !== "" && expected !== "");
    // The fields of operations are generated. The other rows were thought of.
    assert.ok(all.length - textFieldAttacks.length >= 120, `${all.length - textFieldAttacks.length} attacks`);
    for (const one of attackClasses) {
      const count = all.filter((attack) => attack.class === one).length;
      assert.ok(count >= leastOfClass[one], `${count} attacks of the class ${one}`);
    }
    for (const { suite } of otherAttacks) assert.ok(existsSync(suite), suite);
  });
});

for (const kind of storeKinds)
  describe(`attacks on a daemon with ${kind}`, () => {
    const home = mkdtempSync(join(tmpdir(), "agency-attacks-"));
    const bugs: unknown[] = [];
    let database: Awaited<ReturnType<typeof storeDatabase>> | undefined;
    let place: Place;

    before(async () => {
      database = kind === "postgres" ? await storeDatabase() : undefined;
      const log = (line: unknown): unknown => bugs.push(line);
      const daemon = await startDaemon({ home, port: 0, databaseUrl: database?.url, schedule: false, log });
      const world = await createWorld(
        daemon.store,
        keepMirrors({ folder: join(home, "repos"), enclose: () => undefined }),
      );
      const other = await world.org.another();
      const { key: token } = await other.board(createKey, { id: other.rootId });
      place = { daemon, world, foreign: { token, companyId: other.companyId, rootId: other.rootId } };
    });
    after(async () => {
      await place.daemon.stop();
      await database?.drop();
      rmSync(home, { recursive: true, force: true });
      assert.deepEqual(bugs, [], "no attack may cause an internal error");
    });

    for (const attack of attacks)
      test(`${attack.class}: ${attack.attempt} → ${attack.expected}`, async () => {
        await attack.run(place);
        const { host } = new URL(place.daemon.url);
        const { status } = await send(place.daemon.url, { path: "/api/health", headers: { host } });
        assert.equal(status, 200, "the daemon must stay up");
      });
  });
