// A transcript that is read from an offset and followed as a stream while its session runs.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { createKey } from "../src/contract/agents.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listAgentSessions, TranscriptEntry } from "../src/contract/sessions.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";

const Part = z.strictObject({
  entries: z.array(TranscriptEntry),
  next: z.number(),
  endedAt: z.string().nullable(),
  endReason: z.string().nullable(),
});

const folder = temporaryFolder("transcript");
const goOn = join(folder.path, "go-on");
let daemon: BuiltDaemon;
let path: string;
let agentId: string;

before(async () => {
  // The session waits for a file of the test, which a sandbox would hide.
  const env = { AGENCY_SANDBOX: "off" };
  daemon = await startDaemon({ home: join(folder.path, "home"), env }).ready;
  const script = `cat > /dev/null; echo first; while [ ! -e '${goOn}' ]; do sleep 0.1; done; echo second`;
  ({ agentId, path } = await sessionOf("Ann", "sh", ["-c", script]));
});

/** A new agent that runs this command, and the stream of its first session. */
async function sessionOf(
  name: string,
  command: string,
  args: readonly string[],
): Promise<{ agentId: string; path: string }> {
  const { board, companyId } = daemon;
  const adapterConfig = { command, args: [...args] };
  const made = { companyId, name, role: "Writer", adapterType: "process", adapterConfig } as const;
  const { id } = await board.call(createAgent, made);
  await board.call(sendMessage, { companyId, to: id, body: "Hello." });
  for (; ; await sleep(50)) {
    const { sessions } = await board.call(listAgentSessions, { id });
    const first = sessions.at(-1);
    if (first !== undefined) return { agentId: id, path: `/api/sessions/${first.id}/transcript/stream` };
  }
}

after(async () => {
  await daemon.stop();
  folder.remove();
});

const get = (query = "", headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${daemon.url}${path}${query}`, {
    headers: { authorization: `Bearer ${daemon.token}`, ...headers },
  });

/** The parts of a stream, each with the id of its message. */
async function* partsOf(answer: Response): AsyncGenerator<{ id: string; part: z.infer<typeof Part> }> {
  assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, "text/event-stream"]);
  let text = "";
  for await (const chunk of answer.body ?? []) {
    const messages = (text + Buffer.from(chunk).toString()).split("\n\n");
    text = messages.pop() ?? "";
    for (const message of messages) {
      const [, id = "", data = ""] = /^id: (\d+)\ndata: (.*)$/.exec(message) ?? [];
      if (id !== "") yield { id, part: Part.parse(JSON.parse(data)) };
    }
  }
}

async function allPartsOf(answer: Response): Promise<z.infer<typeof Part>[]> {
  const all = [];
  for await (const { part } of partsOf(answer)) all.push(part);
  return all;
}

const said = (entries: readonly TranscriptEntry[]): string => entries.map(({ text }) => text).join("");

test("a stream follows a session live until it ends, and another one begins where a reader stopped", async () => {
  let [all, first, last] = ["", "", ""];
  let ended: string | null = null;
  for await (const { id, part } of partsOf(await get())) {
    all += said(part.entries);
    last = id;
    ended = part.endedAt;
    assert.equal(id, String(part.next));
    if (!all.includes("first") || first !== "") continue;
    first = id;
    assert.equal(part.endedAt, null, "the session still runs");
    writeFileSync(goOn, "");
  }
  assert.match(all, /^first\s+second\s*$/);
  assert.notEqual(ended, null, "the last message says that the session has ended");
  for (const answer of [await get(`?after=${first}`), await get("?after=0", { "last-event-id": first })]) {
    const rest = await allPartsOf(answer);
    assert.equal(said(rest.flatMap(({ entries }) => entries)).trim(), "second");
  }
  const [only, ...more] = await allPartsOf(await get(`?after=${last}`));
  assert.deepEqual([only?.entries, more], [[], []]);
});

test("a transcript longer than one part arrives complete, and its end is reported last", async () => {
  const script = `for (let line = 0; line < 2500; line++) console.log(line + " " + "x".repeat(1000))`;
  const long = await sessionOf("Ben", process.execPath, ["-e", script]);
  const own = path;
  path = long.path;
  try {
    // The first stream sees the end of the session, the second one begins when it has ended.
    for (let round = 0; round < 2; round++) {
      const parts = await allPartsOf(await get());
      const lines = said(parts.flatMap(({ entries }) => entries)).match(/^\d+ x{1000}$/gm) ?? [];
      assert.deepEqual([lines.length, lines.at(-1)?.slice(0, 5)], [2500, "2499 "]);
      assert.ok(parts.length > 2, `${parts.length} parts`);
      assert.ok(parts.slice(0, -1).every(({ endedAt }) => endedAt === null));
      assert.notEqual(parts.at(-1)?.endedAt, null);
    }
  } finally {
    path = own;
  }
});

test("agents, strangers and wrong addresses are refused", async () => {
  const { key } = await daemon.board.call(createKey, { id: agentId });
  const statusOf = async (answer: Promise<Response>): Promise<number> => {
    const { status, body } = await answer;
    await body?.cancel();
    return status;
  };
  assert.equal(await statusOf(get("", { authorization: `Bearer ${key}` })), 403);
  assert.equal(await statusOf(get("", { authorization: "Bearer agb_nothing" })), 401);
  assert.equal(await statusOf(get("?after=soon")), 400);
  const [own, other] = [path, path.replace(/[0-9a-f]{12}\//, "000000000000/")];
  path = other;
  assert.equal(await statusOf(get()), 404);
  path = own.replace("/stream", "/strea");
  assert.equal(await statusOf(get()), 404);
  path = own;
});
