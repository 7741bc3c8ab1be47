import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "node:test";
import { keepCodexLogins } from "../brains/codex/login.ts";
import { updateAgent } from "../contract/agents.ts";
import { boardInbox } from "../contract/mail.ts";
import { createOutcome, viewOutcome } from "../contract/outcomes.ts";
import { keepProviderStates } from "../gateway/states.ts";
import { storeKinds } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { stagedOn } from "../testing/stage.ts";
import { keepBrainHealth } from "./brain-health.ts";

for (const kind of storeKinds)
  describe(`brains that can't work on ${kind}`, () => {
    const staged = stagedOn(kind);
    const ends =
      (cause: "missing" | "signed_out" | "overloaded" | "failed"): Script =>
      async () => ({ code: 1, cause, reason: `it was ${cause}` });

    staged(
      "stop for all agents, are told to the board once, and are not the agent's fault",
      async (stage, t) => {
        const { org } = stage;
        const { board, companyId } = org;
        const key: { value?: string } = {};
        const states = keepProviderStates();
        const brains = keepBrainHealth({
          secrets: { valueFor: async () => key.value },
          states,
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
        assert.equal(await told(/ANTHROPIC_API_KEY is not set.*continue by themselves/), 1);

        key.value = "a key";
        stage.advance(31_000);
        await stage.rest();
        assert.equal(starts(), 0, "nothing starts without the program");
        assert.equal(await told(/is not installed: .*npm install/), 1);

        writeFileSync(program, "", { mode: 0o700 });
        stage.advance(31_000);
        // It is there, can't be started, and is then gone.
        runner.otherwise(async (session) => {
          rmSync(program, { force: true });
          return ends("missing")(session);
        });
        await stage.rest();
        // Both may start at the same time, before one has found out.
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
  });
