import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createFile, readFile, readVersion, writeFile } from "../contract/knowledge.ts";
import { openSqlite } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { query } from "../store/query.ts";
import {
  createOrganization,
  type Organization,
  sharedOrganization,
  bothStores,
} from "../testing/organization.ts";

const countBlobs = query((db, _: Record<never, never>) =>
  db.selectFrom("blobs").select((eb) => eb.fn.countAll<number>().as("count")),
);
const blobsIn = async (store: Store): Promise<number> =>
  Number((await store.read((tx) => tx.first(countBlobs, {})))?.count);

async function drained(store: Store): Promise<void> {
  for (const started = performance.now(); (await blobsIn(store)) > 0; await sleep(20))
    assert.ok(performance.now() - started < 60_000, "content stays in the database");
}

/** Creates files with random content. Returns a function that checks that each still has it. */
async function fill(
  org: Organization,
  count: number,
): Promise<{ id: string; hash: string; bytes: Buffer }[]> {
  const made: { id: string; hash: string; bytes: Buffer }[] = [];
  for (let index = 0; index < count; index++) {
    const bytes = randomBytes(1 + index * 1000);
    const { id, hash } = await org.board(createFile, {
      companyId: org.companyId,
      description: `blob ${index}`,
      content: bytes.toString("base64"),
      encoding: "base64",
    });
    assert.equal(hash, createHash("sha256").update(bytes).digest("hex"));
    made.push({ id, hash, bytes });
  }
  return made;
}

async function allThere(org: Organization, made: Awaited<ReturnType<typeof fill>>): Promise<void> {
  for (const { id, bytes } of made) {
    const { content, encoding } = await org.board(readVersion, { id, version: 1 });
    assert.ok(Buffer.from(content, encoding).equals(bytes));
  }
}

if (bothStores.includes("sqlite"))
  describe("content of knowledge on sqlite", () => {
    const folder = mkdtempSync(join(tmpdir(), "agency-blobs-"));
    const knowledge = join(folder, "knowledge");
    const open = (name = "agency.db", blobFolder = knowledge): Store =>
      openSqlite({ path: join(folder, name), blobFolder, clock: Date.now });
    let store: Store;
    let org: Organization;
    before(async () => {
      store = open();
      org = await createOrganization(store);
    });
    after(async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    });

    // covers KB-08
    test("is moved from the database into a file named by id and hash", async () => {
      const made = await fill(org, 5);
      await drained(store);
      for (const { id, hash, bytes } of made) {
        const path = join(knowledge, id, hash);
        assert.ok(readFileSync(path).equals(bytes));
        assert.equal(statSync(path).mode & 0o077, 0, "others may not read it");
        assert.deepEqual(readdirSync(join(knowledge, id)), [hash]);
      }
      await allThere(org, made);
    });

    test("has one file per content, however often it is written", async () => {
      const first = await org.board(createFile, {
        companyId: org.companyId,
        description: "d",
        content: "same",
      });
      const second = await org.board(writeFile, { ...first, content: "other" });
      await drained(store);
      const third = await org.board(writeFile, { ...second, content: "same" });
      assert.equal(third.hash, first.hash);
      await drained(store);
      assert.deepEqual(
        readdirSync(join(knowledge, first.id)).toSorted(),
        [first.hash, second.hash].toSorted(),
      );
      assert.equal((await org.board(readFile, { id: first.id })).content, "same");
    });

    test("survives a crash before its move, and is moved afterwards", async () => {
      const made = await fill(org, 5);
      const snapshot = join(folder, "crashed.db");
      const reader = new DatabaseSync(join(folder, "agency.db"));
      // The state after a crash at this moment: the committed database, and no file.
      reader.exec(`vacuum into '${snapshot}'`);
      reader.close();
      const elsewhere = join(folder, "after-crash");
      const restarted = open("crashed.db", elsewhere);
      try {
        assert.ok((await blobsIn(restarted)) >= made.length);
        const again = await createOrganization(restarted);
        await allThere(again, made);
        await drained(restarted);
        for (const { id, hash, bytes } of made)
          assert.ok(readFileSync(join(elsewhere, id, hash)).equals(bytes));
        await allThere(again, made);
      } finally {
        await restarted.close();
      }
    });

    test("survives a restart in the middle of a burst", async () => {
      const made: Awaited<ReturnType<typeof fill>> = [];
      for (let restart = 0; restart < 3; restart++) {
        made.push(...(await fill(org, 10)));
        await store.close();
        store = open();
        org = await createOrganization(store);
        await allThere(org, made);
      }
      await drained(store);
      await allThere(org, made);
      for (const { id, hash } of made) assert.ok(existsSync(join(knowledge, id, hash)));
    });
  });

if (bothStores.includes("postgres"))
  describe("content of knowledge on postgres", async () => {
    const { org, store } = await sharedOrganization("postgres");

    test("stays in the database, where every node can read it", async () => {
      const before = await blobsIn(store);
      const made = await fill(org, 5);
      await sleep(500);
      assert.equal(await blobsIn(store), before + made.length);
      await allThere(org, made);
    });
  });
