import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { hiderOf } from "../redaction/known-texts.ts";
import { keepConnection } from "./connection.ts";

/** A program that answers like an MCP server without tools. */
const program = `
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const result = method === "initialize"
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } }
      : { tools: [] };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });`;

test("the program of a server starts only after the end of the one before, also of another connection", async () => {
  // The timers of a connection don't keep the process alive, so this one does.
  const alive = setInterval(() => undefined, 1000);
  const before = Promise.withResolvers<void>();
  const cleared = Promise.withResolvers<void>();
  const started: string[] = [];
  const readings = [0, 1, 2].map(() => Promise.withResolvers<void>());
  let [isBeforeOver, isCleared, read] = [false, false, 0];
  const connection = keepConnection(
    {
      version: "1",
      after: before.promise,
      hider: () => hiderOf([]),
      signedIn: (fetch) => ({ fetch }),
      limits: async () => ({ processes: 10, memoryMb: 100, diskMb: 100 }),
      noteHealth: () => undefined,
      values: async () => {
        readings[read++]?.resolve();
        return { values: {}, missing: [] };
      },
      start: async () => {
        started.push(started.length === 0 ? `before: ${isBeforeOver}` : `cleared: ${isCleared}`);
        const child = spawn(process.execPath, ["-e", program], { stdio: ["pipe", "pipe", "ignore"] });
        const isFirst = started.length === 1;
        return {
          pid: child.pid ?? 0,
          input: child.stdin,
          output: child.stdout,
          // Removing what the program left takes a while.
          exited: once(child, "close").then(async () => {
            if (isFirst) await cleared.promise;
            return "It ended.";
          }),
          kill: () => void child.kill("SIGKILL"),
        };
      },
    },
    { companyId: "c", name: "x", config: { command: "x" } },
  );
  const later = (then: () => void): void => void setTimeout(then, 200);
  await readings[0]?.promise;
  later(() => {
    isBeforeOver = true;
    before.resolve();
  });
  await connection.ready();
  connection.failed(new Error("It does not answer."));
  await readings[1]?.promise;
  later(() => {
    isCleared = true;
    cleared.resolve();
  });
  while (started.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  await connection.ready();
  assert.deepEqual(started, ["before: true", "cleared: true"]);
  await connection.close();
  clearInterval(alive);
});
