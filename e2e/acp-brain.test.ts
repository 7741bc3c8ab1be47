// The brain `acp` with the built daemon and a scripted agent that speaks the Agent Client Protocol.
import { allowed } from "../src/testing/allowed.ts";
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { pauseAgent, updateAgent, wakeAgent } from "../src/contract/agents.ts";
import { grantPermission } from "../src/contract/capabilities.ts";
import { boardInbox } from "../src/contract/mail.ts";
import { always, answers } from "../src/testing/fake-model/script.ts";
import { type ModelCompany, withModelCompany } from "./support/model-company.ts";
import { temporaryFolder } from "./support/daemon.ts";
import { gone, sessionProcesses } from "./support/processes.ts";
import { sqliteTables } from "./support/tables.ts";

const program = fileURLToPath(new URL("support/acp-agent.mjs", import.meta.url));

const withAgent = (
  part: string,
  play: (company: ModelCompany) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): Promise<void> =>
  withModelCompany(
    {
      adapterType: "acp",
      adapterConfig: () => ({ command: process.execPath, args: [program], env: { ACP_PART: part, ...env } }),
      dialect: "anthropic",
      script: always(answers("")),
    },
    play,
  );

const rememberedIn = (home: string): string =>
  readdirSync(join(home, "homes"))
    .map((name) => readFileSync(join(home, "homes", name, "acp-agent.txt"), "utf8"))
    .join("");

/** Waits until the agent has read its inbox. */
async function begun({ home }: ModelCompany): Promise<void> {
  for (const start = performance.now(); ; await sleep(100)) {
    try {
      if (rememberedIn(home).includes("prompted")) break;
    } catch {
      // The session has not started yet.
    }
    if (performance.now() - start > allowed(90_000)) throw new Error("the agent was never prompted");
  }
  // The next session continues the conversation only if the daemon knows it.
  const tables = sqliteTables(home);
  const isKnown = async () =>
    (await tables.ask("select 1 from sessions where ended_at is null and thread is not null")).length > 0;
  for (let tries = 0; !(await isKnown()) && tries < 600; tries++) await sleep(100);
  await tables.close();
}

describe("the brain acp", () => {
  test("an agent works with Agency's tools, its words, calls and usage are recorded, and its rights decide its permission requests", () =>
    withAgent("works", async ({ daemon, home, rootId, tell, ended, transcriptOf }) => {
      const { board, companyId } = daemon;
      await board.call(grantPermission, { companyId, to: rootId, resource: "net:docs.example.com" });
      await tell("Hello.");
      const [session] = await ended(1);
      assert.equal(rememberedIn(home), "listing prompted ", "it is asked to work when it has its tools");
      assert.deepEqual([session?.endReason, session?.summarized], ["exited with code 0", true]);
      const entries = await transcriptOf(session?.id ?? "");
      const shown = entries.map(({ kind, tool, text }) => `${kind} ${tool ?? ""} ${text}`);
      assert.deepEqual(
        entries.filter(({ kind }) => kind === "tool").map(({ tool }) => tool),
        ["read_inbox", "acknowledge_message", "submit_summary"],
      );
      assert.ok(
        shown.some((line) => /^result read_inbox .*"body":"Hello\."/.test(line)),
        shown.join("\n"),
      );
      assert.deepEqual(
        entries.filter(({ kind }) => kind === "text").map(({ text }) => text),
        [
          "execute: yes. switch_mode: no. think: no. fetch: yes. fetch: no. other: yes. model: small-1, thought: low",
          "All done.",
        ],
      );
      for (const why of [
        /^error {2}Permission denied: Leave the mode\. A session keeps the mode/,
        /^error {2}Permission denied: Fetch .*no right to reach other\.example\.com.*net:other\.example\.com/,
      ])
        assert.ok(
          shown.some((line) => why.test(line)),
          shown.join("\n"),
        );
      assert.ok(shown.some((line) => /^output .*7 input tokens.* 5 output tokens/.test(line)));
    }));

  test("the agent's model and effort are set in its program, and a setting without effect is reported", async () => {
    const played = async (brain: { model: string; effort: "low" | "high" | "max" }, env = {}) => {
      let shown = "";
      await withAgent(
        "works",
        async ({ daemon, rootId, tell, ended, transcriptOf }) => {
          await daemon.board.call(updateAgent, { id: rootId, ...brain });
          await tell("Hello.");
          const [session] = await ended(1);
          const entries = await transcriptOf(session?.id ?? "");
          shown = entries.map(({ kind, text }) => `${kind} ${text}`).join("\n");
        },
        env,
      );
      return shown;
    };
    const offers = { ACP_OFFERS: "1" };
    const set = await played({ model: "large-1", effort: "max" }, offers);
    assert.match(set, /model: large-1, thought: xhigh/);
    assert.doesNotMatch(set, /has no effect/);
    const other = await played({ model: "huge-1", effort: "high" }, offers);
    assert.match(other, /^error The model huge-1 has no effect: .* It offers: small-1, large-1\./m);
    assert.match(other, /^error The effort high has no effect: .* It offers: low\./m);
    const none = await played({ model: "large-1", effort: "low" });
    assert.match(none, /^error The model large-1 has no effect: .* It offers no choice\./m);
    assert.match(none, /^error The effort low has no effect: .* It offers no choice\./m);
  });

  test("a session that was cut off is resumed, and replayed messages are not recorded again", () =>
    withAgent("hangs", async (company) => {
      await company.tell("Hello.");
      await begun(company);
      await company.restart();
      const [, second] = await company.ended(2);
      assert.equal(second?.endReason, "exited with code 0");
      const said = JSON.stringify(await company.transcriptOf(second?.id ?? ""));
      assert.ok(said.includes("All done.") && !said.includes("Replayed"), said);
    }));

  test("a paused agent leaves no process", () =>
    withAgent("hangs", async (company) => {
      await company.tell("Hello.");
      await begun(company);
      await company.daemon.board.call(pauseAgent, { id: company.rootId });
      await gone(() => sessionProcesses(company.home), 12_000, "a paused agent");
    }));

  test("the board is told that a program is signed out, with its own message and the time of the next try", () =>
    withAgent("signed-out", async ({ daemon, tell, ended, rootId }) => {
      const { board, companyId } = daemon;
      await tell("Hello.");
      await ended(1);
      const told = async () =>
        (await board.call(boardInbox, { companyId })).messages.filter(
          ({ body }) => body?.includes("asks to sign in") === true,
        );
      const start = performance.now();
      while ((await told()).length === 0) {
        assert.ok(performance.now() - start < allowed(60_000), "the board was not told");
        await sleep(100);
      }
      const [mail] = await told();
      assert.match(mail?.body ?? "", /It offers: Sign in with the vendor.*Agency tries again at/s);
      // A person reports that the brain is repaired. It is not, and the board knows that already.
      await board.call(wakeAgent, { id: rootId });
      await ended(2);
      assert.equal((await told()).length, 1);
    }));

  test("every way to fail ends the session with its reason", async (t) => {
    const ways: readonly (readonly [string, number, RegExp])[] = [
      ["signed-out", 71, /asks to sign in: .*It offers: Sign in with the vendor/],
      ["busy", 72, /529 overloaded_error/],
      ["refused", 71, /Authentication failed with provider at http:\/\/x \(HTTP 401\)\. Check your key\./],
      ["crashes", 1, /ended before it answered \(exit code 3\)/],
      ["no-http", 1, /can't use MCP servers over HTTP/],
      ["silent", 0, /without a word and without a call/],
    ];
    for (const [part, code, reason] of ways)
      await withAgent(part, async ({ tell, ended }) => {
        await tell("Hello.");
        const [session] = await ended(1);
        assert.match(session?.endReason ?? "", reason);
        assert.deepEqual([session?.end, session?.exitCode], ["failed", code], part);
      });
    const folder = temporaryFolder("acp");
    t.after(() => folder.remove());
    // The program exists, but its interpreter does not.
    const command = join(folder.path, "agent");
    writeFileSync(command, "#!/no/such/interpreter\n", { mode: 0o755 });
    await withModelCompany(
      {
        adapterType: "acp",
        adapterConfig: () => ({ command }),
        dialect: "anthropic",
        script: always(answers("")),
      },
      async ({ tell, ended }) => {
        await tell("Hello.");
        const [session] = await ended(1);
        assert.deepEqual([session?.exitCode, /can't be started/.test(session?.endReason ?? "")], [70, true]);
      },
    );
  });
});
