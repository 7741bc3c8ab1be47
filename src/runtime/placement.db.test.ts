import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "node:test";
import { sql } from "kysely";
import { keepCodexLogins } from "../brains/codex/login.ts";
import { createKey, updateAgent } from "../contract/agents.ts";
import { listNodes } from "../contract/installation.ts";
import { boardInbox, sendMessage } from "../contract/mail.ts";
import type { Operation } from "../contract/operation.ts";
import { createPerson, signIn } from "../contract/people.ts";
import { why } from "../contract/why.ts";
import { keepBrainHealth } from "../daemon/brain-health.ts";
import { createCore } from "../daemon/core.ts";
import { tidy } from "../daemon/tidying.ts";
import { newId, newSecret } from "../daemon/ids.ts";
import { textQuery } from "../store/query.ts";
import { bothStores, refusal } from "../testing/organization.ts";
import { clearInbox, hang } from "../testing/scripts.ts";
import { type Stage, stagedOn } from "../testing/stage.ts";
import { keepHeart } from "./heart.ts";
import { keepNodeTrouble } from "./node-trouble.ts";

const addMigration = textQuery(
  (p: { name: string }) => sql<never>`insert into migrations (name, applied_at) values (${p.name}, 0)`,
);
const dropMigration = textQuery(
  (_: Record<never, never>) => sql<never>`delete from migrations where name like '% needs %'`,
);

for (const kind of bothStores)
  describe(`where sessions start, on ${kind}`, () => {
    const staged = stagedOn(kind);

    /** A node that reports itself to the others. `ask` calls an operation there as the board, or with another token. */
    function nodeOn(stage: Stage, id: string, capacity?: number, canStart = true) {
      const failures: unknown[] = [];
      const reportBug = (error: unknown) => void failures.push(error);
      const { store, org } = stage;
      const brains = keepBrainHealth({
        nodeId: id,
        secrets: { valueFor: async () => "a key" },
        logins: keepCodexLogins(),
      });
      const trouble = keepNodeTrouble();
      const heart = keepHeart({
        store,
        id,
        name: `machine of ${id}`,
        version: "1.2.3",
        capacity: capacity ?? null,
        address: () => `http://${id}.example`,
        canStart: () => canStart,
        lacks: brains.lacks,
        trouble: trouble.says,
      });
      const { scheduler, runner } = stage.node(id, {
        brains,
        heart,
        trouble,
        reportBug,
        ...(capacity === undefined ? {} : { capacity }),
      });
      const core = createCore({ store, newId, newSecret, troubleOf: brains.troubleOf, nodeId: id });
      const ask = async <Op extends Operation>(operation: Op, input: object, token = org.boardToken) =>
        operation.output.parse(await core.dispatch({ operation, token, input }));
      const explain = async (about: string, token?: string) =>
        why.output.parse(await ask(why, { id: about }, token));
      const list = async (token?: string) => listNodes.output.parse(await ask(listNodes, {}, token)).nodes;
      return { scheduler, runner, heart, explain, list, failures };
    }

    staged(
      "a full node leaves agents to the others, and takes them up when one of its sessions ends",
      async (stage) => {
        const { org } = stage;
        stage.crash(stage);
        const [one, two] = [nodeOn(stage, "one", 1), nodeOn(stage, "two", 2)];
        const gate = Promise.withResolvers<void>();
        for (const { runner } of [one, two])
          runner.otherwise(async (session) => {
            await session.hold(gate.promise);
            await clearInbox(session);
          });
        // A second company, because the limit is that of the node.
        const other = await org.another();
        const agents = [];
        for (const each of [org, other])
          for (const name of ["Ann", "Ben", "Cem"]) {
            const agent = await each.agent(name);
            await each.root(sendMessage, { to: agent.id, body: "x" });
            agents.push(agent.id);
          }
        for (const { scheduler } of [one, two]) await scheduler.start();
        await stage.rest();
        assert.deepEqual([one.runner.alive(), two.runner.alive()], [1, 2]);
        assert.deepEqual(
          (await one.list()).map(({ name, sessions, maxSessions, answering, state, address, version }) => ({
            name,
            sessions,
            maxSessions,
            answering,
            state,
            address,
            version,
          })),
          [
            { name: "machine of one", sessions: 1, maxSessions: 1, answering: true },
            { name: "machine of two", sessions: 2, maxSessions: 2, answering: false },
          ].map((node, index) => ({
            ...node,
            state: "running",
            address: `http://${index === 0 ? "one" : "two"}.example`,
            version: "1.2.3",
          })),
        );
        const started = [...one.runner.started, ...two.runner.started].map(({ agent }) => agent.id);
        const waits = agents.find((id) => !started.includes(id)) ?? assert.fail();
        const { says, state } = await two.explain(waits);
        assert.equal(state, "moving");
        assert.match(says, /every node that can run it has as many sessions as it may run.*--node-sessions/);
        gate.resolve();
        await stage.rest();
        const all = [...one.runner.started, ...two.runner.started].map(({ agent }) => agent.id);
        assert.deepEqual(all.toSorted(), agents.toSorted());
        assert.match((await two.explain(waits)).says, /is idle/);
      },
    );

    staged(
      "a session starts only on a node with its program, and waits if no node has the program",
      async (stage) => {
        const { org } = stage;
        const { board, companyId } = org;
        stage.crash(stage);
        const folder = mkdtempSync(join(tmpdir(), "agency-program-"));
        try {
          const program = join(folder, "thinker");
          const ann = await org.agent("Ann");
          await board(updateAgent, {
            id: ann.id,
            adapterType: "process",
            adapterConfig: { command: program },
          });
          await org.root(sendMessage, { to: ann.id, body: "x" });
          const [one, two] = [nodeOn(stage, "one"), nodeOn(stage, "two")];
          const told = async () =>
            (await board(boardInbox, { companyId })).messages.filter(({ body }) => body?.includes(program))
              .length;
          // The second node has not looked yet, so it may have the program.
          await two.scheduler.renewLeases();
          await one.scheduler.start();
          await one.scheduler.renewLeases();
          assert.deepEqual(
            (await two.list()).map(({ lacks }) => lacks),
            [[program], []],
          );
          assert.equal(await told(), 0);
          assert.match((await one.explain(ann.id)).says, /is idle/);
          await two.scheduler.start();
          await two.scheduler.renewLeases();
          for (let round = 0; round < 2; round++) {
            stage.advance(31_000);
            for (const node of [one, two]) await node.scheduler.tick();
          }
          assert.equal(one.runner.started.length + two.runner.started.length, 0);
          for (const node of [one, two]) {
            const { state, says } = await node.explain(ann.id);
            assert.equal(state, "stuck");
            assert.ok(says.includes(`There is no program called "${program}"`), says);
            assert.match(says, /agency agents update/);
            // On SQLite there is only one node, so a second one soon counts as silent.
            if (kind === "postgres") assert.match(says, /No node has it\./);
          }
          assert.equal(await told(), 1);
          // Both nodes on one machine. The first node is down when the program is installed.
          stage.crash(one);
          writeFileSync(program, "#!/bin/sh\n");
          chmodSync(program, 0o700);
          two.runner.plan(ann.id, clearInbox);
          stage.advance(31_000);
          await stage.rest();
          assert.equal(two.runner.started.length, 1);
          await two.scheduler.renewLeases();
          assert.deepEqual(
            (await two.list()).map(({ state, lacks }) => [state, lacks.length]),
            [
              ["silent", 1],
              ["running", 0],
            ],
          );
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
      },
    );

    staged(
      "a node with a full disk leaves agents to a healthy one, and people see which node it is",
      async (stage) => {
        const { org } = stage;
        stage.crash(stage);
        const [full, sound] = [nodeOn(stage, "full"), nodeOn(stage, "sound", 1)];
        const noSpace = Object.assign(new Error("ENOSPC: no space left on device, mkdir"), {
          code: "ENOSPC",
        });
        const agents = [await org.agent("Ann"), await org.agent("Ben")];
        for (const { id } of agents) {
          await org.root(sendMessage, { to: id, body: "x" });
          full.runner.failStart(id, noSpace);
        }
        for (const node of [full, sound]) await node.scheduler.renewLeases();
        // After the first failure the node takes no other agent.
        await full.scheduler.start();
        await full.scheduler.renewLeases();
        assert.deepEqual(full.failures, [noSpace]);
        assert.deepEqual(
          (await sound.list()).map(({ trouble }) => trouble),
          [noSpace.message, null],
        );
        sound.runner.otherwise(hang);
        await sound.scheduler.start();
        await stage.rest();
        assert.deepEqual([full.runner.started.length, sound.runner.alive()], [0, 1]);
        const [waits] = agents.filter(({ id }) => sound.runner.started[0]?.agent.id !== id);
        assert.match((await full.explain(waits?.id ?? "")).says, /every node that can run it/);
        if (kind === "postgres") {
          await sound.scheduler.stop();
          await sound.heart.stop();
          stage.crash(sound);
          assert.match((await full.explain(waits?.id ?? "")).says, /could not start their last sessions/);
        }
        full.runner.otherwise(clearInbox);
        for (const { id } of agents) full.runner.failStart(id, noSpace);
        await sound.scheduler.stop();
        stage.crash(sound);
        stage.advance(5000);
        await stage.rest();
        assert.equal(full.failures.length, 2);
        stage.advance(10_000);
        await stage.rest();
        assert.equal(full.failures.length, 3);
        stage.advance(20_000);
        await stage.rest();
        assert.deepEqual(
          full.runner.started.map(({ agent }) => agent.id).toSorted(),
          agents.map(({ id }) => id).toSorted(),
        );
        await full.scheduler.renewLeases();
        assert.deepEqual(
          (await full.list()).filter(({ answering }) => answering).map(({ trouble }) => trouble),
          [null],
        );
      },
    );

    staged("a node without a sandbox leaves programs to a node with one", async (stage) => {
      const { org } = stage;
      stage.crash(stage);
      const bare = nodeOn(stage, "bare", undefined, false);
      const safe = nodeOn(stage, "safe", 1);
      await bare.scheduler.renewLeases();
      await safe.scheduler.renewLeases();
      const ann = await org.agent("Ann");
      assert.deepEqual(
        (await bare.list()).map(({ brains }) => brains.includes("process")),
        [false, true],
      );
      safe.runner.plan(ann.id, hang);
      await org.root(sendMessage, { to: ann.id, body: "x" });
      await safe.scheduler.tick();
      const ben = await org.agent("Ben");
      // The node that could run Ben is full, and the other one can't run him.
      assert.match((await bare.explain(ben.id)).says, /every node that can run it/);
    });

    staged(
      "nodes are known by the database's clock, and forgotten a day after they stopped",
      async (stage) => {
        stage.crash(stage);
        const [one, two] = [nodeOn(stage, "one"), nodeOn(stage, "two")];
        for (const { scheduler } of [one, two]) await scheduler.renewLeases();
        const states = async () => (await one.list()).map(({ state }) => state);
        stage.advance(19_000);
        assert.deepEqual(await states(), ["running", "running"]);
        stage.advance(2000);
        assert.deepEqual(await states(), ["running", "silent"]);
        await two.heart.stop();
        assert.deepEqual(await states(), ["running"]);
        const again = nodeOn(stage, "two");
        await again.scheduler.renewLeases();
        stage.advance(23 * 3_600_000);
        await tidy(stage.store);
        assert.deepEqual(await states(), ["running", "silent"]);
        stage.advance(2 * 3_600_000);
        await tidy(stage.store, "one");
        assert.deepEqual(
          (await one.list()).map(({ name }) => name),
          ["machine of one"],
        );
      },
    );

    if (kind === "postgres")
      staged("a node checks with every heartbeat whether it is new enough", async (stage) => {
        stage.crash(stage);
        const refused: unknown[] = [];
        const heart = keepHeart({
          store: stage.store,
          id: "old",
          name: "machine of old",
          version: "1.2.3",
          capacity: null,
          address: () => "http://old.example",
          canStart: () => true,
          lacks: () => [],
          tooOld: (error) => void refused.push(error),
        });
        const beat = async () => {
          const next = heart.beat() ?? assert.fail();
          await stage.store.write((tx) => next.write(tx), "leases");
          next.written();
        };
        await beat();
        // The migration had looked for older nodes before the first beat.
        await stage.store.write((tx) => tx.run(addMigration, { name: "0002-names needs 1.3.0" }));
        await assert.rejects(beat(), /The data needs Agency 1\.3\.0 or newer\. This is Agency 1\.2\.3\./);
        assert.equal(refused.length, 1);
        await stage.store.write((tx) => tx.run(dropMigration, {}));
        await beat();
        assert.equal(refused.length, 1);
      });

    staged("only people who govern or watch the installation see its nodes", async (stage) => {
      const { org } = stage;
      const node = nodeOn(stage, "one", 1);
      await node.scheduler.renewLeases();
      const { key } = await org.board(createKey, { id: org.rootId });
      await refusal(node.list(key), "forbidden");
      const signedIn = async (role: "viewer" | "member") => {
        const made = await org.board(createPerson, { name: `A ${role}`, role });
        const { token } = await org.as("")(signIn, { code: made.signIn.code, kind: "program" });
        return token ?? assert.fail();
      };
      assert.equal((await node.list(await signedIn("viewer"))).length, 1);
      await refusal(node.list(await signedIn("member")), "forbidden");
      // The explanation of a full node names neither nodes nor numbers to an agent.
      const ann = await org.agent("Ann");
      node.runner.otherwise(hang);
      stage.crash(stage);
      const busy = await org.agent("Busy");
      await org.root(sendMessage, { to: busy.id, body: "x" });
      await node.scheduler.start();
      assert.equal(node.runner.alive(), 1);
      const { says } = await node.explain(ann.id, key);
      assert.match(says, /every node that can run it/);
      assert.doesNotMatch(says, /machine of|example|\d/);
    });
  });
