// The tests that every brain with a model must pass. They run for each adapter.
import { sendSignal } from "../../../src/processes/process-table.ts";
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { approve, listApprovals } from "../../../src/contract/approvals.ts";
import { pauseAgent } from "../../../src/contract/agents.ts";
import { listFiles, readFile } from "../../../src/contract/knowledge.ts";
import { boardInbox } from "../../../src/contract/mail.ts";
import { why } from "../../../src/contract/why.ts";
import { setSecret } from "../../../src/contract/secrets.ts";
import { tokensUsed } from "../../../src/gateway/texts.ts";
import type { Conversation } from "../../../src/testing/fake-model/conversation.ts";
import { always, answers, failing, type Step, steps, use } from "../../../src/testing/fake-model/script.ts";
import { temporaryFolder } from "../../support/daemon.ts";
import { gone, sessionProcesses } from "../../support/processes.ts";
import { type Adapter, fileOfProgram, pathWithPrograms } from "./adapters.ts";
import { testBudgetEnd } from "./budget-end.ts";
import { testExposedSecrets } from "./exposed.ts";
import { testFullContext } from "./full-context.ts";
import { testKeySearch } from "./key-search.ts";
import { testPrefix } from "./prefix.ts";
import { testRecordings, withToken } from "./recording.ts";
import { testServerDown } from "./server-down.ts";
import {
  type BrainStage,
  diligent,
  finish,
  key,
  onBrain,
  otherKey,
  price,
  type Session,
  turns,
  until,
} from "./stage.ts";

const hang: Step = () => ({ fault: "hang" });
const isContinued = ({ body }: Conversation): boolean =>
  JSON.stringify(body).includes("previous session was cut off");

/** Programs store a conversation a moment after it happened. What was not stored can't be continued. */
async function recorded(home: string): Promise<void> {
  const isCall = /name":\s*"[^"]*read_inbox"/i;
  const homes = join(home, "homes");
  await until(
    async () =>
      readdirSync(homes, { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".jsonl"))
        .some((file) => isCall.test(readFileSync(join(homes, file), "utf8"))) || undefined,
    30,
    async () => `no conversation in ${home} has a call of read_inbox`,
  );
  await sleep(500);
}

export function testBrain(adapter: Adapter): void {
  const { type, shell, program } = adapter;
  // Most tests wait for a program or a clock. The one that waits longest begins first, beside the others.
  describe(`the brain ${type}`, { concurrency: 3 }, () => {
    test("a call may wait for a person for more than 60 seconds", () =>
      onBrain(
        adapter,
        diligent(use("create_agent", { name: "Rita", role: "proofreader", waitSeconds: 120 })),
        async (stage) => {
          const { board, companyId } = stage.daemon();
          await stage.tell("Get help.");
          const [approval] = await until(
            async () => {
              const { approvals } = await board.call(listApprovals, { companyId, status: "pending" });
              return approvals.length > 0 ? approvals : undefined;
            },
            60,
            async () => "no approval was requested",
          );
          await sleep(65_000);
          await board.call(approve, { id: approval?.id ?? "" });
          const session = await stage.ended(1);
          assert.equal(session.exitCode, 0);
          assert.match(JSON.stringify(await stage.transcript(session)), /created/);
        },
      ));

    test("works with files, shell and tools; everything is on record and counted to the token", () =>
      onBrain(
        adapter,
        diligent(
          shell("echo made-by-the-shell > note.txt && cat note.txt"),
          use(
            "create_file",
            { description: "Report", content: "All is well." },
            { text: "I write it down.", usage: { cacheRead: 300 } },
          ),
        ),
        async (stage) => {
          await stage.tell("Write a report.");
          const session = await stage.ended(1);
          stage.model.check();
          assert.deepEqual([session.exitCode, session.summarized], [0, true]);
          const entries = await stage.transcript(session);
          const shown = JSON.stringify(entries);
          assert.match(shown, /made-by-the-shell/);
          assert.ok(
            entries.some(({ kind, tool }) => kind === "tool" && tool?.endsWith("read_inbox") === true),
          );
          assert.ok(entries.some(({ kind, text }) => kind === "result" && text.includes("Write a report.")));
          const words = entries.filter(({ kind }) => kind === "text").map(({ text }) => text);
          assert.deepEqual(words, ["I write it down.", "All is done."]);
          assert.ok(
            entries.every(({ kind }) => kind !== "error"),
            shown,
          );
          assert.deepEqual(
            entries.flatMap(({ kind, text }) => (kind === "usage" ? [text] : [])),
            stage.model.calls.flatMap(({ tokens }) => (tokens === undefined ? [] : [tokensUsed(tokens)])),
          );
          assert.match(shown, /tokens in \(300 from the cache, 0 written to it\)/);
          const { board, companyId } = stage.daemon();
          const { files } = await board.call(listFiles, { companyId, limit: 100 });
          const report = files.find(({ description }) => description === "Report");
          assert.equal((await board.call(readFile, { id: report?.id ?? "" })).content, "All is well.");
          const [first] = stage.model.calls;
          assert.equal(first?.conversation.model, adapter.model);
          assert.equal(first.conversation.dialect, adapter.speaks);
          assert.match(first?.conversation.system ?? "", /You are one session of Ada/);
          assert.match(JSON.stringify(first?.conversation.body), /effort":"?high/);
          await counts(stage, session);
        },
        { effort: "high" },
      ));

    testKeySearch(adapter);
    testPrefix(adapter);
    testFullContext(adapter);
    testExposedSecrets(adapter);
    testServerDown(adapter);
    testBudgetEnd(adapter);

    if (program !== undefined) testRecordings(adapter, program, ["work", "refused", "server-down"]);

    test("a wrong token ends the session at once, and no model is asked", () =>
      onBrain(adapter, steps(), async (stage) => {
        const { cause, toolCalls } = await withToken(adapter, stage.daemon().url, "not-a-token");
        assert.notEqual(cause, "done");
        assert.equal(toolCalls + stage.model.calls.length, 0);
      }));

    if (program !== undefined)
      test("a missing program stops the brain once, is told to the board, and is noticed when it appears", async () => {
        const folder = temporaryFolder("programs");
        const bin = join(folder.path, "bin");
        mkdirSync(bin);
        try {
          const started = `missing-${program}`;
          await onBrain(
            adapter,
            diligent(),
            async (stage) => {
              const { board, companyId } = stage.daemon();
              await stage.tell("Hello.");
              const told = await until(
                async () =>
                  (await board.call(boardInbox, { companyId })).messages.find(
                    ({ body }) => body?.includes("is not installed") === true,
                  ),
                60,
                async () => "the board was not told",
              );
              assert.match(told.body ?? "", /npm install --global .*continue when it works again/s);
              const { says, moves } = await board.call(why, { id: stage.agentId });
              assert.deepEqual([moves, /can't be used/.test(says)], [false, true], says);
              await stage.tell("Are you there?");
              await sleep(3000);
              assert.equal((await stage.sessions()).length, 0);
              symlinkSync(fileOfProgram(program), join(bin, started));
              assert.equal((await stage.ended(1, 90)).exitCode, 0);
            },
            { config: { command: started }, env: { PATH: `${bin}:${pathWithPrograms()}` } },
          );
        } finally {
          rmSync(folder.path, { recursive: true });
          folder.remove();
        }
      });

    test("a refused key is tried once, is told to the board once, and another key is used at once", () => {
      let refuses = true;
      const script = always((conversation) => (refuses ? { fault: 401 } : diligent().reply(conversation)));
      return onBrain(adapter, script, async (stage) => {
        const { board, companyId } = stage.daemon();
        await stage.tell("Hello.");
        const session = await stage.ended(1);
        assert.notEqual(session.exitCode, 0);
        assert.equal(stage.model.calls.length, 1);
        const { messages } = await board.call(boardInbox, { companyId });
        const told = messages.filter(({ body }) => body?.includes("does not accept the key") === true);
        assert.equal(told.length, 1);
        const again = Date.parse(/tries again at (\S+),/.exec(told[0]?.body ?? "")?.[1] ?? "");
        /** No session starts before the time that the board was told. */
        const waits = async (): Promise<void> => {
          const { length } = await stage.sessions();
          assert.ok(length === 1 || Date.now() >= again, `${length} sessions`);
        };
        await stage.tell("Are you there?");
        await sleep(3000);
        await waits();
        const { says } = await board.call(why, { id: stage.agentId });
        assert.ok(says.includes("can't be used") || Date.now() >= again, says);
        // Setting the same value again changes nothing; another value does.
        await board.call(setSecret, { companyId, name: "FAKE_KEY", value: key });
        await sleep(1000);
        await waits();
        refuses = false;
        await board.call(setSecret, { companyId, name: "FAKE_KEY", value: otherKey });
        await until(
          async () => (await stage.sessions()).find(({ exitCode }) => exitCode === 0),
          20,
          async () => "no session works with the other key",
        );
      });
    });

    test("waits after 429 and 529, and the wait does not count as a session without progress", () => {
      const busy = failing(
        2,
        { fault: 529, headers: { "retry-after": "0" } },
        failing(2, { fault: 429, headers: { "retry-after": "0" } }, use("read_inbox")),
      );
      const [, ...rest] = turns();
      return onBrain(adapter, steps(busy, ...rest), async (stage) => {
        await stage.tell("Hello.");
        assert.equal((await stage.ended(1)).exitCode, 0);
        assert.equal(stage.model.calls.length, 4 + turns().length);
      });
    });

    test("a session whose model hangs ends when its agent is paused", () =>
      onBrain(adapter, always(hang), async (stage) => {
        await stage.tell("Hello.");
        await stage.asked(1);
        const { board, home } = stage.daemon();
        await board.call(pauseAgent, { id: stage.agentId });
        await stage.ended(1, 15);
        await gone(() => sessionProcesses(home), 12_000, "a session that was paused");
      }));

    test("a last turn of more than 10 seconds does not make the session fail", () =>
      onBrain(adapter, steps(...turns().slice(0, -1), answers("Late.", { after: 12_000 })), async (stage) => {
        await stage.tell("Hello.");
        const session = await stage.ended(1);
        assert.equal(session.summarized, true);
        await sleep(2000);
        assert.equal((await stage.sessions()).length, 1);
      }));

    test("kill -9 of the daemon ends the program, and the next session continues the conversation", () => {
      let isFirst = true;
      const script = always((conversation) => {
        const { entries } = conversation;
        if (entries.every((entry) => entry.kind !== "call")) return use("read_inbox")(conversation);
        if (isFirst) return { fault: "hang" };
        return finish(conversation);
      });
      return onBrain(adapter, script, async (stage) => {
        await stage.tell("Hello.");
        await stage.asked(2);
        const { home } = stage.daemon();
        if (adapter.resumes) await recorded(home);
        const before = stage.model.calls.length;
        await stage.kill();
        await gone(() => sessionProcesses(home), 5000, "after kill -9 of the daemon");
        isFirst = false;
        await stage.start();
        const session = await stage.ended(2);
        assert.deepEqual([session.exitCode, session.summarized], [0, true]);
        const after = stage.model.calls[before]?.conversation;
        assert.equal(after !== undefined && isContinued(after), adapter.resumes);
        if (adapter.resumes)
          assert.ok(
            after?.entries.some((entry) => entry.kind === "call" && entry.tool.endsWith("read_inbox")),
          );
        // Only what this session used.
        await counts(stage, session, before);
      });
    });

    test("kill -9 of the program leaves nothing behind, and another session does the work", () => {
      let isFirst = true;
      const script = always((conversation) => (isFirst ? { fault: "hang" } : diligent().reply(conversation)));
      return onBrain(adapter, script, async (stage) => {
        await stage.tell("Hello.");
        await stage.asked(1);
        const { home } = stage.daemon();
        const [first] = await stage.sessions();
        isFirst = false;
        for (const { pid, command } of sessionProcesses(home))
          if (!command.includes("bwrap")) sendSignal(pid, "SIGKILL");
        await stage.ended(1, 20);
        await gone(
          () => sessionProcesses(home).filter(({ sessionId }) => sessionId === first?.id),
          5000,
          "after kill -9 of the program",
        );
        assert.equal((await stage.ended(2)).exitCode, 0);
      });
    });

    test("a restart of the daemon in the middle continues the work", () => {
      let isFirst = true;
      const script = always((conversation) => {
        if (conversation.entries.every((entry) => entry.kind !== "call"))
          return use("read_inbox")(conversation);
        return isFirst ? { fault: "hang" } : finish(conversation);
      });
      return onBrain(adapter, script, async (stage) => {
        await stage.tell("Hello.");
        await stage.asked(2);
        if (adapter.resumes) await recorded(stage.daemon().home);
        await stage.stop();
        isFirst = false;
        await stage.start();
        assert.deepEqual([(await stage.ended(2)).summarized], [true]);
      });
    });
  });
}

/** From this call on, the session's figures equal the model's. A call is booked right after its answer. */
async function counts(stage: BrainStage, { id }: Session, from = 0): Promise<void> {
  const all = stage.model.calls.slice(from).flatMap(({ tokens }) => tokens ?? []);
  const sum = (of: "input" | "output" | "cacheRead" | "cacheWrite"): number =>
    all.reduce((total, tokens) => total + tokens[of], 0);
  const cost =
    sum("input") * price.input +
    sum("output") * price.output +
    sum("cacheRead") * price.cacheRead +
    sum("cacheWrite") * price.cacheWrite;
  const booked = async () => (await stage.sessions()).find((session) => session.id === id)?.usage;
  const usage = await until(
    async () => {
      const now = await booked();
      return now?.outputTokens === sum("output") ? now : undefined;
    },
    10,
    async () => `${JSON.stringify(await booked())} is booked, the model answered ${sum("output")} tokens`,
  );
  assert.equal(usage.inputTokens, sum("input") + sum("cacheRead") + sum("cacheWrite"));
  assert.ok(Math.abs(usage.costUsd * 1e6 - cost) < all.length, `${usage.costUsd} ${cost}`);
}
