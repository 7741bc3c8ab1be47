import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { append, system } from "../events/ledger.ts";
import { keep, keysOf, kept, row } from "../testing/blob-rows.ts";
import { type PostgresDatabase, storeDatabase, testStores } from "../testing/postgres.ts";
import { openPostgres } from "./postgres.ts";
import { selection } from "./query.ts";
import type { Store, Tx } from "./store.ts";

const byId = selection("agents", ["id"]);
const eventsOf = selection("events", ["company_id"]);
/** PostgreSQL refuses this character in a text. */
const broken = { id: "a\u0000b" };

if (testStores.has("postgres"))
  describe("an error of one write in a batch", () => {
    let database: PostgresDatabase;
    let store: Store;
    before(async () => {
      database = await storeDatabase();
      store = await openPostgres({ url: database.url, key: "key" });
    });
    after(async () => {
      await store.close();
      await database.drop();
    });

    test("does not undo an attempt of another write", async () => {
      const [isInside, mayContinue] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const first = store.write(async (tx) => {
        await tx.lock("attempts");
        await tx.run(keep, row("attempts", "before"));
        await tx
          .attempt(async () => {
            isInside.resolve();
            await mayContinue.promise;
            await tx.run(keep, row("attempts", "inside"));
            await tx.all(kept, { file_id: "attempts" });
          })
          .catch(() => undefined);
      });
      await isInside.promise;
      const second = store.write(async (tx) => {
        await tx.lock("attempts");
        await tx.first(byId, broken);
      });
      second.catch(() => undefined);
      await sleep(30);
      mayContinue.resolve();
      await first;
      await assert.rejects(second);
      assert.deepEqual(await keysOf(store, "attempts"), ["before", "inside"]);
    });

    test("is not reported to the write whose turn it is, when both read the same table at the same moment", async () => {
      for (const asksFirst of ["in turn", "early"]) {
        const [hasTurn, isEarly, mayRead] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
        const read = async (tx: Tx, id: string): Promise<unknown> => tx.first(byId, { id });
        const inTurn = store.write(async (tx) => {
          await tx.lock("same moment");
          await tx.turn();
          hasTurn?.resolve();
          await mayRead?.promise;
          return asksFirst === "in turn" ? read(tx, "none") : Promise.resolve().then(() => read(tx, "none"));
        });
        await hasTurn?.promise;
        const early = store.write(async (tx) => {
          await tx.lock("same moment");
          isEarly?.resolve();
          await mayRead?.promise;
          return read(tx, broken.id);
        });
        early.catch(() => undefined);
        await isEarly?.promise;
        mayRead?.resolve();
        assert.equal(await inTurn, undefined);
        await assert.rejects(early, /invalid byte sequence|0x00/);
      }
    });

    test("is not reported to the next write if its own write has already ended", async () => {
      const [hasTurn, isNext] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const first = store.write(async (tx) => {
        await tx.lock("unheard");
        await tx.turn();
        hasTurn.resolve();
        await isNext.promise;
        tx.first(byId, broken).catch(() => undefined);
        throw new Error("no");
      });
      first.catch(() => undefined);
      await hasTurn.promise;
      const second = store.write(async (tx) => {
        await tx.lock("unheard");
        isNext.resolve();
        await tx.turn();
        return tx.all(kept, { file_id: "none" });
      });
      assert.deepEqual(await second, []);
      await assert.rejects(first, /^Error: no$/);
    });

    test("an error is reported unchanged after at most 3 runs, also for an announced read", async () => {
      for (const announces of [false, true]) {
        let runs = 0;
        const write = store.write(async (tx) => {
          runs += 1;
          if (announces) tx.ahead(byId, broken);
          await tx.lock("announced");
          await tx.first(byId, broken);
          await tx.run(keep, row("announced", String(runs)));
        });
        await assert.rejects(write, /invalid byte sequence|0x00/);
        assert.ok(runs <= 3, `it ran ${runs} times`);
      }
    });

    test("undoes everything that a part of the write does afterwards", async () => {
      for (let round = 0; round < 20; round++) {
        const file = `late ${round}`;
        const part = async (tx: Tx): Promise<void> => {
          for (let each = 0; each < round % 5; each++) await tx.all(kept, { file_id: `none ${each}` });
          await tx.run(keep, row(file, "late"));
        };
        const bad = store.write(async (tx) => {
          await tx.lock("late");
          await Promise.all([tx.all(kept, { file_id: "none" }).then(() => assert.fail("no")), part(tx)]);
        });
        bad.catch(() => undefined);
        const good = ["one", "two", "three"].map((hash) =>
          store.write(async (tx) => {
            await tx.lock("late");
            await part({ ...tx, run: async () => undefined });
            await tx.run(keep, row(file, hash));
          }),
        );
        await Promise.all(good);
        await assert.rejects(bad, /no/);
        await sleep(5);
        assert.deepEqual(await keysOf(store, file), ["one", "three", "two"]);
      }
    });

    for (const [what, part, isStored] of [
      [
        "attempts something",
        (tx, goesOn) => tx.attempt(() => goesOn.then(() => tx.first(byId, { id: "" }))),
        false,
      ],
      ["reads the ledger", (tx, goesOn) => goesOn.then(() => tx.all(eventsOf, { company_id: "" })), true],
    ] as const satisfies [string, (tx: Tx, goesOn: Promise<void>) => Promise<unknown>, boolean][])
      for (const isGood of [true, false])
        test(`does not harm other writes if it ${what} after ${isGood ? "its end" : "it failed"}`, async () => {
          const file = `${what} ${isGood}`;
          const [hasTurn, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
          let late: Promise<unknown> = Promise.resolve();
          const first = store.write(async (tx) => {
            await tx.lock("parts");
            await tx.turn();
            late = part(tx, goesOn.promise);
            late.catch(() => undefined);
            await tx.all(kept, { file_id: file });
            hasTurn.resolve();
            if (!isGood) throw new Error("no");
            await tx.run(keep, row(file, "first"));
          });
          first.catch(() => undefined);
          await hasTurn.promise;
          const others = ["second", "third"].map((hash) =>
            store.write(async (tx) => {
              await tx.lock("parts");
              await tx.run(keep, row(file, hash));
              append(tx, { companyId: file, actor: system, operation: "test", subject: null, data: {} });
              await tx.all(kept, { file_id: file });
              if (hash === "third") goesOn.resolve();
              for (let each = 0; each < 3; each++) await tx.all(kept, { file_id: `none ${each}` });
            }),
          );
          await Promise.all(others);
          await assert.rejects(late, /the write has ended/);
          const [{ status }] = await Promise.allSettled([first]);
          assert.equal(status, isGood && isStored ? "fulfilled" : "rejected");
          const hashes = ["second", "third"];
          assert.deepEqual(await keysOf(store, file), status === "fulfilled" ? ["first", ...hashes] : hashes);
          const events = await store.read((tx) => tx.all(eventsOf, { company_id: file }));
          assert.equal(events.length, 2);
        });

    test("wakes callers that wait for the turn of that write", async () => {
      for (const part of [
        (tx) => tx.turn(),
        (tx) => tx.count(keep, row("waits", "part")),
        (tx) => tx.attempt(() => tx.run(keep, row("waits", "part"))),
        (tx) => tx.all(eventsOf, { company_id: "" }),
      ] as const satisfies ((tx: Tx) => unknown)[]) {
        const first = Promise.withResolvers<void>();
        const holder = store.write(async (tx) => {
          await tx.lock("turns");
          await tx.turn();
          await first.promise;
        });
        const woken = Promise.withResolvers<void>();
        const bad = store.write(async (tx) => {
          await tx.lock("turns");
          const waits = async (): Promise<void> => {
            try {
              await part(tx);
            } finally {
              woken.resolve();
            }
          };
          await Promise.all([tx.all(kept, { file_id: "none" }).then(() => assert.fail("no")), waits()]);
        });
        bad.catch(() => undefined);
        const isWoken = await Promise.race([woken.promise.then(() => true), sleep(5000, false)]);
        first.resolve();
        await holder;
        await assert.rejects(bad, /no/);
        assert.ok(isWoken, String(part));
      }
      assert.deepEqual(await keysOf(store, "waits"), []);
    });

    test("is reported when a part of the write records something after its end", async () => {
      const late = Promise.withResolvers<unknown>();
      await store.write(async (tx) => {
        await tx.lock("records");
        await tx.run(keep, row("records", "in time"));
        const record = (): void =>
          append(tx, { companyId: "records", actor: system, operation: "test", subject: null, data: {} });
        void sleep(20).then(record).then(late.resolve, late.resolve);
      });
      assert.match(String(await late.promise), /the write has ended/);
    });

    test("of others undoes a write three times, and then it runs alone", async () => {
      let companies = 0;
      /** Each time, a write of another company joins its batch and throws after it has changed something. */
      const runsOf = async (hash: string): Promise<number> => {
        let runs = 0;
        const failing: Promise<unknown>[] = [];
        await store.write(async (tx) => {
          runs += 1;
          const joins = Promise.withResolvers<void>();
          // Meanwhile the batch that was undone gives its lock back. Else the write would wait for it in a batch by itself.
          for (let each = 0; each < 3; each++) await tx.first(byId, { id: "none" });
          failing.push(
            assert.rejects(
              store.write(async (bad) => {
                joins.resolve();
                await bad.lock(`undoing ${(companies += 1)}`);
                await bad.run(keep, row("undone", "undone"));
                throw new Error("no");
              }),
              /^Error: no$/,
            ),
          );
          await joins.promise;
          // A new company each time: a company whose write was slow, as on a busy machine, would be kept apart.
          await tx.lock(`undone ${hash}`);
          await tx.run(keep, row("undone", hash));
        });
        await Promise.all(failing);
        return runs;
      };
      const found: number[] = [];
      // On a busy machine the two may be in different batches.
      while (!found.includes(4)) {
        assert.ok(found.length < 30, `it ran ${found.join(", ")} times`);
        found.push(await runsOf(`k${found.length}`));
      }
      assert.ok(Math.max(...found) <= 4, `it ran ${found.join(", ")} times`);
      assert.equal((await keysOf(store, "undone")).length, found.length);
    });

    test("of others makes a write run alone, and not again and again", async () => {
      let companies = 0;
      let isOver = false;
      /**
       * Each write fails after a change, so all writes of its batch run again. Each is of a new company, so none is kept apart.
       */
      const fail = async (): Promise<void> => {
        while (!isOver)
          await store
            .write(async (tx) => {
              await tx.lock(`unlucky ${(companies += 1)}`);
              await tx.run(keep, row("unlucky", "undone"));
              throw new Error("no");
            })
            .catch(() => undefined);
      };
      const failing = Array.from({ length: 30 }, fail);
      const most = await Promise.all(
        Array.from({ length: 10 }, async (_, index) => {
          let most = 0;
          for (let round = 0; round < 20; round++) {
            let runs = 0;
            await store.write(async (tx) => {
              runs += 1;
              await tx.lock(`lucky ${index}`);
              await tx.run(keep, row("unlucky", `${index} ${round}`));
            });
            most = Math.max(most, runs);
          }
          return most;
        }),
      ).finally(() => (isOver = true));
      await Promise.all(failing);
      // After three failed runs with others, a write runs alone.
      assert.ok(Math.max(...most) <= 4, `some ran ${Math.max(...most)} times`);
      assert.equal((await keysOf(store, "unlucky")).length, 200);
    });
  });
else test("needs PostgreSQL", () => undefined);
