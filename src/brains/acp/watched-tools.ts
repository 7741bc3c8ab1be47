import { once } from "node:events";
import { createServer, type IncomingMessage, request as ask, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

/**
 * A proxy between the agent's program and an MCP server, which notices when the program has its tools. Programs connect in the
 * background. A model that is asked before that has no tools, and may conclude that there is nothing to do.
 */
export interface WatchedTools {
  /** The address for the program. */
  readonly url: string;
  /** Resolves when the program has got the list of tools for the first time. */
  readonly listed: Promise<void>;
  stop(): void;
}

export async function watchTools(server: string): Promise<WatchedTools> {
  const listed = Promise.withResolvers<void>();
  const pass = async (from: IncomingMessage, back: ServerResponse): Promise<void> => {
    const body = await buffer(from);
    const { host: _, connection: __, ...headers } = from.headers;
    const asked = ask(server, { method: from.method, headers }, (answer) => {
      back.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(back);
      if (answer.statusCode === 200 && body.includes('"tools/list"')) answer.once("end", listed.resolve);
    });
    asked.once("error", () => back.destroy());
    back.once("close", () => asked.destroy());
    asked.end(body);
  };
  const door = createServer((from, back) => void pass(from, back).catch(() => back.destroy()));
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  const address = door.address();
  if (address === null || typeof address === "string") throw new Error("the door has no port");
  return {
    url: `http://127.0.0.1:${address.port}${new URL(server).pathname}`,
    listed: listed.promise,
    stop: () => {
      door.close();
      door.closeAllConnections();
    },
  };
}
