import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createOrganization } from "../testing/organization.ts";
import { createFile, readFile } from "../contract/knowledge.ts";
import { mappedKilobytes } from "../testing/mapped-memory.ts";
import { openSqlite } from "./sqlite.ts";

test("a resting store releases its mapped memory and answers as before, and a rest inside a transaction has no effect", async () => {
  const folder = mkdtempSync(join(tmpdir(), "agency-resting-"));
  const path = join(folder, "agency.db");
  const store = openSqlite({ path, clock: Date.now });
  try {
    const org = await createOrganization(store);
    const content = "x".repeat(1_000_000);
    const ids: string[] = [];
    for (let index = 0; index < 24; index++)
      ids.push((await org.board(createFile, { companyId: org.companyId, description: "Text", content })).id);
    const readAll = async (): Promise<void> => {
      for (const id of ids) assert.equal((await org.board(readFile, { id })).content, content);
    };
    await readAll();
    const mapped = (): number => mappedKilobytes(readFileSync("/proc/self/smaps", "utf8"), path);
    const before = mapped();
    assert.ok(before > 4000, `${before} kB are mapped`);
    await store.write(async () => store.rest());
    store.rest();
    assert.ok(mapped() < before / 4, `${before} kB were mapped, and ${mapped()} kB still are`);
    await readAll();
  } finally {
    await store.close();
    store.rest();
    rmSync(folder, { recursive: true, force: true });
  }
});
