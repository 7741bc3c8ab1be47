// The brains that ask the API of a model, with the built daemon and a fake model on both dialects.
import { sendSignal } from "../src/processes/process-table.ts";
import { allowed } from "../src/testing/allowed.ts";
import assert from "node:assert/strict";
import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "node:test";
import { z } from "zod";
import { grantPermission } from "../src/contract/capabilities.ts";
import { putMcpServer } from "../src/contract/servers.ts";
import { listProviders } from "../src/contract/providers.ts";
import { type Conversation, lastResult } from "../src/testing/fake-model/conversation.ts";
import { always, answers, failing, steps, type Step, use } from "../src/testing/fake-model/script.ts";
import { sampleOf } from "../src/testing/seeds.ts";
import { costOf, modelKey, withModelCompany } from "./support/model-company.ts";
import { sessionProcesses } from "./support/processes.ts";

const brains = [
  { adapterType: "anthropic_api", dialect: "anthropic" },
  { adapterType: "openai_compatible", dialect: "openai" },
] as const;

const firstId = (text: string | undefined): string =>
  /"id":"([0-9a-f-]{36})"/.exec(text ?? "")?.[1] ?? "none";
const usage = { input: 1000, output: 20, cacheRead: 400, cacheWrite: 0 };

/** Reads the inbox and acknowledges the message, so the agent rests after the session. */
const triage: readonly Step[] = [
  use("read_inbox", {}, { usage }),
  use("acknowledge_message", (c) => ({ id: firstId(lastResult(c, "read_inbox")), result: "done" }), {
    usage,
  }),
];
const summary = use("submit_summary", { summary: "I did what I was asked to do." }, { usage });
const goodbye = answers("All done.", { usage });

/**
 * Everything that a program in the session could find: its environment, those of others, command lines, and the files it can
 * read.
 */
const search = [
  "env; tr '\\0' '\\n' < /proc/self/environ; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'",
  'cat .mcp.json settings.json; grep -rs "sk-the-key" "$HOME" . 2>/dev/null | grep -v conversations; true',
].join("; ");

const Body = z.looseObject({
  system: z.unknown().optional(),
  tools: z.array(z.looseObject({})),
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
});
const bodyOf = (conversation: Conversation | undefined) => Body.parse(conversation?.body);

for (const { adapterType, dialect } of sampleOf(brains, 1))
  describe(`the brain ${adapterType}`, () => {
    const cast = { adapterType, dialect };

    test("calls Agency's tools and its own, and its usage, cost and words are recorded", () =>
      withModelCompany(
        {
          ...cast,
          script: steps(
            ...triage,
            use(
              "write",
              { path: "notes/a.txt", content: "one two" },
              { text: "I begin with a note.", usage },
            ),
            use("edit", { path: "notes/a.txt", old: "two", new: "three" }, { usage }),
            use("read", { path: "notes/a.txt" }, { usage }),
            use("shell", { command: `cat notes/a.txt; ${search}` }, { usage }),
            use("create_file", (c) => ({ description: "A note", content: lastResult(c, "read") ?? "" }), {
              usage,
            }),
            summary,
            goodbye,
          ),
        },
        async ({ daemon, fake, home, tell, ended, transcriptOf }) => {
          await tell("Write a note.");
          const [session, ...others] = await ended(1);
          fake.check();
          assert.deepEqual(others, []);
          assert.deepEqual(
            [session?.endReason, session?.exitCode, session?.summarized],
            ["exited with code 0", 0, true],
          );
          const tokens = fake.tokensOf(modelKey);
          assert.equal(session?.usage.inputTokens, tokens.input + tokens.cacheRead + tokens.cacheWrite);
          assert.equal(session?.usage.outputTokens, tokens.output);
          assert.ok(Math.abs((session?.usage.costUsd ?? 0) - costOf(tokens)) < 1e-5);

          const entries = await transcriptOf(session?.id ?? "");
          const tools = entries.filter(({ kind }) => kind === "tool").map(({ tool }) => tool);
          const calls = "read_inbox acknowledge_message write edit read shell create_file submit_summary";
          assert.deepEqual(tools, calls.split(" "));
          assert.deepEqual(
            entries.filter(({ kind }) => kind === "text").map(({ text }) => text),
            ["I begin with a note.", "All done."],
          );
          const result = entries.find(({ kind, tool }) => kind === "result" && tool === "read");
          assert.equal(result?.text, "one three");
          assert.ok(
            entries.some(({ kind, text }) => kind === "usage" && text.includes("400 from the cache")),
          );
          assert.deepEqual(
            entries.filter(({ kind }) => kind === "error"),
            [],
          );

          // The session sees the key nowhere, and leaves it nowhere.
          assert.ok(!JSON.stringify(entries).includes(modelKey));
          for (const folder of ["transcripts", "homes"])
            assert.ok(!contentOf(join(home, folder)).includes(modelKey), folder);
          assert.ok(fake.calls.every(({ credential }) => credential === modelKey));
          assert.equal(daemon.log(), "");
        },
      ));

    test("sends the same prefix with every request, and marks it for the cache", () =>
      withModelCompany(
        { ...cast, script: steps(...triage, summary, goodbye) },
        async ({ fake, tell, ended }) => {
          await tell("Hello.");
          await ended(1);
          fake.check();
          const bodies = fake.calls.map(({ conversation }) => bodyOf(conversation));
          const prefixes = bodies.map(({ system, tools, messages }) =>
            JSON.stringify([system, tools, messages[0]?.role === "system" ? messages[0] : null]),
          );
          assert.equal(new Set(prefixes).size, 1);
          const marks = bodies.map((body) => JSON.stringify(body).split('"cache_control"').length - 1);
          // The marks: the prompt and the end of the conversation, later also the end before that.
          assert.deepEqual(marks, dialect === "anthropic" ? [2, 3, 3, 3] : [0, 0, 0, 0]);
          if (dialect === "anthropic")
            for (const { system, messages } of bodies) {
              assert.match(JSON.stringify(system), /cache_control/);
              assert.match(JSON.stringify(messages.at(-1)), /cache_control/);
            }
        },
      ));

    test("the model gets the errors of its tools, also for a tool that does not exist", () =>
      withModelCompany(
        {
          ...cast,
          script: steps(
            ...triage,
            use("read", { path: "missing.txt" }),
            use("shell", { command: "echo out; echo err >&2; exit 3", timeoutSeconds: 60 }),
            use("shell", { command: "sleep 30", timeoutSeconds: 1 }),
            use("create_file", { wrong: true }),
            () => ({ calls: [{ tool: "fly", input: { to: "the moon" } }] }),
            summary,
            goodbye,
          ),
        },
        async ({ fake, tell, ended, transcriptOf }) => {
          await tell("Try.");
          const [session] = await ended(1);
          fake.check();
          const results = (await transcriptOf(session?.id ?? "")).filter(({ kind }) => kind === "result");
          const texts = results.slice(2).map(({ text }) => text);
          assert.match(texts[0] ?? "", /ENOENT/);
          assert.match(texts[1] ?? "", /out\n[\s\S]*\(exit code 3\)/);
          assert.match(texts[2] ?? "", /\(ended after 1 seconds?\)/);
          assert.match(texts[3] ?? "", /not valid|invalid/i);
          assert.match(texts[4] ?? "", /no tool called "fly"/);
        },
      ));

    test("a cut stream is asked again; a refused key, an overload and a wrong model end the session with their reason", async () => {
      await withModelCompany(
        {
          ...cast,
          script: steps(
            failing(1, { fault: "cut" }, triage[0] ?? goodbye),
            ...triage.slice(1),
            summary,
            goodbye,
          ),
        },
        async ({ fake, tell, ended }) => {
          await tell("Hello.");
          const [session] = await ended(1);
          fake.check();
          assert.equal(session?.endReason, "exited with code 0");
        },
      );
      for (const [fault, code] of [
        [401, 71],
        [429, 72],
        [529, 72],
        [400, 1],
      ] as const)
        await withModelCompany(
          { ...cast, script: always(() => ({ fault, headers: { "retry-after": "0" } })) },
          async ({ daemon, tell, ended }) => {
            await tell("Hello.");
            const [session] = await ended(1);
            assert.equal(session?.exitCode, code, `${fault}: ${session?.endReason}`);
            assert.match(session?.endReason ?? "", new RegExp(`The script says ${fault}`));
            const { providers } = await daemon.board.call(listProviders, { companyId: daemon.companyId });
            const { status } = providers.find(({ name }) => name === "fake") ?? {};
            if (fault === 401) assert.equal(status, "refused");
          },
        );
    });

    test("a provider that does not exist, or speaks another dialect, is named", async () => {
      const other = brains.find((one) => one.dialect !== dialect) ?? cast;
      const script = always(goodbye);
      await withModelCompany(
        { ...cast, script, adapterConfig: () => ({ provider: "nowhere" }) },
        async ({ tell, ended }) => {
          await tell("Hello.");
          assert.match((await ended(1))[0]?.endReason ?? "", /no provider called "nowhere"/);
        },
      );
      await withModelCompany({ ...cast, script, dialect: other.dialect }, async ({ tell, ended }) => {
        await tell("Hello.");
        const says = (await ended(1))[0]?.endReason ?? "";
        assert.equal(
          says,
          `The provider fake speaks ${other.dialect}. Agents that use it need the brain ${other.adapterType}.`,
        );
      });
    });

    test("a session in which the model says and does nothing counts as failed", () =>
      withModelCompany({ ...cast, script: always(answers("")) }, async ({ tell, ended }) => {
        await tell("Hello.");
        const [session] = await ended(1);
        assert.match(session?.endReason ?? "", /without a word and without a call/);
      }));

    test("a session that hangs after its summary is asked to end, and ends at once", () =>
      withModelCompany(
        { ...cast, script: steps(...triage, summary, () => ({ fault: "hang" })) },
        async ({ fake, home, tell, ended }) => {
          await tell("Hello.");
          const [session] = await ended(1, 40);
          fake.check();
          assert.equal(session?.summarized, true);
          assert.equal(session?.exitCode, 143, session?.endReason ?? "");
          assert.deepEqual(sessionProcesses(home), []);
        },
      ));

    test("after kill -9 of the program or the daemon, the next session continues the conversation", async () => {
      for (const victim of ["program", "daemon"] as const) {
        /** The model's turn follows from what it has seen: it starts a long command and, after the resumption, finishes. */
        const script = always((c) => {
          const resumed = JSON.stringify(c.body).includes("Your previous session was cut off");
          const seen = (tool: string): boolean => lastResult(c, tool) !== undefined;
          if (!seen("read_inbox")) return (triage[0] ?? goodbye)(c);
          if (!resumed) return use("shell", { command: "echo started > mark; sleep 300" })(c);
          if (!seen("acknowledge_message")) return (triage[1] ?? goodbye)(c);
          return seen("submit_summary") ? goodbye(c) : summary(c);
        });
        await withModelCompany({ ...cast, script }, async (company) => {
          await company.tell("Hello.");
          const begun = performance.now();
          while (globSync(join(company.home, "workspaces/*/mark")).length === 0) await patience(begun);
          if (victim === "daemon") await company.restart();
          else
            for (const { pid, command } of sessionProcesses(company.home))
              if (command.includes("/api/main")) sendSignal(pid, "SIGKILL");
          const [first, second] = await company.ended(2);
          assert.equal(second?.endReason, "exited with code 0", `${first?.endReason} ${second?.endReason}`);
          const last = company.fake.calls.at(-1)?.conversation;
          assert.ok(lastResult(last ?? fail(), "shell")?.includes("cut off during this call"));
          assert.equal(JSON.stringify(last?.body).split("Your previous session was cut off").length, 2);
        });
      }
    });

    test("a full context is summarized, and the work continues from the summary", () => {
      const big = use("shell", { command: "head -c 24000 /dev/zero | tr '\\0' x" });
      const script = always((c) => {
        const told = c.entries.flatMap((entry) => (entry.kind === "user" ? [entry.text] : []));
        const isFull = JSON.stringify(c.body).includes("% full");
        const isContinued = told[0]?.includes("your own summary") === true;
        if (isFull) return answers("I had read the inbox, and the blue door is open.")(c);
        if (!isContinued) return lastResult(c, "read_inbox") === undefined ? use("read_inbox")(c) : big(c);
        assert.match(told[0] ?? "", /the blue door is open/);
        return stepsByResult(c, [...triage, summary]) ?? goodbye(c);
      });
      return withModelCompany(
        { ...cast, script, contextTokens: 60_000 },
        async ({ fake, tell, ended, transcriptOf }) => {
          await tell("Hello.");
          const [session] = await ended(1, 90);
          fake.check();
          assert.equal(session?.endReason, "exited with code 0");
          const sizes = fake.calls.map(({ conversation }) => JSON.stringify(conversation.body).length / 4);
          assert.ok(Math.max(...sizes) < 60_000, String(sizes));
          const entries = await transcriptOf(session?.id ?? "");
          assert.equal(entries.filter(({ text }) => text.includes("continues from a summary")).length, 1);
        },
      );
    });

    test("an MCP server that can't be reached is reported to people and to the model, and the session works without it", () =>
      withModelCompany(
        { ...cast, script: always((c) => stepsByResult(c, [...triage, summary]) ?? goodbye(c)) },
        async ({ daemon, fake, rootId, tell, ended, transcriptOf }) => {
          const { board, companyId } = daemon;
          await board.call(putMcpServer, {
            companyId,
            name: "calendar",
            config: { type: "http", url: "http://127.0.0.1:9/mcp" },
          });
          await board.call(grantPermission, { companyId, to: rootId, resource: "mcp:calendar" });
          await tell("Hello.");
          const sessions = await ended(1);
          const entries = await transcriptOf(sessions[0]?.id ?? "");
          assert.ok(
            entries.some(
              ({ kind, text }) =>
                kind === "error" && text.startsWith("The MCP server calendar is not working"),
            ),
          );
          const [told] = fake.calls.at(-1)?.conversation.entries ?? [];
          assert.match(told?.kind === "user" ? told.text : "", /tools are missing in this session: calendar/);
        },
      ));
  });

/** The first of these steps whose tool has no result yet. */
function stepsByResult(c: Conversation, all: readonly Step[]) {
  for (const step of all) {
    const next = step(c);
    const [call] = "calls" in next ? (next.calls ?? []) : [];
    if (call !== undefined && lastResult(c, call.tool) === undefined) return next;
  }
  return undefined;
}

async function patience(begun: number): Promise<void> {
  if (performance.now() - begun > allowed(60_000)) throw new Error("the model was not asked");
  await sleep(50);
}

function fail(): never {
  throw new Error("the model was never asked");
}

function contentOf(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n");
}
