// Two nodes on one PostgreSQL: sessions start where there is room, and every node shows all transcripts, even those of a lost
// node.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { updateAgent } from "../src/contract/agents.ts";
import { updateCompany, viewCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { listNodes } from "../src/contract/installation.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listSessions, viewTranscript } from "../src/contract/sessions.ts";
import { why } from "../src/contract/why.ts";
import { allowed } from "../src/testing/allowed.ts";
import { createDatabase, startPostgres } from "../src/testing/postgres.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { gone, sessionProcesses } from "./support/processes.ts";

const says = {
  adapterType: "process",
  adapterConfig: { command: "/bin/sh", args: ["-c", "echo said by $$; sleep 600"] },
};

async function until<T>(look: () => Promise<T | undefined>, about: string): Promise<T> {
  for (const from = performance.now(); ; await sleep(100)) {
    const found = await look();
    if (found !== undefined) return found;
    assert.ok(performance.now() - from < allowed(60_000), about);
  }
}

test("nodes share sessions by their room, and show each other's transcripts", async () => {
  const server = await startPostgres();
  const homes = [0, 1].map(() => temporaryFolder("node"));
  const nodes: BuiltDaemon[] = [];
  try {
    const { url: databaseUrl } = await createDatabase(server.url);
    for (const { path: home } of homes)
      nodes.push(
        await startDaemon({
          home,
          databaseUrl,
          env: { AGENCY_AUDIT_KEY: "one key that seals the ledger on both nodes", AGENCY_NODE_SESSIONS: "1" },
        }).ready,
      );
    const [one, two] = nodes;
    assert.ok(one !== undefined && two !== undefined);
    const { companyId, board } = one;
    const { rootAgentId } = await board.call(viewCompany, { companyId });
    await board.call(updateAgent, { id: rootAgentId, adapterType: "human" });
    await board.call(updateCompany, { companyId, requireBoardApprovalForNewAgents: false, maxSessions: 50 });
    const agents: string[] = [];
    for (const name of ["Ann", "Ben", "Cem"]) {
      const { id } = await board.call(createAgent, { companyId, name, role: "speaker", ...says });
      agents.push(id);
      await board.call(sendMessage, { companyId, to: id, body: "speak" });
    }

    const live = async (node: BuiltDaemon) =>
      (await node.board.call(listSessions, { companyId, live: true, limit: 100 })).sessions;
    const both = await until(async () => {
      const sessions = await live(two);
      const running = homes.map(({ path }) => sessionProcesses(path).length > 0);
      return sessions.length === 2 && running.every(Boolean) ? sessions : undefined;
    }, "two sessions");
    const waiting = agents.find((id) => !both.some(({ agent }) => agent.id === id)) ?? assert.fail();
    const rooms = async (node: BuiltDaemon) =>
      (await node.board.call(listNodes, {})).nodes.map(
        ({ sessions, maxSessions, state }) => `${sessions} of ${maxSessions ?? "any"}, ${state}`,
      );
    for (const node of [one, two]) {
      const full = "1 of 1, running 1 of 1, running";
      await until(
        async () => ((await rooms(node)).join(" ") === full ? true : undefined),
        "both nodes are full",
      );
      assert.match((await node.board.call(why, { id: waiting })).says, /every node that can run it/);
    }

    const said = (node: BuiltDaemon, id: string) =>
      until(async () => {
        const { transcript } = await node.board.call(viewTranscript, { id });
        return transcript.includes("said by") ? transcript : undefined;
      }, `the transcript of ${id}`);
    for (const { id } of both) assert.equal(await said(one, id), await said(two, id));

    // The node and its files are gone, but not the transcript of its session. The other node takes over when it has room.
    const lost = sessionProcesses(one.home)[0]?.sessionId ?? assert.fail();
    const before = await said(one, lost);
    await one.kill();
    homes[0]?.remove();
    assert.equal(await said(two, lost), before);
    await until(async () => {
      const { nodes: all } = await two.board.call(listNodes, {});
      return all.find(({ state }) => state === "silent");
    }, "a node that was killed is held to be running");
    await until(
      async () => ((await live(two)).some(({ id }) => id === lost) ? undefined : true),
      "the session of a node that was killed is not taken over",
    );
    // The other node has no room for more.
    assert.equal((await live(two)).length, 1);
    await gone(() => sessionProcesses(one.home), 30_000, "a node that was killed");
  } finally {
    for (const daemon of nodes) await daemon.kill();
    await server.stop();
    for (const home of homes) home.remove();
  }
});
