// Two homes with one node id: each daemon would end the sessions of the other as its own.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { keepHeart } from "../runtime/heart.ts";
import { bothStores, openTestStore } from "../testing/organization.ts";
import { openHome } from "./home.ts";
import { newId } from "./ids.ts";
import { ownNode } from "./own-node.ts";

for (const kind of bothStores)
  describe(`the id of a node on ${kind}`, async () => {
    const { store, close } = await openTestStore(kind);
    after(() => close());

    /** Another machine has reported itself with the id of this home. */
    async function played(
      meanwhile: "runs" | "stands still" | "stops",
      at: { name?: string; port?: number },
    ) {
      const folder = mkdtempSync(join(tmpdir(), "agency-node-"));
      try {
        const home = openHome(folder);
        writeFileSync(join(home.path, "node-id"), "copied");
        const heart = keepHeart({
          store,
          id: "copied",
          name: "alpha",
          version: "1.2.3",
          capacity: null,
          address: () => "http://127.0.0.1:4600",
          canStart: () => true,
          lacks: () => [],
        });
        const beat = async (): Promise<void> => {
          const next = heart.beat();
          await store.write(async (tx) => next?.write(tx), "leases");
        };
        await beat();
        const lines: unknown[] = [];
        let waited = 0;
        const id = await ownNode({
          store,
          home,
          port: 4600,
          name: "alpha",
          newId,
          ...at,
          pause: async (milliseconds) => {
            waited += milliseconds;
            if (meanwhile === "runs" && waited === 5000) await beat();
            if (meanwhile === "stops" && waited === 1000) await heart.stop();
          },
          log: (line) => void lines.push(line["says"]),
        });
        await heart.stop();
        assert.equal(readFileSync(join(home.path, "node-id"), "utf8"), id);
        return { isKept: id === "copied", waited, lines };
      } finally {
        rmSync(folder, { recursive: true });
      }
    }

    if (kind === "postgres")
      test("a home that was copied from a running node gets another id", async () => {
        for (const at of [{ name: "beta" }, { port: 4601 }])
          assert.deepEqual(await played("runs", at), {
            isKept: false,
            waited: 5000,
            lines: [
              "This home was copied from the node alpha (http://127.0.0.1:4600), which is running. This node takes a new id.",
            ],
          });
      });

    test("a node that comes back keeps its id, also if its machine has another name now", async () => {
      assert.deepEqual(await played("runs", {}), { isKept: true, waited: 0, lines: [] });
      const [still, stopped] = [
        await played("stands still", { name: "beta" }),
        await played("stops", { name: "beta" }),
      ];
      const waited = kind === "postgres" ? [7000, 1000] : [0, 0];
      assert.deepEqual([still.isKept, stopped.isKept], [true, true]);
      assert.deepEqual([still.waited, stopped.waited], waited);
    });

    test("a home whose file of the id is empty after a crash gets one", async () => {
      const folder = mkdtempSync(join(tmpdir(), "agency-node-"));
      const home = openHome(folder);
      writeFileSync(join(home.path, "node-id"), "");
      const parts = { store, home, port: 0, newId, pause: async () => undefined, log: () => undefined };
      const id = await ownNode(parts);
      assert.match(id, /^[0-9a-f-]{36}$/);
      assert.equal(await ownNode(parts), id);
      rmSync(folder, { recursive: true });
    });
  });
