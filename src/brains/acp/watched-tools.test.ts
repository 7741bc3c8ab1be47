import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { text } from "node:stream/consumers";
import { watchTools } from "./watched-tools.ts";

test("requests and answers pass unchanged, and the list of tools is noticed when it has been answered", async () => {
  let status = 401;
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      response.writeHead(status, { "content-type": "text/event-stream", "mcp-session-id": "7" });
      response.write(`${request.method} ${request.url} ${request.headers.authorization} `);
      response.end(body);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const watched = await watchTools(`http://127.0.0.1:${port}/mcp`);
  after(() => {
    watched.stop();
    server.close();
  });
  let isListed = false;
  void watched.listed.then(() => (isListed = true));
  const post = async (method: string) => {
    const answer = await fetch(watched.url, {
      method: "POST",
      headers: { authorization: "Bearer me" },
      body: JSON.stringify({ method }),
    });
    return [answer.status, answer.headers.get("mcp-session-id"), await answer.text()];
  };
  const passed = (method: string) => `POST /mcp Bearer me {"method":"${method}"}`;
  assert.deepEqual(await post("tools/list"), [401, "7", passed("tools/list")]);
  status = 200;
  assert.deepEqual(await post("initialize"), [200, "7", passed("initialize")]);
  assert.equal(isListed, false, "a refused list and another request are not the list");
  assert.deepEqual(await post("tools/list"), [200, "7", passed("tools/list")]);
  await watched.listed;
});
