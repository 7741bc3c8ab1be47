// The built daemon on a disk of 64 MB that fills up: it stays up, reads work, nothing acknowledged is lost, and it recovers.
import { allowed } from "../src/testing/allowed.ts";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createFile, listFiles, readFile } from "../src/contract/knowledge.ts";
import { verifyLedger } from "../src/contract/ledger.ts";
import { Refusal } from "../src/contract/refusal.ts";
import { type BuiltDaemon, isAlive, startDaemon } from "./support/daemon.ts";
import { type SmallDisk, smallDisk } from "./support/disk.ts";

const main = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

describe("a disk of 64 MB", () => {
  let disk: SmallDisk;
  let daemon: BuiltDaemon;
  const acknowledged = new Map<string, string>();
  const refused = new Map<string, number>();

  const begin = () =>
    startDaemon({
      home: join(disk.path, "agency"),
      command: [...disk.enter, process.execPath, main],
    });
  const start = (): Promise<BuiltDaemon> => begin().ready;

  /** Creates files of different sizes until the disk refuses several in a row. */
  async function write(most: number, isEnough: () => boolean): Promise<void> {
    for (let count = 0; count < most && !isEnough(); count++) {
      const content = `${count} ${Math.random()} `.repeat(1 + (count % 7) * 200);
      try {
        const { companyId } = daemon;
        const { id, hash } = await daemon.board.call(createFile, { companyId, description: "d", content });
        assert.equal(hash, createHash("sha256").update(content).digest("hex"));
        acknowledged.set(id, hash);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        refused.set(error.code, (refused.get(error.code) ?? 0) + 1);
        await sleep(20);
      }
    }
  }
  const refusals = (): number => refused.get("unavailable") ?? 0;

  before(async () => {
    disk = await smallDisk(64);
    daemon = await start();
  });
  after(async () => {
    await daemon.stop();
    await disk.remove();
  });

  async function readsWork(): Promise<void> {
    const { files } = await daemon.board.call(listFiles, { companyId: daemon.companyId, limit: 1 });
    assert.equal(files.length, 1);
  }

  async function worksAgain(): Promise<void> {
    for (const begun = performance.now(); ;) {
      const before = acknowledged.size;
      await write(1, () => false);
      if (acknowledged.size > before) return;
      assert.ok(performance.now() - begun < allowed(60_000), "writes are still refused");
      await sleep(100);
    }
  }

  async function nothingLost(): Promise<void> {
    for (const [id, hash] of acknowledged) {
      const file = await daemon.board.call(readFile, { id });
      assert.equal(file.hash, hash);
      assert.equal(createHash("sha256").update(file.content).digest("hex"), hash);
    }
    for (let cursor: string | undefined; ;) {
      const { ok, nextCursor } = await daemon.board.call(verifyLedger, { cursor });
      assert.ok(ok);
      if (nextCursor === null) return;
      cursor = nextCursor;
    }
  }

  test("the daemon refuses writes before the disk is full, and content can still be read", async () => {
    await Promise.all(Array.from({ length: 8 }, () => write(20_000, () => refusals() > 50)));
    assert.ok(acknowledged.size > 100, `${acknowledged.size} files`);
    assert.deepEqual([...refused.keys()], ["unavailable"]);
    assert.ok(disk.free() > 1024 * 1024, `${disk.free()} bytes are left`);
    await readsWork();
    const [id = ""] = acknowledged.keys();
    await daemon.board.call(readFile, { id });
  });

  test("when other programs fill the disk under load, the daemon stays up and answers lists", async () => {
    const before = refusals();
    const load = Promise.all(Array.from({ length: 8 }, () => write(2000, () => refusals() > before + 50)));
    disk.fill();
    await load;
    assert.ok(isAlive(daemon.pid));
    assert.deepEqual([...refused.keys()], ["unavailable"]);
    for (let count = 0; count < 20; count++) await readsWork();
  });

  test("after a kill, the daemon starts again on the full disk, and reads work", async () => {
    await daemon.kill();
    disk.fill();
    daemon = await start();
    await readsWork();
    const before = refusals();
    await write(1, () => false);
    assert.equal(refusals(), before + 1);
  });

  test("after a stop, the daemon starts again on the full disk, and reads work", async () => {
    assert.equal((await daemon.stop()).code, 0);
    disk.fill();
    daemon = await start();
    await readsWork();
  });

  test("without any space for its database the daemon waits, and works again when space returns", async () => {
    // With space, the daemon closes its database cleanly. Opening it again takes a few bytes.
    disk.empty();
    assert.equal((await daemon.stop()).code, 0);
    rmSync(join(disk.path, "agency", "reserve"));
    disk.fill();
    const starting = begin();
    while (!starting.log().includes("waits for space")) await sleep(100);
    // The daemon's own files fill the disk up to the margin, so the disk gets larger.
    disk.empty();
    await disk.grow(160);
    daemon = await starting.ready;
    await worksAgain();
    await nothingLost();
    assert.match(daemon.log(), /waits for space.*There is space on the disk again/s);
  });
});
