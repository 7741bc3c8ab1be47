import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { countSelection } from "../store/query.ts";
import { bothStores, createOrganization, openTestStore } from "../testing/organization.ts";
import { shareTranscripts, storedTranscript } from "./shared-transcripts.ts";
import { localTranscript, readTranscript, writeTranscript } from "./transcript.ts";

const lineOf = (text: string): string =>
  `${JSON.stringify({ at: "2026-01-01T00:00:00.000Z", kind: "text", text })}\n`;

for (const kind of bothStores)
  describe(`transcripts of other nodes on ${kind}`, () => {
    async function stage(t: TestContext) {
      const opened = await openTestStore(kind);
      const folder = mkdtempSync(join(tmpdir(), "agency-transcripts-"));
      const bugs: unknown[] = [];
      const { store } = opened;
      const org = await createOrganization(store);
      const share = () =>
        shareTranscripts({
          store,
          folder,
          // Only the pause between two copies is shorter. The wait for the file at a stop is as long as usual.
          sleep: (milliseconds, signal) =>
            sleep(milliseconds === 2000 ? 20 : milliseconds, undefined, { signal }).catch(() => undefined),
          reportBug: (error) => bugs.push(error),
        });
      t.after(async () => {
        await opened.close();
        rmSync(folder, { recursive: true });
        assert.deepEqual(bugs, []);
      });
      const elsewhere = (id: string, after?: number) =>
        store.read(async (tx) => readTranscript(await storedTranscript(tx, id), after));
      const here = (id: string, after?: number) => readTranscript(localTranscript(folder, id), after);
      const session = async () => (await org.session((await org.agent("Ann")).id)).id;
      return { store, folder, share, elsewhere, here, session };
    }

    if (kind === "postgres") {
      test("are read while they grow, and are complete when the node has stopped", async (t) => {
        const { folder, share, elsewhere, here, session } = await stage(t);
        const id = await session();
        const shared = share();
        const writer = writeTranscript(folder, id, ["a secret"], () => shared.written(id, writer.closed));
        writer.add({ kind: "text", text: "Grüße, 你好 with a secret" });
        while ((await elsewhere(id)).entries.length === 0) await sleep(5);
        const first = await elsewhere(id);
        assert.deepEqual(
          first.entries.map(({ text }) => /^Grüße, 你好 with (?!a secret)/.test(text)),
          [true],
        );
        assert.equal(first.next, (await here(id)).next);
        for (let at = 0; at < 500; at++)
          writer.add({ kind: "tool", tool: "kb__read_file", text: `call ${at}` });
        writer.close();
        await shared.stop();
        assert.equal((await elsewhere(id)).entries.length, 501);
        for (const after of [undefined, 0, first.next, first.next + 1, 10_000, 10_000_000])
          assert.deepEqual(await elsewhere(id, after), await here(id, after), `from ${after ?? "the end"}`);
      });

      test("long transcripts are the same on every node, in parts and from their end", async (t) => {
        const { store, folder, share, elsewhere, here, session } = await stage(t);
        const id = await session();
        const wide = lineOf("\u0001".repeat(256 * 1024));
        const many = Array.from({ length: 40_000 }, (_, at) => lineOf(`line ${at}`)).join("");
        // The last line ends in the middle of a character.
        const torn = Buffer.from(lineOf("é")).subarray(0, -4);
        writeFileSync(
          join(folder, `${id}.jsonl`),
          Buffer.concat([Buffer.from(`${many}${wide}${many}`), torn]),
        );
        await share().stop();
        const chunks = countSelection("transcript_chunks", { session_id: id });
        assert.ok(((await store.read((tx) => tx.first(chunks, {})))?.count ?? 0) > 3);
        const texts: string[] = [];
        for (let from = 0, isMore = true; isMore;) {
          const part = await elsewhere(id, from);
          const local = await here(id, from);
          assert.deepEqual([part.next, part.entries.length], [local.next, local.entries.length]);
          texts.push(...part.entries.map(({ text }) => text));
          isMore = part.next > from;
          from = part.next;
        }
        assert.equal(texts.length, 80_001);
        assert.equal(texts.at(-1), "line 39999");
        assert.equal((await elsewhere(id)).entries.at(-1)?.text, "line 39999");
      });

      test("the next run stores lines that an earlier run did not store", async (t) => {
        const { folder, share, elsewhere, session } = await stage(t);
        const id = await session();
        const file = join(folder, `${id}.jsonl`);
        writeFileSync(file, lineOf("one"));
        await share().stop();
        assert.equal((await elsewhere(id)).entries.length, 1);
        writeFileSync(file, lineOf("one") + lineOf("two"));
        // This database does not have this session.
        writeFileSync(join(folder, "01900000-0000-7000-8000-00000000abcd.jsonl"), lineOf("other"));
        await share().stop();
        assert.deepEqual(
          (await elsewhere(id)).entries.map(({ text }) => text),
          ["one", "two"],
        );
        assert.deepEqual((await elsewhere("01900000-0000-7000-8000-00000000abcd")).entries, []);
      });
    } else
      test("are not stored, because there is one node", async (t) => {
        const { folder, share, elsewhere, session } = await stage(t);
        const id = await session();
        writeFileSync(join(folder, `${id}.jsonl`), lineOf("one"));
        await share().stop();
        assert.deepEqual((await elsewhere(id)).entries, []);
      });
  });
