// A company under a flood: the calls of its second client, and the floods.
import assert from "node:assert/strict";
import { createClient } from "../../src/client/client.ts";
import { createKey } from "../../src/contract/agents.ts";
import { requestAgent } from "../../src/contract/create-agent.ts";
import { createAgent } from "../../src/contract/hiring.ts";
import { createFile } from "../../src/contract/knowledge.ts";
import type { BuiltDaemon } from "./daemon.ts";
import type { Flood, Probe } from "./floods.ts";

export interface Flooded {
  readonly probes: readonly Probe[];
  readonly floods: (sockets: number) => Readonly<Record<string, KnownFlood>>;
}

/** A flood, and the answers to its requests unless the caller has sent too many. */
type KnownFlood = Flood & { readonly answer: 200 | 401 | 404 | 405 | 413 | 429 };

/** Adds this many files for the search. */
export async function flooded(
  daemon: Pick<BuiltDaemon, "url" | "companyId" | "board" | "token">,
  files: number,
): Promise<Flooded> {
  const { url, companyId, board } = daemon;
  const keyOf = async (name: string): Promise<string> => {
    const agent = await board.call(createAgent, { companyId, name, role: "Test" });
    return (await board.call(createKey, { id: agent.id })).key;
  };
  const [flooding, working] = [await keyOf("Flood"), await keyOf("Worker")];
  const words = Array.from({ length: 16_000 }, (_, at) => `w${((at * 7919) % 5000).toString(36)}`).join(" ");
  for (let at = 0; at < files; at++)
    await board.call(createFile, {
      companyId,
      description: `file ${at}`,
      content: `all ${at} ${words}`.slice(0, 99_000),
    });
  const small = { companyId, description: "small", content: "small" };
  const { id } = await createClient({ url, token: working }).call(createFile, small);
  const { requestId } = await createClient({ url, token: flooding }).call(requestAgent, {
    name: "Wish",
    waitSeconds: 0,
  });
  assert.ok(requestId !== undefined);
  const kb = `/api/companies/${companyId}/kb`;
  const post = { method: "POST", path: kb };
  const accept = "application/json, text/event-stream";
  return {
    probes: [
      { method: "GET", path: "/api/companies", token: working },
      { method: "GET", path: `/api/kb/${id}`, token: working },
      { ...post, token: working, body: JSON.stringify({ description: "d", content: "c" }) },
    ],
    floods: (sockets) => ({
      "an object of 53 MB": {
        answer: 413,
        ...post,
        loops: 2,
        token: flooding,
        body: { kind: "keys", bytes: 53e6 },
      },
      "objects of 900 kB": {
        answer: 413,
        ...post,
        loops: 4,
        token: flooding,
        body: { kind: "keys", bytes: 900e3 },
      },
      "bodies of 54 kB without a credential": {
        answer: 401,
        ...post,
        loops: 16,
        body: { kind: "keys", bytes: 54e3 },
      },
      "bodies of 54 kB": {
        answer: 413,
        ...post,
        loops: 16,
        token: flooding,
        body: { kind: "keys", bytes: 54e3 },
      },
      "uploads that never end": {
        answer: 429,
        ...post,
        loops: 40,
        token: flooding,
        body: { kind: "spaces", bytes: 18e6 },
        unfinished: true,
      },
      "searches over files of 99 kB": {
        answer: 200,
        method: "GET",
        path: `${kb}/search?query=all&limit=100`,
        loops: sockets,
        token: daemon.token,
      },
      "descriptions of the API": {
        answer: 200,
        method: "GET",
        path: "/api/openapi.json",
        loops: sockets,
        token: flooding,
      },
      "calls that wait for a decision": {
        answer: 200,
        method: "GET",
        path: `/api/approvals/${requestId}/result?waitSeconds=60`,
        loops: sockets,
        token: flooding,
      },
      "streams over MCP": {
        answer: 429,
        method: "GET",
        path: "/mcp",
        loops: sockets,
        token: flooding,
        accept: "text/event-stream",
      },
      "initializations over MCP": {
        answer: 200,
        method: "POST",
        path: "/mcp",
        loops: sockets,
        token: flooding,
        accept,
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: {
            protocolVersion: "2025-06-18",
            capabilities: {},
            clientInfo: { name: "flood", version: "1" },
          },
        }),
      },
      "calls without a credential": { answer: 401, method: "GET", path: "/api/companies", loops: sockets },
      "calls with a wrong credential": {
        answer: 401,
        method: "GET",
        path: "/api/companies",
        loops: sockets,
        token: "wrong",
      },
      "unknown paths": { answer: 404, method: "GET", path: "/nothing/here", loops: sockets, token: flooding },
      "reads by the board": {
        answer: 200,
        method: "GET",
        path: "/api/companies",
        loops: sockets,
        token: daemon.token,
      },
    }),
  };
}
