import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Reply } from "../testing/fake-model/conversation.ts";
import { always } from "../testing/fake-model/script.ts";
import { startFakeModel } from "../testing/fake-model/server.ts";
import { callFiles } from "./call-files.ts";
import { keepCourier } from "./courier.ts";

const key = "the-key-of-the-courier-1234567890";
let reply: Reply = {};
const fake = await startFakeModel({ [key]: always(() => reply) });
const folder = mkdtempSync(join(tmpdir(), "agency-courier-"));
const files = callFiles(folder);
const courier = keepCourier(folder);
after(async () => {
  courier.stop();
  await fake.stop();
  rmSync(folder, { recursive: true, force: true });
});

const request = (stream: boolean, words = "Hello.") => ({
  method: "POST",
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  body: JSON.stringify({
    model: "m",
    stream,
    messages: [{ role: "user", content: words }],
    tools: [{ name: "look" }],
  }),
});
let calls = 0;
function carry(options: { stream?: boolean; words?: string; signal?: AbortSignal; url?: string } = {}) {
  const id = `call-${++calls}`;
  const path = "/v1/messages";
  const fetched = courier.fetchFor({ id, config: { dialect: "anthropic" }, path });
  const { stream = true, words, signal, url = fake.url } = options;
  return { id, answer: fetched(url + path, { ...request(stream, words), ...(signal && { signal }) }) };
}
const pidOf = (id: string): number => Number(Object(JSON.parse(readFileSync(join(folder, id), "utf8"))).pid);
const usage = { input: 11, output: 22, cacheRead: 3, cacheWrite: 4 };

test("the provider's answer is passed on, whole or streamed, and its usage is recorded", async () => {
  reply = {
    text: "é".repeat(300_000),
    usage,
    headers: { "x-some": "ü?".normalize("NFD").replace(/[^ -~]/g, "") },
  };
  for (const stream of [true, false]) {
    const bare = await fetch(`${fake.url}/v1/messages`, request(stream));
    const { id, answer } = carry({ stream, words: "ß".repeat(100_000) });
    const carried = await answer;
    assert.equal(carried.headers.get("content-type"), bare.headers.get("content-type"));
    assert.equal(
      (await carried.text()).replace(/fake_\d+/g, ""),
      (await bare.text()).replace(/fake_\d+/g, ""),
    );
    assert.deepEqual(files.fateOf(id), { status: "done", tokens: usage });
    files.forget(id);
  }
  assert.deepEqual(readdirSync(folder), []);
});

test("a refusal, a cut and an unreachable provider are reported in the same way as by fetch", async () => {
  reply = { fault: 529, headers: { "retry-after": "3" } };
  const refused = carry();
  const { status, headers } = await refused.answer;
  assert.deepEqual([status, headers.get("retry-after")], [529, "3"]);
  assert.deepEqual(files.fateOf(refused.id), { status: "failed" });
  reply = { fault: "cut" };
  const cut = carry();
  await assert.rejects((await cut.answer).text());
  const fate = files.fateOf(cut.id);
  assert.ok(
    typeof fate === "object" && fate.status === "cut" && fate.tokens?.output === 1,
    JSON.stringify(fate),
  );
  const nowhere = carry({ url: "http://127.0.0.1:9" });
  await assert.rejects(nowhere.answer);
  assert.deepEqual(files.fateOf(nowhere.id), { status: "failed" });
});

test("the answer to an abandoned call is still read, and the courier's environment has no key", async () => {
  reply = { text: "Late.", usage, after: 300 };
  const gone = new AbortController();
  const { id, answer } = carry({ signal: gone.signal });
  const asked = fake.calls.length;
  while (fake.calls.length === asked) await sleep(5);
  assert.equal(files.fateOf(id), "asking");
  const surroundings = ["environ", "cmdline"].map((file) => `/proc/${pidOf(id)}/${file}`);
  for (const file of process.platform === "linux" ? [...surroundings, join(folder, id)] : [])
    assert.ok(!readFileSync(file, "utf8").includes(key), file);
  gone.abort();
  await assert.rejects(answer);
  while (files.fateOf(id) === "asking") await sleep(10);
  assert.deepEqual(files.fateOf(id), { status: "done", tokens: usage });
});

test("a courier that is killed fails its calls, and the next call starts another", async () => {
  reply = { fault: "hang" };
  const { id, answer } = carry();
  const asked = fake.calls.length;
  while (fake.calls.length === asked) await sleep(5);
  const first = pidOf(id);
  process.kill(first, "SIGKILL");
  await assert.rejects(answer);
  while (files.fateOf(id) === "asking") await sleep(10);
  assert.equal(files.fateOf(id), "lost");
  reply = { text: "Back." };
  const second = carry();
  assert.match(await (await second.answer).text(), /Back\./);
  assert.notEqual(pidOf(second.id), first);
});
