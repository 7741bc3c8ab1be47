// If a company's MCP server is down, sessions work nevertheless (decision 0049), and people are told.
import assert from "node:assert/strict";
import { test } from "node:test";
import { grantPermission } from "../../../src/contract/capabilities.ts";
import { putMcpServer } from "../../../src/contract/servers.ts";
import { always, use } from "../../../src/testing/fake-model/script.ts";
import type { Adapter } from "./adapters.ts";
import { type BrainStage, finish, onBrain, until } from "./stage.ts";

const isDown = /^The MCP server broken is not working/;

/** Gives the agent the right to use a server that does not answer. */
export async function grantBrokenServer(stage: BrainStage): Promise<void> {
  const { board, companyId } = stage.daemon();
  const config = { type: "http", url: "http://127.0.0.1:9/mcp" } as const;
  await board.call(putMcpServer, { companyId, name: "broken", config });
  await board.call(grantPermission, { companyId, to: stage.agentId, resource: "mcp:broken" });
}

export function testServerDown(adapter: Adapter): void {
  test("granting an MCP server starts a new session, which works and reports that the server is down", () => {
    let isReported = false;
    const script = always((conversation) => {
      if (conversation.entries.every((entry) => entry.kind !== "call"))
        return use("read_inbox")(conversation);
      const last = conversation.entries.at(-1);
      const isToldToStop = last?.kind === "result" && last.text.includes("submit_summary) and stop now");
      if (isToldToStop) return use("submit_summary", { summary: "I was told to stop." })(conversation);
      return isReported ? finish(conversation) : { ...use("list_permissions")(conversation), after: 500 };
    });
    return onBrain(adapter, script, async (stage) => {
      await stage.tell("Hello.");
      await stage.asked(3, 120);
      await grantBrokenServer(stage);
      assert.equal((await stage.ended(1, 75)).summarized, true);
      // A program may connect in the background, so the model works until the failure is reported.
      const reports = await until(
        async () => {
          const [, second] = await stage.sessions();
          const entries = second === undefined ? [] : await stage.transcript(second);
          const found = entries.filter(({ kind, text }) => kind === "error" && isDown.test(text));
          return found.length > 0 ? found : undefined;
        },
        120,
        async () => `nothing is reported: ${JSON.stringify(await stage.sessions())}`,
      );
      assert.equal(reports.length, 1);
      isReported = true;
      const second = await stage.ended(2, 120);
      const entries = await stage.transcript(second);
      assert.deepEqual([second.exitCode, second.summarized], [0, true], JSON.stringify(entries));
      assert.equal(entries.filter(({ text }) => isDown.test(text)).length, 1, JSON.stringify(entries));
    });
  });
}
