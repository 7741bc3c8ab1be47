import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { buffer } from "node:stream/consumers";
import { anthropic } from "./anthropic.ts";
import { chat } from "./chat.ts";
import type { ModelAnswer, Conversation, Tokens } from "./conversation.ts";
import { responses } from "./responses.ts";
import { type ModelScript, UnexpectedCall } from "./script.ts";
import type { Wire } from "./wire.ts";

/**
 * A model that plays scripts, for tests of organizations and of brains. It speaks the dialects of Anthropic messages, Responses
 * and chat completions, streamed or whole. The credential of a request selects its script, so agents that run at the same time
 * don't collide. README.md shows how to use it.
 */
export interface FakeModel {
  readonly url: string;
  /** Every request that reached a script, in order. */
  readonly calls: readonly ModelCall[];
  /** The tokens of all answers for each credential. */
  tokensOf(credential: string): Tokens;
  /** Fails with a sentence for each unexpected call and each step that was never asked for. */
  check(): void;
  stop(): Promise<void>;
}

export interface ModelCall {
  readonly credential: string;
  readonly conversation: Conversation;
  readonly at: number;
  /** Undefined if the answer was a fault or was not sent completely. */
  readonly tokens: Tokens | undefined;
  readonly headers: IncomingMessage["headers"];
}

const wires: Readonly<Record<string, Wire>> = {
  "/v1/messages": anthropic,
  "/responses": responses,
  "/v1/chat/completions": chat,
};
const wireOf = (path: string): Wire | undefined =>
  Object.entries(wires).find(([ending]) => path.endsWith(ending))?.[1];

export async function startFakeModel(scripts: Readonly<Record<string, ModelScript>>): Promise<FakeModel> {
  const calls: ModelCall[] = [];
  const unexpected: string[] = [];
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      unexpected.push(String(error));
      response.destroy();
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://model").pathname;
    const body = (await buffer(request)).toString();
    const wire = wireOf(path);
    if (request.method === "HEAD") return void response.writeHead(200).end();
    if (path.endsWith("/count_tokens")) return send(response, 200, { input_tokens: lengthOf(body) });
    if (path.endsWith("/models")) return send(response, 200, { object: "list", data: [] });
    if (wire === undefined || request.method !== "POST")
      return send(response, 404, { error: { message: `There is nothing at ${path}.` } });
    const { conversation, streams } = wire.read(JSON.parse(body));
    const credential = credentialOf(request);
    const id = `${calls.length + 1}`;
    const call = { credential, conversation, at: Date.now(), tokens: undefined, headers: request.headers };
    calls.push(call);
    const reply = replyTo(conversation, credential);
    if (typeof reply === "string") {
      unexpected.push(reply);
      return send(response, 400, wire.error(400, reply));
    }
    if ("fault" in reply && reply.fault === "hang") return;
    if ("fault" in reply && typeof reply.fault === "number")
      return send(
        response,
        reply.fault,
        wire.error(reply.fault, reply.says ?? `The script says ${reply.fault}.`, reply.code),
        reply.headers,
      );
    const said: ModelAnswer = "fault" in reply ? { text: "This answer is cut." } : reply;
    const isCut = "fault" in reply;
    if (said.after !== undefined) await sleep(said.after);
    const spoken = {
      id: `fake_${id}`,
      model: conversation.model,
      text: said.text ?? "",
      calls: (said.calls ?? []).map((one, at) => ({ ...one, id: `call_${id}_${at + 1}` })),
      tokens: {
        input: lengthOf(body),
        output: lengthOf(JSON.stringify(said)),
        cacheRead: 0,
        cacheWrite: 0,
        ...said.usage,
      },
    };
    if (!streams) {
      if (isCut) return void response.destroy();
      send(response, 200, wire.whole(spoken), said.headers);
    } else {
      response.writeHead(200, { "content-type": "text/event-stream", ...said.headers });
      const events = wire.stream(spoken);
      for (const event of isCut ? events.slice(0, 2) : events) response.write(event);
      if (isCut) return void setTimeout(() => response.destroy(), 20);
      response.end();
    }
    calls[calls.indexOf(call)] = { ...call, tokens: spoken.tokens };
  }

  /** Returns a string if something is wrong. */
  function replyTo(conversation: Conversation, credential: string) {
    // A request without tools is a side call of the client, for example for a title.
    if (conversation.tools.length === 0 && scripts[credential] !== undefined) return { text: "ok" };
    const script = scripts[credential];
    if (script === undefined) return `There is no script for the credential ${credential || "(none)"}.`;
    try {
      return script.reply(conversation);
    } catch (error) {
      if (error instanceof UnexpectedCall) return error.message;
      throw error;
    }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: urlOf(server),
    calls,
    tokensOf: (credential) =>
      calls
        .filter((call) => call.credential === credential)
        .reduce(
          (sum, { tokens }) => ({
            input: sum.input + (tokens?.input ?? 0),
            output: sum.output + (tokens?.output ?? 0),
            cacheRead: sum.cacheRead + (tokens?.cacheRead ?? 0),
            cacheWrite: sum.cacheWrite + (tokens?.cacheWrite ?? 0),
          }),
          { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        ),
    check: () => {
      const left = Object.entries(scripts).flatMap(([name, script]) =>
        script.unused().map((sentence) => `${name}: ${sentence}`),
      );
      if (unexpected.length + left.length > 0)
        throw new Error(["The model's scripts were not followed.", ...unexpected, ...left].join("\n"));
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function credentialOf({ headers }: IncomingMessage): string {
  const key = headers["x-api-key"];
  if (typeof key === "string" && key !== "") return key;
  return (headers.authorization ?? "").replace(/^Bearer /, "");
}

/** About one token for every four characters, always the same for the same text. */
const lengthOf = (text: string): number => Math.ceil(text.length / 4);

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the fake model has no port");
  return `http://127.0.0.1:${address.port}`;
}
