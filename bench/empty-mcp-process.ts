import { createServer } from "node:http";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";

// The baseline of mcp.ts: the SDK's own handler, mounted as its documentation says, with a tool that does nothing. A server
// that uses this SDK can't be faster. The process ends with the benchmark.

const handler = createMcpHandler(() => {
  const server = new Server({ name: "empty", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/call", () => ({
    content: [{ type: "text", text: "{}" }],
    structuredContent: {},
  }));
  return server;
});

const http = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    void handler
      .fetch(
        new Request(`http://localhost${request.url ?? "/"}`, {
          method: "POST",
          headers: Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
            typeof value === "string" && name !== "connection" ? [[name, value]] : [],
          ),
          body: Buffer.concat(chunks),
        }),
      )
      .then(async (answer) => {
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        response.end(Buffer.from(await answer.arrayBuffer()));
      });
  });
});
http.listen(0, "127.0.0.1", () => process.send?.(http.address()));
process.once("disconnect", () => process.exit());
