import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { grantPermission } from "../contract/capabilities.ts";
import { createFile, deleteFile, searchFiles, viewAccessLog, writeFile } from "../contract/knowledge.ts";
import { sendMessage } from "../contract/mail.ts";
import { closeOutcome, createOutcome, submitOutcome } from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { bothStores, sharedOrganization, type TestCaller } from "../testing/organization.ts";

for (const kind of bothStores)
  describe(`search in versions that were delivered or sent, on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);
    let teams = 0;
    /** A manager and two reports. */
    async function team() {
      const number = ++teams;
      const boss = await org.agent(`Boss ${number}`);
      return {
        boss,
        ann: await org.agent(`Ann ${number}`, boss.id),
        bob: await org.agent(`Bob ${number}`, boss.id),
      };
    }
    const search = async (call: TestCaller, query: string, limit = 20) => call(searchFiles, { query, limit });
    const ids = async (call: TestCaller, query: string) =>
      (await search(call, query)).files.filter((file) => file.kind === "file").map(({ id }) => id);

    test("an enclosed version is found by its words, and later versions neither add nor remove anything", async () => {
      const { boss, ann, bob } = await team();
      const file = await ann.call(createFile, {
        description: "Marmot report",
        content: "The ocelot sleeps in the été.",
      });
      for (const query of ["ocelot", "marmot", "marmot ocelot"])
        assert.deepEqual(await ids(boss.call, query), []);
      await ann.call(sendMessage, { to: "boss", body: "See this.", files: [file.id] });
      const seen = await search(boss.call, "marmot ocel");
      assert.deepEqual(
        seen.files.map(({ id, version, pinned, excerpt }) => [id, version, pinned, excerpt]),
        [[file.id, 1, true, "The ocelot sleeps in the été."]],
      );
      const queries = ["marmot", "ocelot", "été", "ete", "capybara", "the", "marmot capybara", "sleeps"];
      const all = () => Promise.all(queries.map((query) => search(boss.call, query)));
      const before = await all();
      const second = await ann.call(writeFile, {
        ...file,
        content: "Only the capybara, sleeps a lot.",
        description: "Capybara report",
      });
      assert.deepEqual(await all(), before);
      await ann.call(writeFile, { ...second, content: "the été ".repeat(1000) });
      assert.deepEqual(await all(), before);
      assert.deepEqual(await ids(ann.call, "capybara"), [file.id]);
      assert.deepEqual(await ids(bob.call, "marmot"), []);
      const { accesses } = await ann.call(viewAccessLog, { id: file.id });
      assert.ok(accesses.some(({ by, version }) => by.agentId === boss.id && version === 1));
    });

    test("a delivered version is found by the verifier until the outcome is closed or the file deleted", async () => {
      const { boss, ann, bob } = await team();
      const works = [];
      for (const word of ["axolotl", "quokka"]) {
        const { id } = await boss.call(createOutcome, { title: "work", parents: [boss.id] });
        await boss.call(delegateOutcome, { id, to: ann.id });
        const file = await ann.call(createFile, {
          description: `${word} study`,
          content: `all about ${word}`,
        });
        await ann.call(submitOutcome, { id, files: [file.id] });
        works.push({ id, file: file.id, word });
      }
      for (const { file, word } of works) {
        assert.deepEqual(await ids(boss.call, word), [file]);
        assert.deepEqual(await ids(bob.call, word), []);
      }
      const [one, two] = works;
      await boss.call(closeOutcome, { id: one?.id ?? "", rationale: "no" });
      await ann.call(deleteFile, { id: two?.file ?? "" });
      for (const { word } of works) assert.deepEqual(await ids(boss.call, word), []);
    });

    test("the order and `truncated` don't depend on files that the searcher can't see", async () => {
      const { boss, ann, bob } = await team();
      const make = async (description: string, content: string) =>
        (await ann.call(createFile, { description, content })).id;
      const [sent, lent, named] = [
        await make("sent", "walrus one"),
        await make("lent", "walrus two"),
        await make("walrus", "three"),
      ];
      for (const id of [sent, named]) await ann.call(sendMessage, { to: "boss", body: "x", files: [id] });
      await org.board(grantPermission, { companyId: org.companyId, to: boss.id, resource: `kb:${lent}` });
      // The order does not depend on a description that only the index has, or on hidden files in between.
      const ask = (limit: number) => search(boss.call, "walrus", limit);
      const whole = await ask(20);
      assert.deepEqual([whole.files.map(({ id }) => id), whole.truncated], [[named, lent, sent], false]);
      const two = await ask(2);
      assert.deepEqual([two.files.map(({ id }) => id), two.truncated], [[named, lent], true]);
      for (let count = 0; count < 30; count++) {
        const id = await make(`walrus ${count}`, "walrus");
        await bob.call(createFile, { description: "walrus", content: id });
      }
      assert.deepEqual(await ask(20), whole);
    });
  });
