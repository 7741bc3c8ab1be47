// create_agent as a session uses it: over MCP, with a person who takes a while to answer, and with a daemon that restarts
// meanwhile.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { createClient } from "../src/client/client.ts";
import { approve, listApprovals } from "../src/contract/approvals.ts";
import { requestAgent, waitForApproval } from "../src/contract/create-agent.ts";
import { boardInbox, sendMessage } from "../src/contract/mail.ts";
import { updateCompany, viewCompany } from "../src/contract/companies.ts";
import { createKey, listAgents, updateAgent } from "../src/contract/agents.ts";
import { type BuiltDaemon, startDaemon } from "./support/daemon.ts";
import { sessionProcesses } from "./support/processes.ts";
import { onNewHome } from "./support/home.ts";
import { allowed } from "../src/testing/allowed.ts";

const creator = fileURLToPath(new URL("support/creator.mjs", import.meta.url));

const Line = z.looseObject({
  at: z.number(),
  tools: z.array(z.object({ name: z.string(), inputSchema: z.unknown() })).optional(),
  tool: z.string().optional(),
  result: z.looseObject({ status: z.string(), requestId: z.string().optional() }).optional(),
  progress: z
    .object({ progressToken: z.string(), progress: z.number(), total: z.number() })
    .loose()
    .optional(),
  lost: z.string().optional(),
});

/** The notes of each session of the creator, oldest session first. */
function notesIn(folder: string): z.infer<typeof Line>[][] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .toSorted()
    .map((name) => {
      const lines = readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1);
      return lines.map((line) => Line.parse(JSON.parse(line)));
    });
}

async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  seconds = 60,
): Promise<T> {
  for (
    const begun = performance.now();
    performance.now() - begun < allowed(seconds * 1000);
    await sleep(50)
  ) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`${what}: not within ${seconds} s`);
}

/** Makes the root agent's sessions ask for this agent, and sends the root agent a message that starts one. */
async function beginAsking(
  daemon: BuiltDaemon,
  folder: string,
  wanted: Record<string, unknown>,
): Promise<void> {
  const { board, companyId } = daemon;
  mkdirSync(folder, { recursive: true });
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  await board.call(updateAgent, {
    id: rootAgentId,
    adapterType: "process",
    adapterConfig: {
      command: process.execPath,
      args: [creator],
      env: { CREATOR_FOLDER: folder, CREATOR_ARGUMENTS: JSON.stringify(wanted) },
    },
  });
  await board.call(sendMessage, { companyId, body: "Ask for a helper." });
}

const approvalsOf = async ({ board, companyId }: BuiltDaemon) =>
  (await board.call(listApprovals, { companyId })).approvals;
const helpersOf = async ({ board, companyId }: BuiltDaemon) =>
  (await board.call(listAgents, { companyId })).agents.filter(({ name }) => name === "Helper");

describe("create_agent", { concurrency: 4 }, () => {
  // covers CRA-01, CRA-02, CRA-28, CRA-35
  test("a session waits 70 seconds for a person, is told that the request is pending, and gets its agent", () =>
    onNewHome("sqlite", async (options, folder) => {
      const daemon = await startDaemon(options).ready;
      await beginAsking(daemon, folder, { name: "Helper", role: "helps", "auto-reply": true });
      const asked = await until("a request", async () => (await approvalsOf(daemon))[0]);
      await sleep(70_000);
      const before = await until("the end of its first wait", () =>
        notesIn(folder).find((notes) => notes.some(({ result }) => result !== undefined)),
      );
      assert.deepEqual(
        before
          .find(({ tools }) => tools !== undefined)
          ?.tools?.map(({ name }) => name)
          .includes("create_agent"),
        true,
      );
      const offered = before[0]?.tools?.find(({ name }) => name === "create_agent")?.inputSchema;
      assert.match(JSON.stringify(offered), /Default `human`/);
      const first = before.find(({ result }) => result !== undefined);
      assert.deepEqual(
        [first?.tool, first?.result?.status, first?.result?.requestId],
        ["create_agent", "pending", asked.id],
      );
      assert.ok(
        (first?.at ?? 0) > 49_000 && (first?.at ?? 0) < 50_000 + allowed(6000),
        `it waited ${first?.at ?? 0} ms`,
      );
      const progress = before.flatMap(({ progress: seen }) => (seen === undefined ? [] : [seen]));
      const heard = progress.filter(({ progressToken }) => progressToken === "create_agent");
      // One every 10 seconds. A slow machine delays each of them a little.
      const least = Math.floor((first?.at ?? 0) / (10_000 + allowed(1200)));
      assert.ok(heard.length >= least, `${heard.length} notices, not ${least}`);
      assert.ok(
        heard.every(
          ({ progress: now, total }, index) => total === 50 && now > (heard[index - 1]?.progress ?? 0),
        ),
      );
      assert.deepEqual(await helpersOf(daemon), []);

      const approved = performance.now();
      await daemon.board.call(approve, { id: asked.id, payloadHash: asked.payloadHash });
      const last = await until(
        "its answer",
        () => notesIn(folder)[0]?.find(({ result }) => result?.status === "created"),
        10,
      );
      assert.ok(performance.now() - approved < allowed(5000));
      const [helper, ...more] = await helpersOf(daemon);
      assert.deepEqual([Object(last.result)["agent"].id, more], [helper?.id, []]);
      assert.equal((await approvalsOf(daemon)).length, 1);
      assert.equal(notesIn(folder).length, 1, "one session did it all");
      await until(
        "the end of the session",
        () => (sessionProcesses(options.home).length === 0 ? true : undefined),
        10,
      );
      assert.equal(daemon.log(), "");
      assert.deepEqual(await daemon.stop(), { code: 0, signal: null });
    }));

  test("if the daemon is stopped and then killed meanwhile, session and program still get one agent", () =>
    onNewHome("sqlite", async (options, folder) => {
      let daemon = await startDaemon(options).ready;
      const { companyId } = daemon;
      await beginAsking(daemon, folder, { name: "Helper", waitSeconds: 240 });
      const asked = await until("a request", async () => (await approvalsOf(daemon))[0]);
      // A program with the agent's key, which the daemon never ends. It repeats the same call until the answer isn't "pending".
      const { rootAgentId } = await daemon.board.call(viewCompany, { companyId });
      const { key } = await daemon.board.call(createKey, { id: rootAgentId });
      const program = createClient({ url: daemon.url, token: key });
      let lost = 0;
      const answered = (async () => {
        for (;;)
          try {
            const result = await program.call(requestAgent, { name: "Helper", waitSeconds: 240 });
            if (result.status === "created") return { requestId: asked.id, result };
            assert.deepEqual([result.status, result.requestId], ["pending", asked.id]);
            const { requestId = "" } = result;
            const later = await program.call(waitForApproval, { requestId, waitSeconds: 240 });
            if (later.status !== "pending") return { requestId, result: later };
          } catch (error) {
            if (error instanceof assert.AssertionError) throw error;
            lost += 1;
            await sleep(100);
          }
      })();
      for (const [number, how] of (["stop", "kill"] as const).entries()) {
        await until("a session that waits", () => (notesIn(folder).length > number ? true : undefined));
        await sleep(2000);
        await daemon[how]();
        await sleep(500);
        daemon = await startDaemon(options).ready;
      }
      await until("the third session", () => (notesIn(folder).length > 2 ? true : undefined));
      await sleep(2000);
      const open = await approvalsOf(daemon);
      assert.deepEqual(
        open.map(({ id, status }) => [id, status]),
        [[asked.id, "pending"]],
      );
      await daemon.board.call(approve, { id: asked.id });
      const { requestId, result } = await answered;
      assert.deepEqual([requestId, result.agent?.name], [asked.id, "Helper"]);
      assert.ok(lost > 0, "the program noticed");
      // Session and program act as the same agent. Each can get the answer with the request's id.
      const [helper, ...more] = await helpersOf(daemon);
      assert.deepEqual([result.agent?.id, more], [helper?.id, []]);
      assert.equal((await program.call(waitForApproval, { requestId })).agent?.id, helper?.id);
      const said = await until("the session's answer", () =>
        notesIn(folder)
          .at(-1)
          ?.findLast(({ result: seen }) => seen?.status === "created"),
      );
      assert.equal(Object(said.result)["agent"].id, helper?.id);
      assert.equal((await approvalsOf(daemon)).length, 1);
      assert.equal(daemon.log(), "");
      assert.deepEqual(await daemon.stop(), { code: 0, signal: null });
      assert.deepEqual(sessionProcesses(options.home), []);
    }));

  for (const [brain, settings, answer] of [
    [
      "a command that only prints",
      {
        defaultAdapterType: "process",
        defaultAdapterConfig: { command: "/bin/sh", args: ["-c", "printf '@human\\nhello\\n'"] },
      },
      "hello",
    ],
    ["the rehearsal", {}, "I read this message: Are you there?"],
  ] as const)
    test(`a new agent with ${brain} answers its first message at once`, () =>
      onNewHome("sqlite", async (options) => {
        const daemon = await startDaemon(options).ready;
        const { board, companyId } = daemon;
        const { rootAgentId } = await board.call(viewCompany, { companyId });
        await board.call(updateAgent, { id: rootAgentId, adapterType: "human" });
        await board.call(updateCompany, { companyId, ...settings });
        const root = createClient({
          url: daemon.url,
          token: (await board.call(createKey, { id: rootAgentId })).key,
        });
        const { requestId = "" } = await root.call(requestAgent, { name: "李 Helper", waitSeconds: 0 });
        const waiting = root.call(waitForApproval, { requestId, waitSeconds: 20 });
        await board.call(approve, { id: requestId });
        const { agent } = await waiting;
        const sent = performance.now();
        await board.call(sendMessage, { companyId, to: agent?.slug ?? "", body: "Are you there?" });
        const reply = await until("an answer", async () =>
          (await board.call(boardInbox, { companyId })).messages.find(({ from }) => from.id === agent?.id),
        );
        const took = performance.now() - sent;
        console.log(`${brain}: answered after ${Math.round(took)} ms`);
        assert.equal(reply.body, answer);
        assert.ok(took < allowed(15_000), `it took ${Math.round(took)} ms`);
        assert.equal(daemon.log(), "");
        assert.deepEqual(await daemon.stop(), { code: 0, signal: null });
      }));
});
