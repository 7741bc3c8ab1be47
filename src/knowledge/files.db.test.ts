import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { grantPermission, revokePermission } from "../contract/capabilities.ts";
import {
  browseFiles,
  createFile,
  deleteFile,
  listFiles,
  readFile,
  readVersion,
  searchFiles,
  viewAccessLog,
  viewHistory,
  viewLinks,
  writeFile,
} from "../contract/knowledge.ts";
import { updateCompany } from "../contract/companies.ts";
import { viewAgent } from "../contract/agents.ts";
import { refusal, sharedOrganization, bothStores } from "../testing/organization.ts";

const sha256 = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex");

for (const kind of bothStores)
  describe(`knowledge files on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);
    const boss = await org.agent("Chief");
    const report = await org.agent("Report", boss.id);

    // covers KB-09, KB-10, KB-15, KB-21, KB-24, KB-25
    test("every write is a version with its author, hash, size and content", async () => {
      const session = await org.session(boss.id);
      const made = await session.call(createFile, { description: "versions", content: "one" });
      assert.deepEqual(made, { id: made.id, version: 1, hash: sha256("one") });
      const second = await org.board(writeFile, { ...made, content: "zwei", description: "better" });
      assert.deepEqual(second, { id: made.id, version: 2, hash: sha256("zwei") });
      // Writing the same content again makes a new version too: it records that an agent confirmed the content.
      const third = await boss.call(writeFile, { ...second, content: "zwei" });
      assert.deepEqual([third.version, third.hash], [3, second.hash]);
      const now = await boss.call(readFile, { id: made.id });
      assert.deepEqual(
        [now.version, now.content, now.description, now.size, now.encoding, now.mediaType],
        [3, "zwei", "better", 4, "utf8", "text/markdown"],
      );
      const first = await boss.call(readVersion, { id: made.id, version: 1 });
      assert.deepEqual([first.version, first.content, first.hash, first.size], [1, "one", made.hash, 3]);
      await refusal(boss.call(readVersion, { id: made.id, version: 4 }), "not_found");
      const { versions } = await boss.call(viewHistory, { id: made.id });
      assert.deepEqual(
        versions.map(({ version, author }) => [version, author.kind, author.agentId, author.sessionId]),
        [
          [3, "agent", boss.id, null],
          [2, "board", null, null],
          [1, "agent", boss.id, session.id],
        ],
      );
    });

    test("history comes in pages, newest first, each version once", async () => {
      let file = await boss.call(createFile, { description: "long", content: "1" });
      for (let version = 2; version <= 8; version++)
        file = await boss.call(writeFile, { ...file, content: String(version) });
      const seen: number[] = [];
      let cursor: string | null | undefined;
      let pages = 0;
      for (; cursor !== null; pages++) {
        const page = await boss.call(viewHistory, {
          id: file.id,
          limit: 3,
          ...(cursor === undefined ? {} : { cursor }),
        });
        seen.push(...page.versions.map(({ version }) => version));
        cursor = page.nextCursor;
      }
      assert.deepEqual([seen, pages], [[8, 7, 6, 5, 4, 3, 2, 1], 3]);
    });

    // covers KB-02, KB-03, KB-04, KB-05, KB-06, KB-07, KB-16, KB-20
    test("the levels none, read and write each allow what they say, and without a right a file does not exist for the agent", async () => {
      const { companyId } = org;
      const file = await org.board(createFile, {
        companyId,
        description: "levelled",
        content: "secret words",
      });
      const sees = async () => ({
        browse: (await report.call(browseFiles, { query: "levelled" })).files.map(({ level }) => level),
        list: (await report.call(listFiles, { query: "levelled" })).files.map(({ level }) => level),
        search: (await report.call(searchFiles, { query: "secret" })).files.map(({ level }) => level),
      });
      const { id } = file;
      const reading = [
        () => report.call(readFile, { id }),
        () => report.call(readVersion, { id, version: 1 }),
        () => report.call(viewHistory, { id }),
        () => report.call(viewAccessLog, { id }),
        () => report.call(viewLinks, { id }),
      ];
      assert.deepEqual(await sees(), { browse: [], list: [], search: [] });
      for (const read of reading) await refusal(read(), "not_found");

      const give = (level: "none" | "read" | "write") =>
        org.board(grantPermission, { companyId, to: report.id, resource: `kb:${file.id}`, level });
      const none = await give("none");
      assert.deepEqual(await sees(), { browse: ["none"], list: [], search: [] });
      const [known] = (await report.call(browseFiles, { query: "levelled" })).files;
      assert.deepEqual([known?.id, known?.description], [file.id, "levelled"]);
      for (const read of reading) await refusal(read(), "forbidden");
      await refusal(report.call(writeFile, { ...file, content: "x" }), "forbidden");

      const read = await give("read");
      assert.deepEqual(await sees(), { browse: ["read"], list: ["read"], search: ["read"] });
      for (const read of reading) await read();
      await refusal(report.call(writeFile, { ...file, content: "x" }), "forbidden");
      await refusal(report.call(deleteFile, { id: file.id }), "forbidden");

      const write = await give("write");
      assert.deepEqual(await sees(), { browse: ["write"], list: ["write"], search: ["write"] });
      await report.call(writeFile, { ...file, content: "secret changed" });
      for (const { id } of [write, read, none]) await org.board(revokePermission, { id });
      assert.deepEqual(await sees(), { browse: [], list: [], search: [] });
      for (const read of reading) await refusal(read(), "not_found");
    });

    test("lists come in pages without a gap, and by kind", async () => {
      const agent = await org.agent("Lister");
      const made: string[] = [];
      for (let count = 0; count < 7; count++)
        made.push((await agent.call(createFile, { description: `listed ${count}`, content: "c" })).id);
      const all = async (operation: typeof listFiles | typeof browseFiles, order?: "newest") => {
        const seen: string[] = [];
        for (let cursor: string | null | undefined; cursor !== null;) {
          const page = await agent.call(operation, {
            query: "listed",
            ...(order && { order }),
            limit: 2,
            ...(cursor === undefined ? {} : { cursor }),
          });
          seen.push(...page.files.map(({ id }) => id));
          cursor = page.nextCursor;
        }
        return seen;
      };
      assert.deepEqual(await all(listFiles), made);
      assert.deepEqual(await all(listFiles, "newest"), made.toReversed());
      assert.deepEqual(await all(browseFiles), made);
      const kinds = async (kind: "file" | "state" | "outcome") =>
        (await agent.call(listFiles, { kind })).files.map((file) => file.kind);
      assert.deepEqual(await kinds("state"), ["state"]);
      assert.deepEqual(await kinds("outcome"), ["outcome"]);
      assert.equal((await kinds("file")).length, 7);
    });

    // covers KB-17, KB-18
    test("the access log tells who read and wrote which version, in which session", async () => {
      const file = await boss.call(createFile, { description: "logged", content: "1" });
      await boss.call(grantPermission, { to: report.id, resource: `kb:${file.id}` });
      const session = await org.session(report.id);
      await session.call(readFile, { id: file.id });
      const second = await boss.call(writeFile, { ...file, content: "2" });
      await report.call(readVersion, { id: file.id, version: 1 });
      await org.board(readFile, { id: file.id });
      const { accesses } = await boss.call(viewAccessLog, { id: file.id });
      assert.deepEqual(
        accesses.map(({ action, by, version }) => [action, by.agentId, by.sessionId, version]),
        [
          ["knowledge.read", null, null, second.version],
          ["knowledge.read_version", report.id, null, 1],
          ["knowledge.write", boss.id, null, 2],
          ["knowledge.read", report.id, session.id, 1],
          ["knowledge.create", boss.id, null, 1],
        ],
      );
      const page = await boss.call(viewAccessLog, { id: file.id, limit: 2 });
      const rest = await boss.call(viewAccessLog, { id: file.id, cursor: page.nextCursor ?? "" });
      assert.deepEqual([...page.accesses, ...rest.accesses], accesses);
    });

    test("a deleted file is gone for every agent, and its history stays for the board", async () => {
      const file = await boss.call(createFile, { description: "doomed", content: "kept words" });
      await boss.call(grantPermission, { to: report.id, resource: `kb:${file.id}` });
      const stranger = await org.agent("Outsider");
      await boss.call(deleteFile, { id: file.id, reason: "outdated" });
      for (const call of [boss.call, report.call, org.board])
        await refusal(call(readFile, { id: file.id }), "gone");
      await refusal(boss.call(writeFile, { ...file, content: "back" }), "gone");
      await refusal(boss.call(deleteFile, { id: file.id }), "gone");
      await refusal(boss.call(viewHistory, { id: file.id }), "gone");
      await refusal(report.call(readVersion, { id: file.id, version: 1 }), "gone");
      await refusal(stranger.call(readFile, { id: file.id }), "not_found");
      await refusal(boss.call(grantPermission, { to: report.id, resource: `kb:${file.id}` }), "not_found");
      for (const call of [boss.call, org.board]) {
        const { companyId } = org;
        assert.deepEqual((await call(listFiles, { companyId, query: "doomed" })).files, []);
        assert.deepEqual((await call(browseFiles, { companyId, query: "doomed" })).files, []);
        assert.deepEqual((await call(searchFiles, { companyId, query: "kept" })).files, []);
      }
      assert.equal((await org.board(viewHistory, { id: file.id })).versions.length, 1);
      assert.equal((await org.board(readVersion, { id: file.id, version: 1 })).content, "kept words");
      const { accesses } = await org.board(viewAccessLog, { id: file.id });
      assert.deepEqual(
        accesses.map(({ action }) => action),
        ["knowledge.read_version", "knowledge.delete", "knowledge.create"],
      );
    });

    // covers KB-01
    test("bytes are read back unchanged", async () => {
      const bytes = randomBytes(100_000);
      const file = await boss.call(createFile, {
        description: "bytes",
        content: bytes.toString("base64"),
        encoding: "base64",
        mediaType: "image/png",
      });
      assert.equal(file.hash, sha256(bytes));
      const read = await boss.call(readFile, { id: file.id });
      assert.deepEqual([read.encoding, read.size, read.mediaType], ["base64", bytes.byteLength, "image/png"]);
      assert.ok(Buffer.from(read.content, "base64").equals(bytes));
      const empty = await boss.call(createFile, { description: "empty", content: "" });
      assert.equal((await boss.call(readFile, { id: empty.id })).content, "");
    });

    test("a company's limit for file sizes is exact to the byte", async () => {
      const other = await org.another();
      await other.board(updateCompany, { companyId: other.companyId, maxFileBytes: 1000 });
      const create = (content: string, companyId: string) =>
        org.board(createFile, { companyId, description: "sized", content });
      const file = await create("x".repeat(1000), other.companyId);
      const { hint } = await refusal(create("x".repeat(1001), other.companyId), "too_large");
      assert.match(hint, /maxFileBytes/);
      await refusal(org.board(writeFile, { ...file, content: "é".repeat(501) }), "too_large");
      await create("x".repeat(1001), org.companyId);
    });

    test("an agent may write its state document, up to 32 kB, and no agent may delete it", async () => {
      const { stateFileId: id } = await org.board(viewAgent, { id: report.id });
      const { version, hash } = await report.call(readFile, { id });
      const saved = await report.call(writeFile, { id, version, hash, content: "s".repeat(32 * 1024) });
      const { hint } = await refusal(
        report.call(writeFile, { ...saved, content: "s".repeat(32 * 1024 + 1) }),
        "too_large",
      );
      assert.match(hint, /Keep what your next session needs/);
      await refusal(report.call(deleteFile, { id }), "refused");
      await refusal(org.board(deleteFile, { id }), "refused");
      // The agent's manager can read it, and nothing more.
      assert.equal((await boss.call(readFile, { id })).hash, saved.hash);
      await refusal(boss.call(writeFile, { ...saved, content: "x" }), "forbidden");
      const stranger = await org.agent("A stranger to the state document");
      await refusal(stranger.call(readFile, { id }), "not_found");
      await org.board(writeFile, { ...saved, content: "corrected by the board" });
    });
  });
