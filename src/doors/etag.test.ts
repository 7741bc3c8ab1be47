// If a caller already has a file, the answer is 304 without content, and nothing is recorded.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { z } from "zod";
import { type CommandLine, openCommandLine } from "../testing/command-line.ts";
import { tokenOf, urlOf } from "../cli/where.ts";

let line: CommandLine;
before(async () => (line = await openCommandLine()));
after(() => line.close());

const get = (path: string, has?: string, token = tokenOf(line.env) ?? ""): Promise<Response> =>
  fetch(new URL(path, urlOf(line.env)), {
    headers: { authorization: `Bearer ${token}`, ...(has !== undefined && { "if-none-match": has }) },
  });

const readsOf = async (id: string): Promise<number> => {
  const { accesses } = z
    .object({ accesses: z.array(z.object({ action: z.string() })) })
    .parse(await (await get(`/api/kb/${id}/access`)).json());
  return accesses.filter(({ action }) => action === "knowledge.read").length;
};

test("an unchanged file is answered with 304 and not recorded as read; a changed one is sent", async () => {
  const { id, hash } = z
    .object({ id: z.string(), hash: z.string() })
    .parse(await line.json("kb", "create", "Notes", "--file", "-"));
  const first = await get(`/api/kb/${id}`);
  const tag = first.headers.get("etag") ?? "";
  assert.deepEqual([first.status, await readsOf(id)], [200, 1]);
  for (const has of [tag, `W/${tag}`, `"other", ${tag}`]) {
    const again = await get(`/api/kb/${id}`, has);
    assert.deepEqual([again.status, await again.text(), await readsOf(id)], [304, "", 1]);
  }
  assert.equal((await get(`/api/kb/${id}/versions/1`, tag)).status, 304);
  assert.deepEqual([(await get(`/api/kb/${id}`, '"other"')).status, await readsOf(id)], [200, 2]);
  // The right is checked first.
  assert.equal((await get(`/api/kb/${id}`, tag, "no token")).status, 401);
  // The same content with another description is another version.
  await line.json(
    "kb",
    "write",
    id,
    "--file",
    "-",
    "--version",
    "1",
    "--hash",
    hash,
    "--description",
    "Other notes",
  );
  assert.equal((await get(`/api/kb/${id}`, tag)).status, 200);
});

test("any other answer has a tag made from its content", async () => {
  const path = `/api/companies`;
  const first = await get(path);
  const tag = first.headers.get("etag") ?? "";
  assert.equal((await get(path, tag)).status, 304);
  await line.json("companies", "create", "Another");
  assert.equal((await get(path, tag)).status, 200);
});

test("a list from memory has the same tag, and is compressed for a client that asks for it", async () => {
  const { id } = z.object({ id: z.string() }).parse(await line.json("companies", "create", "Third"));
  for (let n = 0; n < 30; n++) await line.json("kb", "create", `Notes ${n}`, "--file", "-", "--company", id);
  const path = `/api/companies/${id}/agents`;
  const first = await get(path);
  const tag = first.headers.get("etag") ?? "";
  const again = await get(path);
  assert.deepEqual([again.headers.get("etag"), await again.text()], [tag, await first.text()]);
  assert.equal((await get(path, tag)).status, 304);
  assert.ok(Number(again.headers.get("x-agency-seq")) > 0);
  assert.equal((await get(path, tag, "no token")).status, 401);
  const long = `/api/companies/${id}/events?limit=100`;
  const packed = await get(long);
  assert.equal(packed.headers.get("content-encoding"), "gzip");
  const plain = await fetch(new URL(long, urlOf(line.env)), {
    headers: { authorization: `Bearer ${tokenOf(line.env) ?? ""}`, "accept-encoding": "identity" },
  });
  assert.equal(plain.headers.get("content-encoding"), null);
  assert.equal(await packed.text(), await plain.text());
});
