import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { get, put, rename } from "../testing/company-rows.ts";
import { openTestStore, bothStores, type TestStore } from "../testing/organization.ts";
import { sql } from "kysely";
import { textQuery } from "./query.ts";
import type { Store } from "./store.ts";

/** Until it is counted, a table does not look small. */
const countRows = textQuery(() => sql`analyze companies`);
const explain = textQuery(() => sql<unknown>`explain select * from companies where id = 'only'`);

/** A write that inserts this name fails together with all writes of its transaction. */
const refusing = {
  sqlite: `create trigger refuse after insert on companies when new.name = 'refused'
    begin select raise(rollback, 'refused'); end`,
  postgres: `create function refuse() returns trigger language plpgsql as $$ begin
      if new.name = 'refused' then raise exception 'refused'; end if;
      return null;
    end $$;
    create constraint trigger refuse after insert on companies deferrable initially deferred
      for each row execute function refuse()`,
};

const nameOf = (store: Store, id: string) => store.read(async (tx) => (await tx.first(get, { id }))?.name);

for (const kind of bothStores)
  describe(`the store on ${kind}`, () => {
    const withStore = async (
      use: (store: Store, tamper: TestStore["tamper"]) => Promise<void>,
    ): Promise<void> => {
      const opened: TestStore = await openTestStore(kind);
      try {
        await use(opened.store, opened.tamper);
      } finally {
        await opened.close();
      }
    };

    test("a transaction that throws leaves nothing behind, and transactions at the same time still commit", () =>
      withStore(async (store) => {
        const results = await Promise.allSettled(
          Array.from({ length: 40 }, (_, index) =>
            store.write(async (tx) => {
              await tx.run(put, { id: `c${index}`, name: "x" });
              if (index % 3 === 0) throw new Error("no");
            }),
          ),
        );
        for (const [index, { status }] of results.entries()) {
          assert.equal(status, index % 3 === 0 ? "rejected" : "fulfilled");
          assert.equal(await nameOf(store, `c${index}`), index % 3 === 0 ? undefined : "x");
        }
      }));

    test("if writes that commit together fail, each runs again alone, and only the one that fails then is refused", () =>
      withStore(async (store, tamper) => {
        await tamper(refusing[kind]);
        const runs: number[] = [];
        let heard = 0;
        store.onCommit(() => heard++);
        const gate = Promise.withResolvers<void>();
        const first = store.write(async (tx) => {
          await tx.lock("company");
          await gate.promise;
          await tx.run(put, { id: "first", name: "first" });
        });
        const writing = Promise.allSettled(
          Array.from({ length: 12 }, (_, index) =>
            store.write(async (tx) => {
              runs[index] = (runs[index] ?? 0) + 1;
              await tx.lock("company");
              await tx.run(put, { id: `c${index}`, name: index === 6 ? "refused" : `name ${runs[index]}` });
              return index;
            }),
          ),
        );
        // On SQLite they are already in the group, and run one after another.
        while (kind === "postgres" && runs.filter((count) => count > 0).length < 12) await turn();
        gate.resolve();
        await first;
        const results = await writing;
        assert.deepEqual(
          results.map((result) => (result.status === "fulfilled" ? result.value : "refused")),
          results.map((_, index) => (index === 6 ? "refused" : index)),
        );
        assert.ok(heard > 0 && [0, 5, 6].every((index) => runs[index] === 2), `${runs.join(", ")} runs`);
        assert.equal(await nameOf(store, "first"), "first");
        for (const [index, count] of runs.entries())
          assert.equal(await nameOf(store, `c${index}`), index === 6 ? undefined : `name ${count}`);
      }));

    test("a failing statement fails only its own transaction", () =>
      withStore(async (store) => {
        await store.write(async (tx) => {
          await tx.run(put, { id: "same", name: "x" });
        });
        const [bad, good] = await Promise.allSettled([
          store.write((tx) => tx.run(put, { id: "same", name: "y" })),
          store.write((tx) => tx.run(put, { id: "other", name: "z" })),
        ]);
        assert.equal(bad.status, "rejected");
        assert.equal(good.status, "fulfilled");
        assert.equal(await nameOf(store, "same"), "x");
      }));

    for (const attempts of [false, true])
      test(`what a write ${attempts ? "attempts" : "changes"} after it failed leaves nothing, and the next write whole`, () =>
        withStore(async (store) => {
          const goesOn = Promise.withResolvers<void>();
          let late: Promise<void> = Promise.resolve();
          const bad = store.write(async (tx) => {
            await tx.lock("company");
            await tx.turn();
            const part = async (): Promise<void> => {
              await goesOn.promise;
              if (!attempts) return tx.run(put, { id: "late", name: "x" });
              return tx.attempt(async () => {
                for (let each = 0; each < 9; each++) await tx.first(get, { id: "none" });
                throw new Error("undo");
              });
            };
            late = part();
            late.catch(() => undefined);
            throw new Error("no");
          });
          bad.catch(() => undefined);
          await store.write(async (tx) => {
            await tx.lock("company");
            await tx.turn();
            goesOn.resolve();
            for (let each = 0; each < 5; each++) await tx.first(get, { id: "none" });
            await tx.run(put, { id: "good", name: "x" });
            for (let each = 0; each < 9; each++) await tx.first(get, { id: "none" });
          });
          await assert.rejects(bad, /no/);
          const [{ status }] = await Promise.allSettled([late]);
          assert.deepEqual(
            [await nameOf(store, "late"), await nameOf(store, "good"), status],
            [undefined, "x", "rejected"],
          );
        }));

    test("a lock keeps concurrent read-then-write transactions from losing updates", () =>
      withStore(async (store) => {
        await store.write((tx) => tx.run(put, { id: "n", name: "0" }));
        await Promise.all(
          Array.from({ length: 50 }, () =>
            store.write(async (tx) => {
              await tx.lock("n");
              const now = Number((await tx.first(get, { id: "n" }))?.name);
              await tx.run(rename, { id: "n", name: String(now + 1) });
            }),
          ),
        );
        assert.equal(await nameOf(store, "n"), "50");
      }));

    test("a reader does not see uncommitted changes", () =>
      withStore(async (store) => {
        let release: () => void = () => undefined;
        const held = new Promise<void>((resolve) => {
          release = resolve;
        });
        const writing = store.write(async (tx) => {
          await tx.run(put, { id: "late", name: "x" });
          if (kind === "postgres") await held;
        });
        await turn();
        if (kind === "postgres") assert.equal(await nameOf(store, "late"), undefined);
        release();
        await writing;
        assert.equal(await nameOf(store, "late"), "x");
      }));

    test("a commit calls the listeners", () =>
      withStore(async (store) => {
        let heard = 0;
        const stop = store.onCommit(() => heard++);
        await store.write((tx) => tx.run(put, { id: "a", name: "x" }));
        assert.ok(heard > 0);
        stop();
      }));

    if (kind === "postgres")
      test("a plan uses an index, however small the table is when it is made", () =>
        withStore(async (store) => {
          await store.write(async (tx) => {
            await tx.run(put, { id: "only", name: "x" });
            await tx.run(countRows, {});
          });
          const plans = [
            await store.read((tx) => tx.all(explain, {})),
            await store.write((tx) => tx.all(explain, {})),
          ];
          for (const plan of plans) assert.match(JSON.stringify(plan), /Index Scan/);
        }));

    test("none of ten stores sees the rows of another", async () => {
      const opened = await Promise.all(Array.from({ length: 10 }, () => openTestStore(kind)));
      await Promise.all(
        opened.map(({ store }, index) => store.write((tx) => tx.run(put, { id: "me", name: String(index) }))),
      );
      for (const [index, { store }] of opened.entries())
        assert.equal(await nameOf(store, "me"), String(index));
      await Promise.all(opened.map(({ close }) => close()));
    });

    test("a closed store refuses work", async () => {
      const opened = await openTestStore(kind);
      await opened.close();
      await assert.rejects(opened.store.write((tx) => tx.run(put, { id: "a", name: "x" })));
      await assert.rejects(nameOf(opened.store, "a"));
    });
  });
