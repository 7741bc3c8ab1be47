import { noServers } from "../../src/testing/no-servers.ts";
import { once } from "node:events";
import { Agent, request, type Server } from "node:http";
import { text } from "node:stream/consumers";
import { requestFor } from "../../src/client/client.ts";
import { Limits } from "../../src/contract/limits.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { Refusal } from "../../src/contract/refusal.ts";
import { Callers } from "../../src/doors/callers.ts";
import { createHttpDoor } from "../../src/doors/http.ts";
import { mcpDoor } from "../../src/doors/mcp.ts";
import { patient } from "../../src/doors/waiting.ts";
import type { Credential } from "./calling.ts";
import type { Built } from "./built.ts";

/** An answer as a client sees it: everything but the time of day and the port. */
export interface Seen {
  readonly status: number;
  readonly body: string;
}

export interface Doors {
  readonly ask: (
    door: "http" | "mcp",
    credential: Credential,
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
  ) => Promise<Seen>;
  readonly close: () => void;
}

/** The HTTP and the MCP door of a world, as the daemon opens them. */
export async function openDoors({ dispatch, authenticate }: Built): Promise<Doors> {
  const limits = Limits.parse({ agentCallsPerSecond: 100_000 });
  const callers = new Callers({
    limits,
    authenticate,
    clock: () => 0,
    sleep: async () => undefined,
    closing: new AbortController().signal,
  });
  let origins: string[] = [];
  const parts = {
    // No call waits for a person.
    dispatch: patient(
      callers.fairly(dispatch),
      async () => undefined,
      undefined,
      () => undefined,
    ),
    authenticate,
    reportBug: (error: unknown): string => {
      throw error;
    },
    notices: async () => [],
    audiences: async () => undefined,
    outside: noServers,
    version: "0",
    limits,
  };
  const server: Server = createHttpDoor({
    site: { isFor: () => false, answer: () => Promise.resolve() },
    ...parts,
    admit: (token, socket) => callers.admit(token, socket),
    admitStranger: (socket) => callers.admitStranger(socket),
    origins: () => origins,
    isReady: async () => true,
    relay: { connect: (_, socket) => socket.destroy(), forward: (_, response) => response.destroy() },
    others: [mcpDoor(parts)],
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  origins = [`http://127.0.0.1:${port}`];
  const agent = new Agent({ keepAlive: true });

  const ask: Doors["ask"] = async (door, { token, as }, operation, { ...input }) => {
    const sent =
      door === "http"
        ? requestOrRefusal(operation, input)
        : callOf(operation, { ...input, companyId: undefined });
    if (sent instanceof Refusal) return { status: 400, body: sent.message };
    const asking = request({
      host: "127.0.0.1",
      port,
      agent,
      method: door === "http" ? operation.http.method : "POST",
      path: sent.path,
      headers: {
        authorization: `Bearer ${token}`,
        ...(as === undefined ? {} : { "x-agency-as": as }),
        accept: "application/json, text/event-stream",
        ...(sent.body === undefined ? {} : { "content-type": "application/json" }),
      },
    });
    asking.end(sent.body);
    const [answer] = await once(asking, "response");
    const headers = answer.rawHeaders.filter(
      (_: string, at: number) => !/^date$/i.test(answer.rawHeaders[at - (at % 2)]),
    );
    const body = await text(answer);
    // A refusal of a tool is a result, and its status is 200.
    const status = body.includes('"isError":true') ? 400 : answer.statusCode;
    return { status, body: `${headers.join(" ")}\n${body}` };
  };
  return {
    ask,
    close: () => {
      agent.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The client itself refuses an input that does not fit into a path. */
function requestOrRefusal(operation: Operation, input: Readonly<Record<string, unknown>>) {
  try {
    return requestFor(operation, input);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function callOf({ mcp }: Operation, input: Readonly<Record<string, unknown>>) {
  const params = { name: mcp?.tool, arguments: input };
  return {
    path: `/mcp/${mcp?.server ?? ""}`,
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  };
}
