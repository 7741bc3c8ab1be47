// MCP as clients use it: through the official client, and by hand for requests that the official client can't send.
import assert from "node:assert/strict";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { type CallToolResult, Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { z } from "zod";
import { viewCompany } from "../../src/contract/companies.ts";
import { createAgent } from "../../src/contract/hiring.ts";
import { createKey } from "../../src/contract/agents.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./daemon.ts";

/** Newest last. The first three are opened by `initialize`, the newest by `server/discover`. */
export const revisions = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;
export type Revision = (typeof revisions)[number];
const newest = revisions[3];

/** A daemon with agents that call it by MCP. Closing it also checks that no call hit a bug of the daemon. */
export class McpWorld {
  readonly daemon: BuiltDaemon;
  readonly rootAgentId: string;
  readonly rootOutcomeId: string;
  readonly #folder: ReturnType<typeof temporaryFolder>;
  readonly #clients: Client[] = [];
  #agents = 0;

  static async open(): Promise<McpWorld> {
    const folder = temporaryFolder("mcp");
    const daemon = await startDaemon({ home: folder.path }).ready;
    return new McpWorld(
      folder,
      daemon,
      await daemon.board.call(viewCompany, { companyId: daemon.companyId }),
    );
  }

  private constructor(
    folder: ReturnType<typeof temporaryFolder>,
    daemon: BuiltDaemon,
    company: { rootAgentId: string; rootOutcomeId: string },
  ) {
    this.#folder = folder;
    this.daemon = daemon;
    this.rootAgentId = company.rootAgentId;
    this.rootOutcomeId = company.rootOutcomeId;
  }

  /** A new agent below the root, with a key. */
  async agent(): Promise<{ id: string; token: string; mandateId: string }> {
    const { board, companyId } = this.daemon;
    const name = `Agent ${(this.#agents += 1)}`;
    const { id, mandateId } = await board.call(createAgent, { companyId, name, role: "tester" });
    return { id, mandateId, token: (await board.call(createKey, { id })).key };
  }

  async connect(server: string, token: string, revision: Revision = newest): Promise<Client> {
    const client = await connect(this.daemon.url, server, token, revision);
    this.#clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    try {
      for (const client of this.#clients) await client.close();
      assert.equal(this.daemon.log(), "", "what was sent is a bug of the daemon");
    } finally {
      assert.deepEqual(await this.daemon.stop(), { code: 0, signal: null });
      this.#folder.remove();
    }
  }
}

async function connect(url: string, server: string, token: string, revision: Revision): Promise<Client> {
  const client = new Client(
    { name: "agency-test", version: "1" },
    revision === newest
      ? { versionNegotiation: { mode: { pin: revision } } }
      : { supportedProtocolVersions: [revision] },
  );
  const transport = new StreamableHTTPClientTransport(
    new URL(server === "" ? "/mcp" : `/mcp/${server}`, url),
    {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    },
  );
  await client.connect(transport);
  return client;
}

/** Returns the answer of a tool, after checking that its structured content and its text say the same. */
export function answerOf(result: CallToolResult): Record<string, unknown> {
  // Notices to the session may follow the answer.
  const [content, ...notices] = result.content;
  assert.ok(content?.type === "text" && notices.every(({ type }) => type === "text"));
  const { notices: told, ...answer } = z.record(z.string(), z.unknown()).parse(result.structuredContent);
  assert.deepEqual(JSON.parse(content.text), answer);
  if (told !== undefined)
    assert.deepEqual(
      told,
      notices.map((notice) => (notice.type === "text" ? notice.text : "")),
    );
  return answer;
}

/** The answer of a call that is expected to succeed. */
export async function call(
  client: Client,
  tool: string,
  input: Record<string, unknown>,
  meta?: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const result = await client.callTool({
    name: tool,
    arguments: input,
    ...(meta === undefined ? {} : { _meta: meta }),
  });
  const answer = answerOf(result);
  assert.notEqual(result.isError, true, `${tool}: ${JSON.stringify(answer)}`);
  return answer;
}

const Refused = z.strictObject({
  error: z.strictObject({
    code: z.string(),
    message: z.string().min(1),
    hint: z.string().min(1),
    details: z.record(z.string(), z.unknown()).optional(),
  }),
});

/** Demands that a call is refused with this code, and returns its text. */
export async function refused(
  client: Client,
  code: string,
  tool: string,
  input: Record<string, unknown>,
  meta?: Record<string, unknown>,
): Promise<z.infer<typeof Refused>["error"]> {
  const result = await client.callTool({
    name: tool,
    arguments: input,
    ...(meta === undefined ? {} : { _meta: meta }),
  });
  const answer = answerOf(result);
  assert.equal(result.isError, true, `${tool}: ${JSON.stringify(answer)}`);
  const { error } = Refused.parse(answer);
  assert.equal(error.code, code, error.message);
  return error;
}

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
  /** The JSON of the body, or of its first event. */
  readonly json: unknown;
}

/** A request with exactly these headers, Host and Origin included, which fetch would not send. */
export async function send(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer },
): Promise<RawAnswer> {
  const { method = "POST", headers = {}, body } = options;
  const outgoing = request(url, { method, headers, agent: false });
  const answered = new Promise<RawAnswer>((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      text(response).then((content) => {
        const event = /^data: (.+)$/m.exec(content)?.[1];
        resolve({ status: response.statusCode ?? 0, text: content, json: parsed(event ?? content) });
      }, reject);
    });
  });
  outgoing.end(body);
  return answered;
}

export function rpcHeaders(token: string, revision = "2025-11-25"): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": revision,
  };
}

export function rpc(method: string, params?: unknown, id: number | string = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
