import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { explainAccess, grantPermission } from "../contract/capabilities.ts";
import {
  deleteFile,
  listFiles,
  readFile,
  readVersion,
  searchFiles,
  viewAccessLog,
  viewHistory,
  writeFile,
} from "../contract/knowledge.ts";
import { listSkills, mostSkillBytes, mostSkillFiles, putSkill, removeSkill } from "../contract/skills.ts";
import { noRight, ranks } from "../contract/resources.ts";
import { structuralRank } from "../capabilities/structure.ts";
import { refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";
import { onStage } from "../testing/stage.ts";
import { acknowledgeMessage, readInbox, sendMessage } from "../contract/mail.ts";

const main = (text: string) => ({
  path: "SKILL.md",
  content: `---\ndescription: Reviewing with care\n---\n${text}\n`,
});

for (const kind of storeKinds)
  describe(`a company's skills (${kind})`, async () => {
    const { org, store } = await sharedOrganization(kind);

    test("the board adds a skill; every agent of the company reads it as knowledge, and none changes it there", async () => {
      const { companyId, board } = org;
      const ann = await org.agent("Ann");
      const files = [main("Review twice."), { path: "references/list.md", content: "A checklist." }];
      const skill = await board(putSkill, { companyId, name: "review", files });
      assert.deepEqual(
        [skill.name, skill.description, skill.files.map(({ path, version }) => `${path} ${version}`)],
        ["review", "Reviewing with care", ["SKILL.md 1", "references/list.md 1"]],
      );
      assert.deepEqual((await ann.call(listSkills, {})).skills, [skill]);
      const [first] = skill.files;
      const id = first?.id ?? "";
      assert.match((await ann.call(readFile, { id })).content, /Review twice/);
      const listed = (await ann.call(listFiles, { kind: "skill" })).files;
      assert.deepEqual(
        listed.map((file) => `${file.id} ${file.level} ${file.kind}`).toSorted(),
        skill.files.map((file) => `${file.id} read skill`).toSorted(),
      );
      assert.deepEqual(
        (await ann.call(searchFiles, { query: "checklist" })).files.map((file) => file.id),
        [skill.files[1]?.id],
      );
      assert.equal((await ann.call(explainAccess, { resource: `kb:${id}`, level: "read" })).allowed, true);

      const { version, hash } = await ann.call(readFile, { id });
      await board(grantPermission, { companyId, to: ann.id, resource: `kb:${id}`, level: "write" });
      for (const call of [ann.call, board]) {
        const no = await refusal(call(writeFile, { id, content: "Do as I say.", version, hash }), "refused");
        assert.match(no.hint, /skills add/);
        await refusal(call(deleteFile, { id }), "refused");
      }
      await refusal(ann.call(putSkill, { name: "review", files }), "forbidden");
      await refusal(ann.call(removeSkill, { name: "review" }), "forbidden");
    });

    test("a skill that is added again gets new versions of changed files and loses removed ones; history stays", async () => {
      const { companyId, board } = await org.another();
      const put = (...files: { path: string; content: string }[]) =>
        board(putSkill, { companyId, name: "deploy", files });
      const before = await put(main("One."), { path: "a.md", content: "a" }, { path: "b.md", content: "b" });
      const now = await put(main("Two."), { path: "b.md", content: "b" }, { path: "c.md", content: "c" });
      assert.deepEqual(
        now.files.map(({ path, version }) => `${path} ${version}`),
        ["SKILL.md 2", "b.md 1", "c.md 1"],
      );
      const idOf = (path: string): string => before.files.find((file) => file.path === path)?.id ?? "";
      assert.equal(now.files[0]?.id, idOf("SKILL.md"));
      assert.equal((await board(viewHistory, { id: idOf("SKILL.md") })).versions.length, 2);
      await refusal(board(readFile, { id: idOf("a.md") }), "gone");
      assert.equal((await board(readVersion, { id: idOf("a.md"), version: 1 })).content, "a");

      await board(removeSkill, { companyId, name: "deploy" });
      assert.deepEqual((await board(listSkills, { companyId })).skills, []);
      await refusal(board(removeSkill, { companyId, name: "deploy" }), "not_found");
      const again = await put(main("Three."));
      assert.notEqual(again.files[0]?.id, idOf("SKILL.md"), "a removed file does not come to life again");
    });

    test("an agent of another company can't read a skill, even by its id", async () => {
      const { companyId, board } = org;
      const { files } = await board(putSkill, { companyId, name: "own", files: [main("Ours.")] });
      const other = await org.another();
      const stranger = await other.agent("Stranger");
      const id = files[0]?.id ?? "";
      await refusal(stranger.call(readFile, { id }), "not_found");
      assert.deepEqual((await stranger.call(listSkills, {})).skills, []);
      assert.deepEqual((await stranger.call(listFiles, { kind: "skill" })).files, []);
      const rank = (agentId: string) => store.read((tx) => structuralRank(tx, agentId, `kb:${id}`));
      assert.deepEqual([await rank(stranger.id), await rank(org.rootId)], [noRight, ranks.read]);
    });

    test("a skill that runs a command is accepted only if the board allows it", async () => {
      const { companyId, board } = org;
      const files = [main("See !`whoami`.")];
      const no = await refusal(board(putSkill, { companyId, name: "armed", files }), "refused");
      assert.match(no.message, /skills\/armed\/SKILL\.md runs "whoami"/);
      assert.match(no.hint, /allowCommands/);
      await board(putSkill, { companyId, name: "armed", files, allowCommands: true });
    });

    test("all skills together stay small enough for every session", async () => {
      const { companyId, board } = await org.another();
      const half = "x".repeat(mostSkillBytes / 2);
      await board(putSkill, { companyId, name: "one", files: [main(""), { path: "a", content: half }] });
      const second = { companyId, name: "two", files: [main(""), { path: "a", content: half }] };
      await refusal(board(putSkill, second), "too_large");
      // As a new version of the first skill, it fits.
      await board(putSkill, { ...second, name: "one" });
      const many = Array.from({ length: mostSkillFiles - 1 }, (_, n) => ({ path: `${n}`, content: "" }));
      const no = await refusal(
        board(putSkill, { companyId, name: "many", files: [main(""), ...many] }),
        "too_large",
      );
      assert.match(no.message, /202 files/);
    });

    test("each session gets the present skills, and the record shows that it read them", () =>
      onStage(kind, async ({ org: own, runner, ...stage }) => {
        const { companyId, board } = own;
        const ann = await own.agent("Ann");
        const seen: string[][] = [];
        const note = (skills: readonly { path: string; content: Uint8Array }[]): void => {
          seen.push(
            skills.map(({ path, content }) => `${path} ${Buffer.from(content).toString("utf8").length}`),
          );
        };
        const files = [main("1"), { path: "more.md", content: "12345" }];
        const skill = await board(putSkill, { companyId, name: "review", files });
        for (const _ of [1, 2])
          runner.plan(ann.id, async ({ skills, call }) => {
            note(skills);
            for (const { id } of (await call(readInbox, {})).messages) await call(acknowledgeMessage, { id });
          });
        await board(sendMessage, { companyId, to: ann.id, body: "begin" });
        await stage.rest();
        await board(removeSkill, { companyId, name: "review" });
        await board(sendMessage, { companyId, to: ann.id, body: "again" });
        await stage.rest();
        assert.deepEqual(seen, [[`review/SKILL.md ${main("1").content.length}`, "review/more.md 5"], []]);
        const { accesses } = await board(viewAccessLog, { id: skill.files[1]?.id ?? "" });
        assert.deepEqual(
          accesses.filter(({ action }) => action === "knowledge.read").map(({ by }) => by.agentId),
          [ann.id],
        );
      }));
  });
