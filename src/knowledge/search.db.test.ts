import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { grantPermission, revokePermission } from "../contract/capabilities.ts";
import {
  browseFiles,
  createFile,
  deleteFile,
  listBrokenLinks,
  listFiles,
  searchFiles,
  viewAccessLog,
  viewLinks,
  writeFile,
} from "../contract/knowledge.ts";
import { type TestCaller, sharedOrganization, bothStores } from "../testing/organization.ts";

for (const kind of bothStores)
  describe(`search and links on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);
    const boss = await org.agent("Chief");
    const report = await org.agent("Report", boss.id);

    const search = async (call: TestCaller, query: string) =>
      (await call(searchFiles, { companyId: org.companyId, query })).files.map(({ id }) => id);
    const create = async (description: string, content: string) =>
      (await boss.call(createFile, { description, content })).id;

    test("finds words of every script in content and description, whatever their case or form", async () => {
      const id = await create(
        "Über die Straße",
        "Прибытие в МОСКВУ; arrive à l'été, cafe\u0301 ouvert, 東京都 に 着く, Ἀθῆναι, version 424242",
      );
      const found = [
        "москву",
        "МОСКВУ прибытие",
        "été",
        "e\u0301te\u0301",
        "CAFÉ",
        "東京",
        "straße",
        "über",
        "u\u0308ber",
        "424242",
        "прибы",
      ];
      for (const query of found) assert.deepEqual(await search(boss.call, query), [id], query);
      for (const query of ["москва", "大阪", "434343", "cafés", "straße nothing"])
        assert.deepEqual(await search(boss.call, query), [], query);
    });

    test("finds files of one kind, also if newer files of other kinds fill the page", async () => {
      const id = await create("Glossary", "Zinnober");
      const newer = await org.outcome("Zinnober");
      const found = async (only: { kind?: "file" | "outcome" | "skill" }) => {
        const { files, truncated } = await org.board(searchFiles, {
          companyId: org.companyId,
          query: "zinnober",
          limit: 1,
          ...only,
        });
        return [files.map((file) => file.id), truncated];
      };
      assert.deepEqual(await found({}), [[newer], true]);
      assert.deepEqual(await found({ kind: "file" }), [[id], false]);
      assert.deepEqual(await found({ kind: "outcome" }), [[newer], false]);
      assert.deepEqual(await found({ kind: "skill" }), [[], false]);
    });

    test("finds the words within addresses, paths, names and numbers", async () => {
      const id = await create(
        "reach_us",
        "Mail ada@lovelace.example or see https://docs.engine.test/guide/start.html, /usr/share/notes, well-known, minus -774411, v3.551299",
      );
      const words = [
        "lovelace",
        "docs",
        "engine",
        "guide",
        "start",
        "share",
        "notes",
        "known",
        "774411",
        "551299",
        "us",
      ];
      for (const query of words) assert.deepEqual(await search(boss.call, query), [id], query);
      assert.deepEqual(await search(boss.call, "ada@lovelace.example"), [id]);
      assert.deepEqual(await search(boss.call, "https://docs.engine.test/guide/start.html"), [id]);
      assert.deepEqual(
        (await boss.call(browseFiles, { query: "us" })).files.map((file) => file.id),
        [id],
      );
    });

    test("reads operators and quotes in a query as plain text", async () => {
      const id = await create("operators", "near or and not column description match");
      for (const query of [
        "NEAR(",
        "near OR and",
        '"near',
        "NOT near",
        "near*",
        "column:near",
        "^near",
        "description : near",
      ])
        assert.deepEqual(await search(boss.call, query), [id], query);
      for (const query of [
        'nothing" OR 1=1',
        "'; drop table files; --",
        "near & nothing",
        "nothing | near",
        "-near nothing",
      ])
        assert.deepEqual(await search(boss.call, query), [], query);
      for (const query of ["*", "'", '"', "()", "\\", "%", "_", "🚀", "&|!:*", "{}", "\u200b"]) {
        assert.deepEqual(await search(boss.call, query), [], query);
        assert.deepEqual((await boss.call(browseFiles, { query })).files, [], query);
        assert.deepEqual((await boss.call(listFiles, { query })).files, [], query);
      }
      assert.equal((await search(boss.call, "word ".repeat(100))).length, 0);
    });

    test("finds only what the searcher may read, and only the newest version", async () => {
      const file = await boss.call(createFile, { description: "hidden", content: "xylophone" });
      assert.deepEqual(await search(report.call, "xylophone"), []);
      assert.deepEqual(await search(report.call, "hidden"), []);
      const grant = await boss.call(grantPermission, { to: report.id, resource: `kb:${file.id}` });
      assert.deepEqual(await search(report.call, "xylophone"), [file.id]);
      assert.deepEqual(await search(org.board, "xylophone"), [file.id]);
      const other = await org.another();
      const theirs = await other.board(searchFiles, { companyId: other.companyId, query: "xylophone" });
      assert.deepEqual(theirs.files, []);
      await boss.call(writeFile, { ...file, content: "zither", description: "shown" });
      assert.deepEqual(await search(report.call, "xylophone"), []);
      assert.deepEqual(await search(report.call, "hidden"), []);
      assert.deepEqual(await search(report.call, "zither shown"), [file.id]);
      await boss.call(revokePermission, { id: grant.id });
      assert.deepEqual(await search(report.call, "zither"), []);
    });

    test("order and truncated don't depend on files that the searcher can't read, and excerpts are logged", async () => {
      const mine = await create("first of two", "walrus walrus walrus");
      const other = await create("second of two", `heron ${"and more ".repeat(20)}`);
      for (const id of [mine, other])
        await boss.call(grantPermission, { to: report.id, resource: `kb:${id}` });
      const ask = async () => report.call(searchFiles, { query: "of two" });
      const before = await ask();
      const elsewhere = await org.another();
      for (let count = 0; count < 30; count++) {
        await create(`of two ${count}`, "heron two of two");
        await elsewhere.root(createFile, { description: `of two ${count}`, content: "walrus of two" });
      }
      assert.deepEqual(await ask(), before);
      assert.equal(before.truncated, false);
      const first = await report.call(searchFiles, { query: "of two", limit: 1 });
      assert.deepEqual([first.files[0]?.id, first.truncated], [other, true]);
      const { accesses } = await report.call(viewAccessLog, { id: mine });
      assert.equal(accesses.filter(({ by }) => by.agentId === report.id).length, 2);
    });

    test("shows excerpts with the words, and at most as many files as asked for", async () => {
      for (let count = 0; count < 5; count++)
        await create(`many ${count}`, `plenty ${"of ".repeat(100)} words`);
      const { files } = await boss.call(searchFiles, { query: "plenty", limit: 3 });
      assert.equal(files.length, 3);
      for (const { excerpt } of files) assert.match(excerpt, /^plenty of .*…$/);
      const byDescription = await boss.call(searchFiles, { query: "many 4" });
      assert.deepEqual(
        byDescription.files.map(({ description }) => description),
        ["many 4"],
      );
    });

    // covers KB-26
    test("links are listed in both directions, and the board sees broken links", async () => {
      const nowhere = randomUUID();
      const target = await boss.call(createFile, { description: "target", content: "t" });
      const doomed = await boss.call(createFile, { description: "doomed", content: "d" });
      const content = `kb://${target.id} [again](kb://${target.id.toUpperCase()}) kb://${doomed.id} kb://${nowhere}`;
      const file = await boss.call(createFile, { description: "source", content });
      await boss.call(deleteFile, { id: doomed.id });
      const states = async (call: TestCaller) =>
        Object.fromEntries(
          (await call(viewLinks, { id: file.id })).links.map(({ id, state }) => [id, state]),
        );
      assert.deepEqual(await states(boss.call), {
        [target.id]: "live",
        [doomed.id]: "deleted",
        [nowhere]: "broken",
      });
      assert.deepEqual((await boss.call(viewLinks, { id: target.id })).backlinks, [
        { id: file.id, description: "source", state: "live" },
      ]);
      const broken = async () =>
        (await org.board(listBrokenLinks, { companyId: org.companyId })).links.map(
          ({ from, to, description, deleted }) => {
            assert.equal(description, "source");
            assert.equal(deleted, to === doomed.id ? "doomed" : null);
            return [from, to];
          },
        );
      assert.deepEqual(
        await broken(),
        [doomed.id, nowhere].toSorted().map((to) => [file.id, to]),
      );
      const page = await org.board(listBrokenLinks, { companyId: org.companyId, limit: 1 });
      const rest = await org.board(listBrokenLinks, {
        companyId: org.companyId,
        cursor: page.nextCursor ?? "",
      });
      assert.equal(page.links.length + rest.links.length, 2);

      // Only the links of the newest version count.
      await boss.call(writeFile, { ...file, content: `kb://${target.id}` });
      assert.deepEqual(await states(boss.call), { [target.id]: "live" });
      assert.deepEqual(await broken(), []);
    });

    test("a link does not reveal a file to an agent that may not know of it", async () => {
      const other = await org.another();
      const theirs = await other.board(createFile, {
        companyId: other.companyId,
        description: "theirs",
        content: "t",
      });
      const secret = await boss.call(createFile, { description: "secret", content: "s" });
      const shared = await boss.call(createFile, {
        description: "shared",
        content: `kb://${secret.id} kb://${theirs.id}`,
      });
      await boss.call(writeFile, { ...secret, content: `back to kb://${shared.id}` });
      await boss.call(grantPermission, { to: report.id, resource: `kb:${shared.id}` });
      const { links, backlinks } = await report.call(viewLinks, { id: shared.id });
      const unknown = { description: null, state: "broken" };
      assert.deepEqual(
        links,
        [secret.id, theirs.id].toSorted().map((id) => ({ id, ...unknown })),
      );
      assert.deepEqual(backlinks, []);
      const board = await org.board(viewLinks, { id: shared.id });
      assert.deepEqual(
        board.links.find(({ id }) => id === theirs.id),
        { id: theirs.id, ...unknown },
      );
      assert.equal(board.links.find(({ id }) => id === secret.id)?.description, "secret");
      assert.equal(board.backlinks[0]?.id, secret.id);
      const { links: nowhere } = await org.board(listBrokenLinks, { companyId: org.companyId });
      assert.deepEqual(nowhere, [{ from: shared.id, description: "shared", to: theirs.id, deleted: null }]);
    });
  });
