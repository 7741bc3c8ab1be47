import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { limitIntake } from "./intake.ts";
import { fetchFor } from "./reaching.ts";

/** The addresses that an MCP server and its sign-in service may lead to. The same fetch asks both. */
describe("the addresses of remote MCP servers", () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers.host ?? "");
    response.end("here");
  });
  let port = 0;
  before(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    port = typeof address === "object" && address !== null ? address.port : 0;
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });

  const names = new Map<string, string[]>();
  const resolve = async (host: string): Promise<string[]> => names.get(host) ?? [];
  const ask = (url: string, record: { url: string; privateNetwork?: boolean }) =>
    fetchFor(
      record,
      limitIntake(() => undefined),
      resolve,
    )(url);
  const far = { url: "https://mcp.example/x" };

  test("a name is looked up once, and the connection goes to the address that was checked", async () => {
    // No name server knows this name.
    names.set("mcp.example", ["127.0.0.1"]);
    const answer = await ask(`http://mcp.example:${port}/`, { ...far, privateNetwork: true });
    assert.equal(await answer.text(), "here");
    assert.deepEqual(asked.splice(0), [`mcp.example:${port}`]);
  });

  test("a name that leads to a private address or to the network itself is refused", async () => {
    for (const [addresses, says, privateNetwork] of [
      [["127.0.0.1"], /private network/, false],
      [["10.0.0.7"], /private network/, false],
      [["93.184.216.34", "192.168.1.1"], /private network/, false],
      [["::1"], /private network/, false],
      [["::ffff:127.0.0.1"], /private network/, false],
      [["169.254.169.254"], /never connects/, true],
      [["::ffff:169.254.169.254"], /never connects/, true],
      [["fe80::1"], /never connects/, true],
    ] as const) {
      names.set("mcp.example", [...addresses]);
      await assert.rejects(
        ask(`http://mcp.example:${port}/`, { ...far, privateNetwork }),
        says,
        addresses.join(),
      );
    }
    assert.deepEqual(asked, []);
  });

  test("a record of this machine reaches this machine, and no other of its network", async () => {
    const near = { url: `http://localhost:${port}/mcp` };
    names.set("localhost", ["127.0.0.1"]);
    assert.equal((await ask(near.url, near)).status, 200);
    names.set("sign-in.example", ["127.0.0.1"]);
    assert.equal((await ask(`http://sign-in.example:${port}/`, near)).status, 200);
    asked.length = 0;
    names.set("sign-in.example", ["10.0.0.7"]);
    await assert.rejects(ask(`http://sign-in.example:${port}/`, near), /private network/);
    await assert.rejects(ask("http://192.168.1.1/", near), /private network/);
    await assert.rejects(ask("http://169.254.169.254/", near), /never connects/);
    assert.deepEqual(asked, []);
  });
});
