import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { type FeedNews, readFeed } from "../src/web/data/feed.ts";

const event = (seq: number, name = "x"): string =>
  `id: ${seq}\ndata: ${JSON.stringify({ seq, at: "", operation: "agent.hire", subject: null, actor: {}, data: { name } })}\n\n`;

/** Reads a feed from a real server, which answers each connection with the next script. Ends when the last script says so. */
async function feedFrom(scripts: readonly ((response: ServerResponse, end: () => void) => void)[]) {
  const asked: number[] = [];
  const news: FeedNews[] = [];
  const stop = new AbortController();
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://x");
    assert.equal(request.headers["x-agency-page"], "key");
    assert.equal(searchParams.get("company"), "c 1");
    asked.push(Number(searchParams.get("after")));
    const script = scripts[asked.length - 1];
    if (script === undefined) stop.abort();
    else script(response, () => stop.abort());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const outside = globalThis.fetch;
  // In a browser, addresses are relative to the page.
  globalThis.fetch = (path, options) =>
    outside(new URL(path instanceof Request ? path.url : path, `http://127.0.0.1:${port}`), options);
  try {
    await readFeed({ company: "c 1", after: 10, pageKey: "key" }, stop.signal, (told) => news.push(told));
  } finally {
    globalThis.fetch = outside;
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
  const seqs = news.flatMap(({ events }) => events.map(({ seq }) => seq));
  return { asked, news, seqs, states: news.map(({ state }) => state) };
}

test("a feed that is cut off resumes behind the last whole event: none is lost, and none comes twice", async () => {
  const { asked, news, seqs } = await feedFrom([
    (response) => {
      response.write(event(11) + event(12));
      // The third event is cut in its middle, together with the connection.
      response.write(event(13).slice(0, 40), () => response.destroy());
    },
    // The daemon refuses for a moment.
    (response) => response.writeHead(503).end(),
    // The daemon may send events from before the requested one.
    (response, end) => {
      response.write(event(12) + event(13) + event(14));
      response.write(event(15), () => setImmediate(() => response.end(event(16), () => setImmediate(end))));
    },
    (_, end) => end(),
  ]);
  assert.deepEqual(seqs, [11, 12, 13, 14, 15, 16]);
  assert.deepEqual(asked.slice(0, 3), [10, 12, 12]);
  // The feed reports since when the connection is lost, until events arrive again.
  const lost = news.filter(({ state }) => state === "lost");
  assert.ok(lost.length >= 2);
  assert.ok(lost[0]?.since !== null && lost[1]?.since === lost[0]?.since);
  assert.deepEqual(
    news.filter(({ state, events }) => state === "live" && events.length > 0).map(({ since }) => since),
    news.filter(({ events }) => events.length > 0).map(() => null),
  );
  assert.equal(news.findLast(({ events }) => events.length > 0)?.cursor, 16);
});

test("events arrive complete, however their bytes are split", async () => {
  const bytes = Buffer.from(event(11, "Zoë 🦊") + ": still here\n\n" + event(12, "e\u0301"));
  const { seqs, news } = await feedFrom([
    (response) => {
      const send = (at: number): void => {
        if (at < bytes.length) response.write(bytes.subarray(at, at + 1), () => setImmediate(send, at + 1));
        else response.end();
      };
      send(0);
    },
    (_, end) => end(),
  ]);
  assert.deepEqual(seqs, [11, 12]);
  assert.deepEqual(
    news.flatMap(({ events }) => events.map(({ data }) => data["name"])),
    ["Zoë 🦊", "e\u0301"],
  );
});

test("a feed that is refused ends, and says so", async () => {
  for (const status of [401, 403]) {
    const { asked, states } = await feedFrom([(response) => response.writeHead(status).end()]);
    assert.deepEqual([asked, states], [[10], ["refused"]]);
  }
});
