import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { Refusal } from "../contract/refusal.ts";
import { append, system } from "../events/ledger.ts";
import { verify } from "../events/verify.ts";
import { keep, keepLater, keysOf, kept, row } from "../testing/blob-rows.ts";
import { testStores } from "../testing/postgres.ts";
import { watchStatements } from "../testing/statements.ts";
import { twoNodes } from "../testing/two-nodes.ts";
import { openPostgres } from "./postgres.ts";
import { selection } from "./query.ts";
import type { Tx } from "./store.ts";

const eventsOf = selection("events", ["company_id"], sql`order by seq`);
/** The server ends the connection of a commit with a row that is cut. At a row with a gate, it waits until the gate is open. */
const atCommit = `
  create function at_commit() returns trigger language plpgsql as $$ begin
    if new.hash like 'cut%' then perform pg_terminate_backend(pg_backend_pid()); end if;
    if new.hash like 'gate%' then perform pg_advisory_xact_lock(hashtextextended('gate', 0)); end if;
    return null;
  end $$;
  create constraint trigger at_commit after insert on blobs deferrable initially deferred
    for each row execute function at_commit()`;

const count = 12;
const nameOf = (index: number): string => `company ${index}`;
const record = (tx: Tx, index: number): void =>
  append(tx, { companyId: nameOf(index), actor: system, operation: "test", subject: null, data: {} });

if (testStores.has("postgres"))
  describe("writes of several companies that commit together", async () => {
    const { url, store, other, outside } = await twoNodes(atCommit);
    /** One write of each company. All ask for their locks at the same moment. */
    const together = (work: (tx: Tx, index: number) => Promise<unknown>, on = store): Promise<unknown>[] => {
      const gate = Promise.withResolvers<void>();
      let isOpen = 0;
      return Array.from({ length: count }, (_, index) =>
        on.write(async (tx) => {
          if ((isOpen += 1) === count) gate.resolve();
          await gate.promise;
          await tx.lock(nameOf(index));
          await work(tx, index);
        }),
      );
    };
    const isGood = ({ status }: PromiseSettledResult<unknown>): boolean => status === "fulfilled";
    const assertIntact = async (): Promise<void> => {
      const { problems } = await other.read((tx) => verify(tx, new Map(), null, 100_000));
      assert.deepEqual(problems, []);
    };

    test("the writes share transactions, and each company has its own chain", async () => {
      const write = async (tx: Tx, index: number): Promise<void> => {
        await tx.run(keep, row("a", `k${index} ${(serial += 1)}`));
        record(tx, index);
      };
      let serial = 0;
      await Promise.all(together(write));
      const watched = watchStatements();
      try {
        await Promise.all(together(write));
        const ended = watched.texts.filter((text) => text === "commit").length;
        assert.ok(ended <= count / 2, `${ended} commits`);
      } finally {
        watched.stop();
      }
      // Writes on both nodes. Some read the ledger, which is sealed before they do.
      const some = async (tx: Tx, index: number): Promise<void> => {
        await write(tx, index);
        if (index % 3 === 0) await tx.all(eventsOf, { company_id: nameOf(index) });
        record(tx, index);
      };
      for (let round = 0; round < 5; round++)
        await Promise.all([...together(some), ...together(some, other)]);
      for (let index = 0; index < count; index++) {
        const events = await other.read((tx) => tx.all(eventsOf, { company_id: nameOf(index) }));
        assert.deepEqual(
          events.map(({ seq }) => seq),
          Array.from({ length: 22 }, (_, at) => at + 1),
        );
      }
      await assertIntact();
    });

    for (const [how, fail] of [
      ["throws", () => Promise.reject(new Error("no"))],
      ["hears that its statement failed", (tx) => tx.count(keep, row("fails", "same"))],
      ["hears later that its statement failed", (tx) => tx.run(keep, row("fails", "same"))],
      ["hears at the commit that its row is refused", (tx) => tx.run(keepLater, row("fails", "same"))],
    ] as const satisfies [string, (tx: Tx) => Promise<unknown>][])
      test(`a write that ${how} changes nothing, and fails no write of another company`, async () => {
        await store.write((tx) => tx.run(keep, row("fails", "same"))).catch(() => undefined);
        for (const bad of [0, 5, count - 1]) {
          const file = `${how} ${bad}`;
          const results = await Promise.allSettled(
            together(async (tx, index) => {
              await tx.run(keep, row(file, String(index)));
              record(tx, index);
              if (index === bad) await fail(tx);
            }),
          );
          const others = [...results.keys()].filter((index) => index !== bad);
          assert.deepEqual(
            [...results.keys()].filter((index) => results[index] !== undefined && isGood(results[index])),
            others,
          );
          assert.deepEqual(await keysOf(other, file), others.map(String).toSorted());
        }
        await assertIntact();
      });

    test("a write survives many companies whose writes throw at the same time", async () => {
      const crowd = 60;
      const gate = Promise.withResolvers<void>();
      let arrived = 0;
      const results = await Promise.allSettled(
        Array.from({ length: crowd }, (_, index) =>
          store.write(async (tx) => {
            if ((arrived += 1) === crowd) gate.resolve();
            await gate.promise;
            await tx.lock(`crowd ${index}`);
            await tx.run(keep, row("crowd", String(index)));
            if (index % 20 > 0) throw new Error("no");
          }),
        ),
      );
      assert.deepEqual(
        results.flatMap((result, index) => (isGood(result) ? [index] : [])),
        [0, 20, 40],
      );
      assert.deepEqual(await keysOf(other, "crowd"), ["0", "20", "40"]);
      await assertIntact();
    });

    test("a write uses nothing that it read before another node gave the lock back", async () => {
      const rounds = 8;
      let serial = 0;
      /** Writes the next number of its company. A number that was read without the lock would be written twice. */
      const next = async (tx: Tx, index: number): Promise<void> => {
        const file = `numbers ${index}`;
        const { length } = await tx.all(kept, { file_id: file });
        // Without an event: the head of the chain would show that another node wrote meanwhile.
        await tx.run(keep, row(file, `${length} ${(serial += 1)}`));
      };
      for (let round = 0; round < rounds; round++) {
        // The other node holds some locks when this one asks for all. A store that has met no held lock reads at once.
        const fresh = await openPostgres({ url: url, key: "key" });
        let begun = 0;
        const held = [1, 5, 9].map((index) =>
          other.write(async (tx) => {
            await tx.lock(nameOf(index));
            await next(tx, index);
            await tx.turn();
            begun += 1;
            await sleep(10);
          }),
        );
        while (begun < 3) await sleep(1);
        await Promise.all([...held, ...together(next, fresh)]);
        await fresh.close();
      }
      for (let index = 0; index < count; index++) {
        const numbers = (await keysOf(other, `numbers ${index}`)).map((key) => Number(key.split(" ")[0]));
        const expected = [1, 5, 9].includes(index) ? rounds * 2 : rounds;
        assert.deepEqual(
          numbers.toSorted((a, b) => a - b),
          Array.from({ length: expected }, (_, number) => number),
          nameOf(index),
        );
      }
      await assertIntact();
    });

    test("a company whose lock is held elsewhere delays none of the others", async () => {
      const lock = "hashtextextended('company 3', 0)";
      await outside.query(`select pg_advisory_lock(${lock})`);
      let isHeld = true;
      let wasHeld: boolean | undefined;
      for (let round = 0; round < 3; round++) {
        const writes = together((tx, index) => tx.run(keep, row("held", `${round} ${index}`)));
        void writes[3]?.then(() => (wasHeld = isHeld));
        await Promise.all(writes.toSpliced(3, 1));
        assert.deepEqual(
          (await keysOf(other, "held")).filter((key) => key.endsWith(" 3")),
          [],
        );
        if (round < 2) continue;
        isHeld = false;
        await outside.query(`select pg_advisory_unlock(${lock})`);
        await writes[3];
      }
      assert.equal(wasHeld, false);
      assert.ok((await keysOf(other, "held")).includes("2 3"));
    });

    test("while a batch commits, the next one begins once it has as many writes, or the other has ended", async () => {
      const open = (): Promise<unknown> =>
        outside.query("select pg_advisory_unlock(hashtextextended('gate', 0))");
      const write = async (name: string, companies: readonly number[]): Promise<void> => {
        const lock = (index: number) => async (tx: Tx) => {
          await tx.lock(`late ${index}`);
          await tx.run(keep, row("late", `${name} ${index}`));
        };
        await Promise.all(companies.map((index) => store.write(lock(index))));
      };
      /**
       * The number of commits for writes that arrive one after another while three commit. On a busy machine, the attempt may
       * be too late.
       */
      const commitsOf = async (name: string, companies: readonly number[]): Promise<number> => {
        await outside.query("select pg_advisory_lock(hashtextextended('gate', 0))");
        const watched = watchStatements();
        const commits = (): number => watched.texts.filter((text) => text === "commit").length;
        try {
          const first = write(`gate ${name}`, [0, 1, 2]);
          for (const from = performance.now(); commits() === 0 && performance.now() - from < 30;)
            await sleep(1);
          const before = commits();
          const others: Promise<void>[] = [];
          for (const index of companies) {
            others.push(write(name, [index]));
            await sleep(2);
          }
          const early = commits() - before;
          await open();
          await Promise.all([first, ...others]);
          return early > 0 ? -early : commits() - before;
        } finally {
          watched.stop();
        }
      };
      const sometimes = async (companies: readonly number[], expected: number): Promise<void> => {
        const found: number[] = [];
        for (let round = 0; found.at(-1) !== expected; round++) {
          assert.ok(round < 50, `${companies.length} took ${found.join(", ")} commits`);
          found.push(await commitsOf(`${companies.length} ${round}`, companies));
        }
      };
      await sometimes([3, 4], 1);
      // Three are as many as the committing ones, so they don't wait for the gate.
      await sometimes([3, 4, 5], -1);
      const mayEnd = Promise.withResolvers<void>();
      const slow = store.write(async (tx) => {
        await tx.lock("late 0");
        await tx.run(keep, row("late", "slow"));
        await mayEnd.promise;
      });
      await sleep(200);
      await store.write(async (tx) => {
        await tx.lock("late 1");
        await tx.run(keep, row("late", "fast"));
      });
      assert.ok((await keysOf(other, "late")).includes("fast"));
      mayEnd.resolve();
      await slow;
      await assertIntact();
    });

    test("a company that waits for its lock delays the next batch for a moment only", async () => {
      const lock = "hashtextextended('waits', 0)";
      let round = 0;
      /** How long a write takes that comes right after one of a company whose lock is held, or free. */
      const timeAfter = async (isHeld: boolean): Promise<number> => {
        if (isHeld) await outside.query(`select pg_advisory_lock(${lock})`);
        const write = async (name: string): Promise<void> => {
          await store.write(async (tx) => {
            await tx.lock(name);
            await tx.run(keep, row("waits", `${name} ${round} ${isHeld}`));
          });
        };
        round += 1;
        const watched = watchStatements();
        const first = write("waits");
        // Its batch has begun, without the other.
        while (!watched.texts.some((text) => text.startsWith("select pg_advisory_xact_lock"))) await sleep(1);
        watched.stop();
        const from = performance.now();
        await write("follows");
        const taken = performance.now() - from;
        if (isHeld) await outside.query(`select pg_advisory_unlock(${lock})`);
        await first;
        return taken;
      };
      let [shortest, usual] = [Infinity, Infinity];
      // A busy machine takes longer, but not each time. A commit that is slow is waited for ten times as long.
      for (let tried = 0; tried < 15 || shortest - usual > 25; tried++) {
        assert.ok(tried < 60, `${shortest} milliseconds, and ${usual} if the lock is free`);
        usual = Math.min(usual, await timeAfter(false));
        shortest = Math.min(shortest, await timeAfter(true));
      }
      assert.equal((await keysOf(other, "waits")).length, round * 2);
    });

    test("many companies whose locks are held elsewhere delay none of the others", async () => {
      const many = 20;
      const key = (index: number): string => `hashtextextended('held ${index}', 0)`;
      for (let index = 0; index < many; index++)
        await outside.query(`select pg_advisory_lock(${key(index)})`);
      const write = (name: string): Promise<void> =>
        store.write(async (tx) => {
          await tx.lock(name);
          await tx.run(keep, row("many", name));
        });
      const writes = Array.from({ length: many }, (_, index) => write(`held ${index}`));
      for (let round = 0; round < 5; round++) await write(`free ${round}`);
      assert.equal((await keysOf(other, "many")).length, 5);
      const waiting =
        "select count(*)::int as count from pg_stat_activity where wait_event = 'advisory' and datname = current_database()";
      const { count: held } = Object((await outside.query(waiting)).rows[0]);
      assert.ok(held > 0 && held <= 4, `${held} connections wait`);
      for (let index = 0; index < many; index++)
        await outside.query(`select pg_advisory_unlock(${key(index)})`);
      await Promise.all(writes);
      assert.equal((await keysOf(other, "many")).length, many + 5);
    });

    test("companies whose locks are held elsewhere take few connections, even if all of them come in one batch", async () => {
      const many = 40;
      const lockAll = (how: string): Promise<unknown> =>
        outside.query(
          `select pg_${how}(hashtextextended('crowded ' || n, 0)) from generate_series(0, ${many - 1}) as n`,
        );
      await lockAll("advisory_lock");
      const watched = watchStatements();
      const writes = Array.from({ length: many }, (_, index) =>
        store.write(async (tx) => {
          await tx.lock(`crowded ${index}`);
          await tx.run(keep, row("crowded", String(index)));
        }),
      );
      // None is tried again before 20 milliseconds.
      for (const from = performance.now(); performance.now() - from < 15;) await sleep(1);
      watched.stop();
      const begun = watched.texts.filter((text) => text.startsWith("begin")).length;
      await lockAll("advisory_unlock");
      await Promise.all(writes);
      assert.ok(begun <= 8, `${begun} transactions`);
      assert.equal((await keysOf(other, "crowded")).length, many);
    });

    test("companies whose locks are held elsewhere take few connections if they come one after another", async () => {
      const many = 12;
      const key = (index: number): string => `hashtextextended('slow ${index}', 0)`;
      const waiting = async (): Promise<number> => {
        const found = await outside.query(
          "select count(*)::int as count from pg_stat_activity where wait_event = 'advisory' and datname = current_database()",
        );
        return Object(found.rows[0]).count;
      };
      for (let index = 0; index < many; index++)
        await outside.query(`select pg_advisory_lock(${key(index)})`);
      const write = (name: string): Promise<void> =>
        store.write(async (tx) => {
          await tx.lock(name);
          await tx.run(keep, row("slow", name));
        });
      const writes: Promise<void>[] = [];
      let most = 0;
      for (let index = 0; index < many; index++) {
        writes.push(write(`slow ${index}`));
        await sleep(55);
        most = Math.max(most, await waiting());
      }
      for (let round = 0; round < 5; round++) {
        await write(`quick ${round}`);
        most = Math.max(most, await waiting());
      }
      for (let index = 0; index < many; index++)
        await outside.query(`select pg_advisory_unlock(${key(index)})`);
      await Promise.all(writes);
      assert.ok(most > 0 && most <= 4, `${most} connections waited`);
      assert.equal((await keysOf(other, "slow")).length, many + 5);
    });

    test("no company is passed over if more companies are busy than a batch has writes", async () => {
      const runs = Array.from({ length: 70 }, () => 0);
      let serial = 0;
      const write = async (index: number): Promise<void> => {
        while (Math.max(...runs) < 60) {
          const hash = String((serial += 1));
          await store.write(async (tx) => {
            await tx.lock(`busy ${index}`);
            await tx.run(keep, row("busy", hash));
          });
          runs[index] = (runs[index] ?? 0) + 1;
        }
      };
      // Each company has the next write ready when one ends.
      await Promise.all([...runs, ...runs, ...runs].map((_, index) => write(index % runs.length)));
      assert.ok(Math.min(...runs) > 5, `writes of each company: ${runs.join(", ")}`);
    });

    test("if the connection is lost at the commit, its writes are refused and not repeated, and the others are stored", async () => {
      const runs = Array.from({ length: count }, () => 0);
      const results = await Promise.allSettled(
        together(async (tx, index) => {
          runs[index] = (runs[index] ?? 0) + 1;
          await tx.run(keep, row("cut", index === 7 ? "cut 7" : String(index)));
          record(tx, index);
        }),
      );
      const refused = results.filter(
        (result) =>
          result.status === "rejected" &&
          result.reason instanceof Refusal &&
          result.reason.code === "unavailable",
      );
      assert.ok(refused.length > 1, `${refused.length} refused`);
      const stored = [...results.keys()].filter((index) => results[index]?.status === "fulfilled");
      assert.equal(stored.length + refused.length, count);
      assert.deepEqual(await keysOf(other, "cut"), stored.map(String).toSorted());
      assert.ok(runs.every((run) => run === 1));
      await assertIntact();
    });

    test("a company that takes long is kept apart", async () => {
      await Promise.all(
        together(async (tx, index) => {
          await tx.run(keep, row("slow", String(index)));
          if (index === 8) await sleep(400);
        }),
      );
      const othersAreDone = Promise.withResolvers<void>();
      const writes = together(async (tx, index) => {
        await tx.run(keep, row("slow again", String(index)));
        if (index === 8) await othersAreDone.promise;
      });
      await Promise.all(writes.toSpliced(8, 1));
      othersAreDone.resolve();
      await writes[8];
      assert.equal((await keysOf(other, "slow again")).length, count);
    });

    test("if a write without the lock moves the head of a chain meanwhile, the batch runs again", async () => {
      const hasRun = Promise.withResolvers<void>();
      const isMoved = Promise.withResolvers<void>();
      let runs = 0;
      const first = store.write(async (tx) => {
        await tx.lock(nameOf(0));
        runs += 1;
        await tx.all(kept, { file_id: "none" });
        record(tx, 0);
        hasRun.resolve();
        await isMoved.promise;
        await tx.run(keep, row("moved", "k"));
      });
      await hasRun.promise;
      await other.write(async (tx) => record(tx, 0));
      isMoved.resolve();
      await first;
      assert.equal(runs, 2);
      assert.deepEqual(await keysOf(other, "moved"), ["k"]);
      await assertIntact();
    });
  });
else test("needs PostgreSQL", () => undefined);
