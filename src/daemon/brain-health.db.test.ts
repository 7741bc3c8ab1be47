import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "node:test";
import { keepCodexLogins } from "../brains/codex/login.ts";
import { updateAgent, wakeAgent } from "../contract/agents.ts";
import { boardInbox } from "../contract/mail.ts";
import { createOutcome, viewOutcome } from "../contract/outcomes.ts";
import { submitSummary } from "../contract/sessions.ts";
import { forgetState, noteRefused, noteWaiting } from "../gateway/states.ts";
import { storeKinds } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { type Stage, stagedOn } from "../testing/stage.ts";
import { keepBrainHealth } from "./brain-health.ts";

for (const kind of storeKinds)
  describe(`brains that can't work on ${kind}`, () => {
    const staged = stagedOn(kind);
    const ends =
      (cause: "missing" | "signed_out" | "overloaded" | "failed"): Script =>
      async () => ({ code: 1, cause, reason: `it was ${cause}` });

    staged(
      "stop for all agents, are reported to the board once, and don't count against the agent",
      async (stage, t) => {
        const { org } = stage;
        const { board, companyId } = org;
        const key: { value?: string } = {};
        const brains = keepBrainHealth({
          nodeId: "node-2",
          secrets: { valueFor: async () => key.value },
          logins: keepCodexLogins(),
        });
        stage.crash(stage);
        const { runner } = stage.node("node-2", { brains });
        const ann = await org.agent("Ann");
        const ben = await org.agent("Ben");
        const folder = mkdtempSync(join(tmpdir(), "agency-brain-"));
        t.after(() => rmSync(folder, { recursive: true, force: true }));
        const program = join(folder, "claude");
        const brain = { adapterType: "claude_local", adapterConfig: { command: program } };
        for (const { id } of [ann, ben]) await board(updateAgent, { id, ...brain });
        const work = await ann.call(createOutcome, { title: "think", parents: [ann.id] });
        await ben.call(createOutcome, { title: "think as well", parents: [ben.id] });

        const told = async (about: RegExp): Promise<number> =>
          (await board(boardInbox, { companyId })).messages.filter(({ body }) => about.test(body ?? ""))
            .length;
        await stage.rest();
        const starts = (): number => runner.started.length;
        assert.equal(starts(), 0, "nothing starts without a key");
        assert.equal(await told(/ANTHROPIC_API_KEY is not set.*continue when it works again/), 1);

        key.value = "a key";
        stage.advance(31_000);
        await stage.rest();
        assert.equal(starts(), 0, "nothing starts without the program");
        assert.equal(await told(/is not installed: .*npm install/), 1);

        writeFileSync(program, "", { mode: 0o700 });
        stage.advance(31_000);
        // The program is present but can't be started, and is then removed.
        runner.otherwise(async (session) => {
          rmSync(program, { force: true });
          return ends("missing")(session);
        });
        await stage.rest();
        // Both agents may start at the same time, before the first one has found out.
        const tried = starts();
        assert.ok(tried === 1 || tried === 2, `${tried} sessions`);
        assert.equal(runner.started[0]?.agent.model, "claude-sonnet-4-5");
        assert.equal(await told(/it was missing/), 1);
        stage.advance(3_600_000);
        await stage.rest();
        assert.equal(runner.started.length, tried);
        assert.equal((await board(viewOutcome, { id: work.id })).blocked, null);

        for (const { id } of [ann, ben])
          await board(updateAgent, { id, adapterType: "claude_local", adapterConfig: { command: "sh" } });
        runner.otherwise(ends("overloaded"));
        await stage.rest();
        const before = runner.started.length;
        assert.ok(before > tried);
        await stage.rest();
        assert.equal(runner.started.length, before);
        stage.advance(31_000);
        await stage.rest();
        assert.ok(runner.started.length > before);
        assert.equal((await board(viewOutcome, { id: work.id })).blocked, null);
      },
    );

    /** Two agents with work and the same brain, on a node that knows which brains can work. */
    async function twoOn(stage: Stage, adapterType: string, adapterConfig: Record<string, unknown>) {
      const { org } = stage;
      const brains = keepBrainHealth({
        nodeId: "node-2",
        secrets: { valueFor: async () => "a key" },
        logins: keepCodexLogins(),
      });
      stage.crash(stage);
      const { runner } = stage.node("node-2", { brains });
      const agents = [await org.agent("Ann"), await org.agent("Ben")] as const;
      for (const { id } of agents) await org.board(updateAgent, { id, adapterType, adapterConfig });
      for (const agent of agents) await agent.call(createOutcome, { title: "think", parents: [agent.id] });
      const { companyId } = org;
      return {
        runner,
        agents,
        /** The number of sessions that start in this time. */
        starts: async (milliseconds: number): Promise<number> => {
          const before = runner.started.length;
          stage.advance(milliseconds);
          await stage.rest();
          return runner.started.length - before;
        },
        mails: async () =>
          (await org.board(boardInbox, { companyId })).messages.map(({ body }) => body ?? ""),
      };
    }

    staged("a brain that has run for a minute counts as working again for all agents", async (stage) => {
      const { org } = stage;
      const brain = { adapterType: "acp", adapterConfig: { command: process.execPath } };
      const { runner, starts } = await twoOn(stage, brain.adapterType, brain.adapterConfig);
      runner.otherwise(ends("signed_out"));
      await starts(0);
      const third = await org.agent("Cleo");
      await org.board(updateAgent, { id: third.id, ...brain });
      await third.call(createOutcome, { title: "think", parents: [third.id] });
      const gate = Promise.withResolvers<void>();
      runner.otherwise((session) => session.hold(gate.promise));
      assert.equal(await starts(31_000), 1, "one tries");
      assert.equal(await starts(30_000), 0, "the others wait for it");
      assert.equal(await starts(31_000), 2, "the others start");
      gate.resolve();
      await stage.rest();
    });

    staged("a session that began before the trouble does not prove that the brain works", async (stage) => {
      const { org } = stage;
      const brain = { adapterType: "acp", adapterConfig: { command: process.execPath } };
      const { runner, starts } = await twoOn(stage, brain.adapterType, brain.adapterConfig);
      const gate = Promise.withResolvers<void>();
      runner.otherwise((session) => session.hold(gate.promise));
      assert.equal(await starts(0), 2, "both work");
      const others = [];
      for (const name of ["Cleo", "Dan"]) {
        const other = await org.agent(name);
        await org.board(updateAgent, { id: other.id, ...brain });
        others.push(other);
      }
      runner.otherwise(ends("signed_out"));
      for (const other of others) await other.call(createOutcome, { title: "think", parents: [other.id] });
      assert.ok((await starts(120_000)) <= 2, "the newcomers find the trouble");
      assert.equal(await starts(31_000), 1, "one tries");
      assert.equal(await starts(31_000), 0, "the wait grows");
      gate.resolve();
      await stage.rest();
    });

    staged(
      "a brain that is signed out is reported to the board once, and one session tries again after growing waits",
      async (stage) => {
        const { org } = stage;
        const brain = { command: process.execPath };
        const { runner, starts, mails, agents } = await twoOn(stage, "acp", brain);
        let request = 0;
        runner.otherwise(async () => ({ code: 71, cause: "signed_out", reason: `Sign in (${++request}).` }));
        // Both agents may start before the first one has found out.
        const first = await starts(0);
        assert.ok(first === 1 || first === 2, `${first}`);
        assert.equal(await starts(29_000), 0);
        assert.equal(await starts(2000), 1);
        assert.equal(await starts(31_000), 0);
        assert.equal(await starts(31_000), 1);
        for (let hour = 0; hour < 8; hour++) assert.equal(await starts(3_601_000), 1, `hour ${hour}`);
        assert.equal(await starts(1_800_000), 0, "not more often than once an hour");
        const [told = "", ...more] = await mails();
        assert.deepEqual(more, []);
        assert.match(told, /^Sign in \(\d\)\. .*continue when it works again.*Agency tries again at 2030-/);

        // A person reports that the brain is repaired, and is wrong.
        await org.board(wakeAgent, { id: agents[0].id });
        assert.equal(await starts(0), 1);
        assert.equal(await starts(60_000), 0);
        // Now the brain is repaired. The other agent need not wait for the end of the session that shows it.
        const { promise: gate, resolve: open } = Promise.withResolvers<void>();
        runner.otherwise(async ({ hold, call }) => {
          await hold(gate);
          // A program that does not exit after its summary is stopped.
          await call(submitSummary, { summary: "I thought." });
          return { code: 143, cause: "failed" };
        });
        await org.board(wakeAgent, { id: agents[1].id });
        assert.equal(await starts(0), 1);
        assert.equal(await starts(30_000), 0);
        assert.equal(await starts(31_000), 1);
        open();
        await stage.rest();
        // After the next failure, the waits begin at the shortest again.
        runner.otherwise(ends("signed_out"));
        for (const { id } of agents) await org.board(wakeAgent, { id });
        await starts(3_600_000);
        assert.equal(await starts(31_000), 1);
      },
    );

    staged("a brain whose program can't start is tried again after growing waits", async (stage) => {
      const folder = mkdtempSync(join(tmpdir(), "agency-brain-"));
      const command = join(folder, "agent");
      const install = (): void => writeFileSync(command, "#!/no/such/interpreter", { mode: 0o700 });
      try {
        install();
        const { runner, starts, mails } = await twoOn(stage, "claude_local", { command });
        runner.otherwise(ends("missing"));
        assert.ok((await starts(0)) > 0);
        const counts = [];
        for (let sweep = 0; sweep < 20; sweep++) counts.push(await starts(31_000));
        assert.ok(counts.every((count) => count <= 1));
        // The tries came after 31, 93, 217 and 465 seconds.
        assert.deepEqual(
          counts.flatMap((count, at) => (count > 0 ? [at] : [])),
          [0, 2, 6, 14],
        );
        assert.equal((await mails()).filter((body) => /it was missing.*tries again at/.test(body)).length, 1);
        rmSync(command);
        await starts(31_000);
        assert.equal(await starts(7_200_000), 0, "nothing starts while it is gone");
        install();
        assert.equal(await starts(31_000), 1, "one that is installed is tried at the next sweep");
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });

    staged(
      "a brain with a used-up window waits, even on a node that never asked its provider",
      async (stage) => {
        const { runner, starts } = await twoOn(stage, "claude_local", { command: "sh" });
        await stage.store.write((tx) =>
          noteWaiting(tx, stage.org.companyId, "anthropic", {
            says: "The window is used up.",
            until: tx.now + 3_600_000,
            used: { key: "a key" },
          }),
        );
        assert.equal((await starts(0)) + (await starts(3_500_000)), 0);
        runner.otherwise(ends("overloaded"));
        // Both agents may start at the same time, before the first one has found out.
        assert.ok((await starts(101_000)) > 0);
      },
    );

    staged("a brain whose key was refused is tried by one session for all agents", async (stage) => {
      const { runner, starts } = await twoOn(stage, "claude_local", { command: "sh" });
      const { companyId } = stage.org;
      const refuse = () =>
        stage.store.write((tx) => noteRefused(tx, companyId, "anthropic", { says: "bad key", key: "a key" }));
      await refuse();
      assert.equal(await starts(0), 0);
      runner.otherwise(async () => {
        await refuse();
        return { code: 1, cause: "signed_out", reason: "401 bad key" };
      });
      assert.equal(await starts(31_000), 1);
      assert.equal(await starts(31_000), 0);
      runner.otherwise(async () => {
        await stage.store.write((tx) => forgetState(tx, companyId, "anthropic"));
        return { code: 1, cause: "overloaded", reason: "try later" };
      });
      assert.ok((await starts(31_000)) > 0);
    });
  });
