import { once } from "node:events";
import { createServer } from "node:http";
import type { McpHttpHandler } from "@modelcontextprotocol/server";

/** Serves an MCP handler of the SDK at an address of this machine. */
export async function mcpOverHttp(
  handler: McpHttpHandler,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const http = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
      const gone = new AbortController();
      response.once("close", () => gone.abort());
      const headers = new Headers();
      for (const [name, value] of Object.entries(request.headers))
        if (typeof value === "string") headers.set(name, value);
      const answer = await handler.fetch(
        new Request(`http://127.0.0.1${request.url}`, {
          method: request.method ?? "GET",
          headers,
          signal: gone.signal,
          ...(chunks.length > 0 && { body: Buffer.concat(chunks).toString() }),
        }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.flushHeaders();
      if (answer.body !== null) for await (const chunk of answer.body) response.write(chunk);
      response.end();
    })().catch(() => response.destroy());
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/mcp`,
    stop: async (): Promise<void> => {
      http.close();
      http.closeAllConnections();
      await handler.close();
    },
  };
}
