// Runs attacks against a daemon, one after another. It must stay up, and report no internal error.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createKey } from "../../src/contract/agents.ts";
import { startDaemon } from "../../src/daemon/daemon.ts";
import { keepMirrors } from "../../src/repos/mirrors.ts";
import { storeKinds } from "../../src/testing/organization.ts";
import { storeDatabase } from "../../src/testing/postgres.ts";
import { createWorld } from "../walk-world.ts";
import { type DaemonAttack, type Place, send } from "./attack.ts";

export function testAttacks(attacks: readonly DaemonAttack[]): void {
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
}
