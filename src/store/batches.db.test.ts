import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import { newAgentDefaults } from "../agents/table.ts";
import { Refusal } from "../contract/refusal.ts";
import { keep, keysOf, kept, row } from "../testing/blob-rows.ts";
import { put, rename } from "../testing/company-rows.ts";
import { allowed } from "../testing/allowed.ts";
import { testStores } from "../testing/postgres.ts";
import { twoNodes } from "../testing/two-nodes.ts";
import { genesis, hashOf, macOf } from "./chain.ts";
import { insertion } from "./inserts.ts";
import { query, selection, updating } from "./query.ts";
import type { NewRow } from "./schema.ts";
import type { Store, Tx } from "./store.ts";

const edge = insertion("edges");
const edges = selection("edges", ["parent_id"]);
const company = selection("companies", ["id"]);
const eventsOf = selection("events", ["company_id"], sql`order by seq`);
const agent = selection("agents", ["id"]);
const addAgent = insertion("agents");
const roleOnly = query((db, p: { id: string }) =>
  db.selectFrom("agents").select("role").where("id", "=", p.id),
);
const setRole = updating("agents", ["role"], ["id"]);
const agentIn = (company_id: string, id: string): NewRow<"agents"> => ({
  ...newAgentDefaults,
  id,
  company_id,
  name: id,
  name_key: id,
  slug: id,
  role: "worker",
  boss_id: null,
  mandate_id: id,
  state_file_id: id,
  brain_type: "human",
  brain_config: "{}",
  created_at: 0,
});
/** Makes a commit wait for a lock of the test, or cuts its connection. */
const atCommit = `
  create function at_commit() returns trigger language plpgsql as $$ begin
    if new.hash like 'held%' then
      -- The store gives up a lock after 3 seconds, and a busy machine needs longer for what the test does meanwhile.
      perform set_config('lock_timeout', '0', true);
      perform pg_advisory_xact_lock(1);
    end if;
    if new.hash like 'cut%' then perform pg_terminate_backend(pg_backend_pid()); end if;
    return null;
  end $$;
  create constraint trigger at_commit after insert on blobs deferrable initially deferred
    for each row execute function at_commit()`;

/** Whether a write was refused because the database did not answer. */
const isAway = (result: PromiseSettledResult<unknown>): boolean =>
  result.status === "rejected" && result.reason instanceof Refusal && result.reason.code === "unavailable";

if (testStores.has("postgres"))
  describe("writes of one company that commit together", async () => {
    const { store, proxy, other, outside } = await twoNodes(atCommit);
    const writes = (count: number, work: (tx: Tx, index: number) => Promise<unknown>) =>
      Promise.allSettled(
        Array.from({ length: count }, (_, index) =>
          store.write(async (tx) => {
            await tx.lock("company");
            return work(tx, index);
          }),
        ),
      );

    test("each write sees the changes of earlier ones, and a write that throws changes nothing", async () => {
      let runs = 0;
      const results = await writes(20, async (tx, index) => {
        runs++;
        const seen = (await tx.all(kept, { file_id: "a" })).length;
        await tx.run(keep, row("a", `k${index}`));
        if (index % 4 === 3) throw new Error("no");
        return seen;
      });
      const good = results.flatMap((result) => (result.status === "fulfilled" ? [Number(result.value)] : []));
      assert.deepEqual(
        good.toSorted((a, b) => a - b),
        [...good.keys()],
      );
      assert.equal(good.length, 15);
      assert.equal((await keysOf(other, "a")).length, 15);
      // Other writes changed what each has read early, so it ran again in its turn. The first write that throws makes those
      // before it run again.
      assert.ok(runs <= 60, `${runs} runs`);
      // From now on, for a while, a write that throws makes no other run again.
      runs = 0;
      await writes(20, async (tx, index) => {
        runs++;
        await tx.run(keep, row("a2", `k${index}`));
        if (index % 4 === 3) throw new Error("no");
      });
      assert.equal(runs, 20);
      assert.equal((await keysOf(other, "a2")).length, 15);
    });

    test("a statement that fails unnoticed fails its own write, and no other", async () => {
      for (const count of [18, 20]) {
        const file = `b${count}`;
        const results = await writes(count, async (tx, index) => {
          // This write is told of the failure of the write before it.
          if (index % 5 === 0) await tx.all(kept, { file_id: file });
          await tx.run(keep, row(file, index % 5 === 4 ? "same" : `k${index}`));
        });
        assert.equal(results.filter(({ status }) => status === "fulfilled").length, 16 + (count - 18) / 2);
        assert.equal((await keysOf(other, file)).length, 16 + (count - 18) / 2);
      }
    });

    test("an attempt that fails undoes its own part, and nothing before it", async () => {
      const results = await writes(6, async (tx, index) => {
        await tx.run(keep, row("c", `k${index}`));
        const inner = async (): Promise<void> => {
          await tx.run(keep, row("c", `inner ${index}`));
          await tx.run(keep, row("c", `k${index}`));
        };
        await tx.attempt(() => tx.attempt(inner).catch(() => tx.run(keep, row("c", `after ${index}`))));
      });
      assert.ok(results.every(({ status }) => status === "fulfilled"));
      assert.equal((await keysOf(other, "c")).filter((key) => !key.startsWith("inner")).length, 12);
      assert.equal((await keysOf(other, "c")).length, 12);
    });

    test("a company that waits does not use up the connections of the others", async () => {
      let isReleased = false;
      const isHeld = Promise.withResolvers<void>();
      const holder = other.write(async (tx) => {
        await tx.lock("company");
        // The server would end a silent transaction.
        for (; !isReleased; await sleep(100)) {
          await tx.all(kept, { file_id: "d" });
          isHeld.resolve();
        }
      });
      await isHeld.promise;
      const waiting = writes(40, (tx, index) => tx.run(keep, row("d", `k${index}`)));
      const from = performance.now();
      await store.write(async (tx) => {
        await tx.lock("another");
        await tx.run(keep, row("d", "another"));
      });
      await store.write((tx) => tx.lock("leases"), "leases");
      assert.ok(performance.now() - from < allowed(1500), "another company waits");
      isReleased = true;
      await holder;
      // On a very slow machine, some writes wait too long for the lock. They are refused then.
      const made = (await waiting).filter((result) => !isAway(result));
      assert.ok(made.every(({ status }) => status === "fulfilled"));
      assert.equal((await keysOf(other, "d")).length, made.length + 1);
    });

    test("a write reads rows again after a change by itself, another write or another node, and after an undo", async () => {
      const id = "company";
      await store.write((tx) => tx.run(put, { id, name: "first" }));
      const nameIn = async (tx: Tx): Promise<string | undefined> => (await tx.first(company, { id }))?.name;
      const begun = Promise.withResolvers<void>();
      const changedElsewhere = Promise.withResolvers<void>();
      const done = writes(4, async (tx, index) => {
        const seen = [await nameIn(tx), (await tx.all(edges, { parent_id: "p" })).length];
        if (index === 0) {
          begun.resolve();
          await changedElsewhere.promise;
        }
        const undone = async (): Promise<never> => {
          await tx.run(rename, { id, name: "undone" });
          seen.push(await nameIn(tx));
          throw new Error("undo");
        };
        if (index > 0) await tx.attempt(undone).catch(async () => seen.push(await nameIn(tx)));
        const change = { id, name: `by ${index}` };
        await (index === 3 ? tx.first(rename, change) : tx.run(rename, change));
        seen.push(await nameIn(tx));
        if (index === 2) throw new Error("no");
        return seen;
      });
      await begun.promise;
      await other.write((tx) => tx.run(edge, { parent_id: "p", child_id: "c" }));
      changedElsewhere.resolve();
      assert.deepEqual(
        (await done).map((result) => (result.status === "fulfilled" ? result.value : null)),
        [
          ["first", 0, "by 0"],
          ["by 0", 1, "undone", "by 0", "by 1"],
          null,
          ["by 1", 1, "undone", "by 1", "by 3"],
        ],
      );
    });

    test("of the rows an earlier write read, the next write uses only agents of the company whose lock is held", async () => {
      const roleOf = async (tx: Tx, id: string): Promise<string> =>
        (await tx.first(agent, { id }))?.role ?? "none";
      await store.write((tx) => tx.run(addAgent, agentIn("company", "mine")));
      await store.write((tx) => tx.run(addAgent, agentIn("elsewhere", "theirs")));
      const begun = Promise.withResolvers<void>();
      const changedElsewhere = Promise.withResolvers<void>();
      const done = writes(2, async (tx, index) => {
        // Reads after a change happen in the write's turn.
        if (index > 0) await tx.run(keep, row("roles", "k1"));
        const seen = [await roleOf(tx, "mine"), await roleOf(tx, "theirs"), await roleOf(tx, "late")];
        if (index > 0) return seen;
        begun.resolve();
        await changedElsewhere.promise;
        await tx.run(keep, row("roles", "k"));
        return seen;
      });
      await begun.promise;
      // Without a company's lock, no node changes its agents. Here it only shows which reads are repeated.
      for (const id of ["mine", "theirs"])
        await other.write((tx) => tx.run(setRole, { id, role: "changed" }));
      await other.write((tx) => tx.run(addAgent, agentIn("company", "late")));
      changedElsewhere.resolve();
      assert.deepEqual(
        (await done).map((result) => (result.status === "fulfilled" ? result.value : result.reason)),
        [
          ["worker", "worker", "none"],
          ["worker", "changed", "worker"],
        ],
      );
    });

    test("rows that waiting writes announce are read together, and again if an earlier write has changed them", async () => {
      await store.write(async (tx) => {
        for (const id of ["a1", "a2", "a3"]) await tx.run(addAgent, agentIn("company", id));
      });
      const sent: unknown = Reflect.get(pg.Client.prototype, "query");
      if (typeof sent !== "function") throw new TypeError("the driver has no queries");
      const reads: number[] = [];
      Reflect.set(pg.Client.prototype, "query", function (this: pg.Client, ...args: unknown[]): unknown {
        const statements: unknown[] = Object(args[0]).statements ?? [];
        for (const statement of statements) {
          const { text, sent: values } = Object(statement);
          if (String(text).startsWith('select "role"')) reads.push(1);
          // One statement that reads for several writes.
          else if (String(text).includes('select "role"')) reads.push(JSON.parse(String(values)).length);
        }
        return Reflect.apply(sent, this, args);
      });
      const holding = Promise.withResolvers<void>();
      const isWaiting = Promise.withResolvers<void>();
      // The other writes arrive during the turn of this one.
      const first = store.write(async (tx) => {
        await tx.lock("company");
        isWaiting.resolve();
        await holding.promise;
        await tx.run(keep, row("announced", "k"));
      });
      await isWaiting.promise;
      const seen: Promise<string | undefined>[] = [];
      for (const [index, id] of ["a1", "a2", "a3"].entries()) {
        const inLane = Promise.withResolvers<void>();
        const write = store.write(async (tx) => {
          tx.ahead(roleOnly, { id });
          const locked = tx.lock("company");
          inLane.resolve();
          await locked;
          const before = (await tx.first(roleOnly, { id }))?.role;
          // Each changes its own agent, and the second also the next one.
          await tx.run(setRole, { id, role: `by ${index}` });
          if (index === 1) await tx.run(setRole, { id: "a3", role: "early" });
          return before;
        });
        seen.push(write);
        await inLane.promise;
      }
      holding.resolve();
      await first;
      const roles = await Promise.all(seen).finally(() => Reflect.set(pg.Client.prototype, "query", sent));
      assert.deepEqual(roles, ["worker", "worker", "early"]);
      // All read together, and the last one reads once more.
      assert.deepEqual(reads, [3, 1]);
    });

    /** A write whose turn lasts until `release` is called, and others that wait behind it. */
    const holdTurn = async (work: (tx: Tx) => Promise<void> = async () => undefined) => {
      const hasTurn = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      const first = store.write(async (tx) => {
        await tx.lock("company");
        await tx.run(keep, row("turn", `k${(turns += 1)}`));
        await work(tx);
        hasTurn.resolve();
        await released.promise;
        await work(tx);
      });
      await Promise.race([hasTurn.promise, first]);
      return { first, release: () => released.resolve() };
    };
    let turns = 0;
    const addAgents = (...ids: string[]): Promise<void> =>
      store.write(async (tx) => {
        for (const id of ids) await tx.run(addAgent, agentIn("company", id));
      });

    test("writes read while others have their turn, and a write runs again if its rows were changed meanwhile", async () => {
      await addAgents("e1", "e2", "e3");
      const { first, release } = await holdTurn();
      const runs = [0, 0, 0];
      const haveRead = [0, 1, 2].map(() => Promise.withResolvers<void>());
      const waiting = writes(3, async (tx, index) => {
        runs[index] = (runs[index] ?? 0) + 1;
        const seen = (await tx.first(agent, { id: `e${index + 1}` }))?.role;
        haveRead[index]?.resolve();
        await tx.run(setRole, { id: `e${index + 1}`, role: `by ${index}` });
        if (index === 0) await tx.run(setRole, { id: "e3", role: "early" });
        return seen;
      });
      // The first one still has its turn.
      await Promise.all(haveRead.map(({ promise }) => promise));
      release();
      await first;
      assert.deepEqual(
        (await waiting).map((result) => (result.status === "fulfilled" ? result.value : result.reason)),
        ["worker", "worker", "early"],
      );
      assert.deepEqual(runs, [1, 1, 2]);
    });

    test("a write that has read an undone change runs again", async () => {
      await addAgents("u1", "u2");
      let calls = 0;
      const { first, release } = await holdTurn(async (tx) => {
        if ((calls += 1) === 2) throw new Error("undo");
        await tx.run(setRole, { id: "u1", role: "undone" });
      });
      const read = Promise.withResolvers<string | undefined>();
      let runs = 0;
      const [undone, other] = ["u1", "u2"].map((id) =>
        store.write(async (tx) => {
          await tx.lock("company");
          const seen = (await tx.first(agent, { id }))?.role;
          runs++;
          if (id === "u1") read.resolve(seen);
          await tx.run(keep, row("undone", id));
          return seen;
        }),
      );
      assert.equal(await read.promise, "undone");
      release();
      await assert.rejects(first, /undo/);
      assert.deepEqual([await undone, await other, runs], ["worker", "worker", 3]);
    });

    test("a read that fails before the turn of its write fails no other write", async () => {
      const { first, release } = await holdTurn();
      const good = () => writes(3, (tx, index) => tx.run(keep, row("spoilt", `k${index}`)));
      const before = good();
      // PostgreSQL can't store this text.
      const bad = store.write(async (tx) => {
        await tx.lock("company");
        return tx.first(agent, { id: "\u0000" });
      });
      const after = good();
      await other.read((tx) => tx.all(kept, { file_id: "spoilt" }));
      release();
      await first;
      await assert.rejects(bad, /invalid byte sequence/);
      assert.ok((await before).every(({ status }) => status === "fulfilled"));
      // The same rows again.
      assert.ok((await after).every(({ status }) => status === "rejected"));
      assert.deepEqual(await keysOf(other, "spoilt"), ["k0", "k1", "k2"]);
    });

    test("a write whose batch failed meanwhile no longer reads over the connection that was given back", async () => {
      let calls = 0;
      const { first, release } = await holdTurn(async () => {
        if ((calls += 1) % 2 === 0) throw new Error("undo");
      });
      const [begun, spoilt, gate] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
      const bad = store.write(async (tx) => {
        await tx.lock("company");
        await begun?.promise;
        await tx.first(agent, { id: "\u0000" }).finally(() => spoilt?.resolve());
      });
      const failed = assert.rejects(bad, /invalid byte sequence/);
      const late: string[] = [];
      const waiting = store.write(async (tx) => {
        await tx.lock("company");
        await tx.all(kept, { file_id: "gate" });
        begun?.resolve();
        await gate?.promise;
        const read = tx.all(kept, { file_id: "late" });
        await read.then(
          () => late.push("read"),
          () => late.push("refused"),
        );
        await read;
      });
      await spoilt?.promise;
      release();
      await assert.rejects(first, /undo/);
      gate?.resolve();
      await waiting;
      await failed;
      // The write ran again, alone.
      assert.deepEqual(late, ["refused", "read"]);
    });

    test("a row that a statement changed and returned is not read again, unless the change is undone", async () => {
      const sent: unknown = Reflect.get(pg.Client.prototype, "query");
      if (typeof sent !== "function") throw new TypeError("the driver has no queries");
      let reads = 0;
      Reflect.set(pg.Client.prototype, "query", function (this: pg.Client, ...args: unknown[]): unknown {
        for (const { text } of Object(args[0]).statements ?? [])
          if (String(text).startsWith('select * from "agents"')) reads++;
        return Reflect.apply(sent, this, args);
      });
      const [result] = await writes(1, async (tx) => {
        const roles: string[] = [];
        const look = async (): Promise<void> =>
          void roles.push((await tx.first(agent, { id: "told" }))?.role ?? "none");
        await tx.run(addAgent, agentIn("company", "told"));
        await look();
        await tx.run(setRole, { id: "told", role: "second" });
        await look();
        const undone = tx.attempt(async () => {
          await tx.run(setRole, { id: "told", role: "undone" });
          await look();
          throw new Error("undo");
        });
        await assert.rejects(undone, /undo/);
        await look();
        return roles;
      }).finally(() => Reflect.set(pg.Client.prototype, "query", sent));
      assert.deepEqual(result, {
        status: "fulfilled",
        value: ["worker", "second", "undone", "second"],
      });
      assert.equal(reads, 1);
    });

    /** Waits until a commit waits for the lock that this test holds. */
    const commitIsHeld = async (): Promise<void> => {
      const waiting = `select 1 from pg_locks join pg_database on database = pg_database.oid
        where datname = current_database() and locktype = 'advisory' and objid = 1 and not granted`;
      while ((await outside.query(waiting)).rowCount === 0);
    };

    test("no write is answered before the commit, and other companies commit meanwhile", async () => {
      await outside.query("select pg_advisory_lock(1)");
      let answered = 0;
      const some = writes(8, async (tx, index) => {
        await tx.run(keep, row("e", index === 3 ? "held" : `k${index}`));
        if (index === 5) throw new Error("no");
      }).finally(() => (answered = 8));
      const one = store
        .write(async (tx) => {
          await tx.lock("company");
          await tx.run(keep, row("e", "held too"));
        })
        .finally(() => answered++);
      await commitIsHeld();
      await store.write(async (tx) => {
        await tx.lock("another");
        await tx.run(keep, row("e", "another"));
      });
      const seen = await keysOf(other, "e");
      assert.ok(!seen.includes("held") && !seen.includes("held too"));
      assert.equal(answered, 0);
      await outside.query("select pg_advisory_unlock(1)");
      await one;
      assert.equal((await some).filter(({ status }) => status === "fulfilled").length, 7);
      assert.equal((await keysOf(other, "e")).length, 9);
    });

    test("a write whose commit has no answer is refused, and not repeated", async () => {
      const runs = new Map<number, number>();
      const refused = async (started: Promise<PromiseSettledResult<unknown>[]>): Promise<boolean[]> =>
        (await started).map(isAway);
      const count = (key: string) => (tx: Tx, index: number) => {
        const run = (runs.get(index) ?? 0) + 1;
        runs.set(index, run);
        return tx.run(keep, row("g", `${key} ${index} ${run}`));
      };
      // The server ends the connection, and commits nothing.
      const cut = await refused(writes(6, count("cut")));
      assert.deepEqual(await keysOf(other, "g"), []);
      assert.deepEqual([...runs.values()], [1, 1, 1, 1, 1, 1]);
      assert.ok(cut.every(Boolean));
      // The network ends the connection, and the server commits.
      runs.clear();
      await outside.query("select pg_advisory_lock(1)");
      const gone = refused(writes(1, count("held")));
      await commitIsHeld();
      proxy.cut();
      assert.deepEqual(await gone, [true]);
      await outside.query("select pg_advisory_unlock(1)");
      proxy.heal();
      await writes(1, (tx) => tx.run(keep, row("g", "next")));
      assert.deepEqual(await keysOf(other, "g"), ["held 0 1", "next"]);
    });

    test("events of writes that commit together are chained without a gap, in the order of the writes", async () => {
      const record = async (node: Store, index: number): Promise<void> =>
        node.write(async (tx) => {
          await tx.lock("chained");
          const before = (await tx.all(kept, { file_id: "h" })).length;
          await tx.run(keep, row("h", String(index)));
          // Some read the ledger, which first seals what the writes before them recorded.
          if (index % 7 === 0) await tx.all(eventsOf, { company_id: "chained" });
          tx.append({
            company_id: "chained",
            at: tx.now,
            actor_kind: "system",
            agent_id: null,
            session_id: null,
            person_id: null,
            operation: "test",
            subject: null,
            data: JSON.stringify({ before }),
          });
          if (index % 5 === 0) throw new Error("no");
        });
      await Promise.allSettled(
        Array.from({ length: 60 }, (_, index) => record(index % 3 === 0 ? other : store, index)),
      );
      const events = await other.read((tx) => tx.all(eventsOf, { company_id: "chained" }));
      assert.deepEqual(
        events.map(({ seq, data }) => [seq, data]),
        Array.from({ length: 48 }, (_, index) => [index + 1, JSON.stringify({ before: index })]),
      );
      const mac = macOf("key");
      for (const [index, event] of events.entries()) {
        assert.equal(event.previous, events[index - 1]?.hash ?? genesis);
        assert.equal(event.hash, hashOf(mac, event));
      }
    });
  });
else test("needs PostgreSQL", () => undefined);
