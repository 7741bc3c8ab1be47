import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { grantPermission, revokePermission } from "../contract/capabilities.ts";
import { viewConfiguration, createAgent } from "../contract/hiring.ts";
import { createFile, listFiles, readFile, viewLinks } from "../contract/knowledge.ts";
import { listEvents } from "../contract/ledger.ts";
import { updateCompany, viewCompany } from "../contract/companies.ts";
import { putMcpServer } from "../contract/servers.ts";
import { createKey, listAgents } from "../contract/agents.ts";
import { type CompanyFile, exportCompany, importCompany, listRoster } from "../contract/roster.ts";
import { listSkills, putSkill, removeSkill } from "../contract/skills.ts";
import { definition } from "../testing/company-files.ts";
import { refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`a company as files (${kind})`, async () => {
    const { org } = await sharedOrganization(kind, { approvals: true });

    const bring = (files: CompanyFile[], more: { name?: string; allowCommands?: boolean } = {}) =>
      org.board(importCompany, { files, ...more });

    // covers ORG-04, ORG-08
    test("definitions alone make a company: a root agent, and every other agent below the boss it names", async () => {
      const { company, agents, notices } = await bring(
        [
          definition("Ada", "reportsTo: Grace\nmodel: m1\neffort: low\n"),
          definition("Grace", "title: Head\n"),
        ],
        { name: "From files" },
      );
      assert.equal(agents, 3);
      assert.deepEqual(notices, []);
      const { agents: roster } = await org.board(listRoster, { companyId: company.id });
      assert.deepEqual(
        roster
          .map(
            ({ name, boss, model, effort, status }) =>
              `${name} < ${boss?.name ?? "board"} ${model ?? "-"} ${effort ?? "-"} ${status}`,
          )
          .toSorted(),
        ["Ada < Grace m1 low idle", "Grace < Root - - idle", "Root < board - - idle"],
      );
      const ada = roster.find(({ name }) => name === "Ada");
      const shown = await org.board(viewConfiguration, { id: ada?.id ?? "" });
      assert.equal(shown.configuration.mandate, "Do the work of Ada.");
      const { events } = await org.board(listEvents, { companyId: company.id });
      assert.deepEqual(
        events.map(({ operation, subject }) => [operation, roster.find(({ id }) => id === subject)?.name]),
        [
          ["agent.create", "Grace"],
          ["agent.create", "Ada"],
        ],
      );
    });

    test("an imported export produces the same files again, under other ids", async () => {
      const source = await org.another();
      const { companyId, board } = source;
      await board(updateCompany, {
        companyId,
        maxSessions: 7,
        name: "Source",
        requireBoardApprovalForNewAgents: false,
      });
      await board(putMcpServer, {
        companyId,
        name: "wiki",
        config: { type: "http", url: "https://wiki.example/mcp" },
      });
      const grace = await source.agent("Grace");
      const ada = await source.agent("Ada", grace.id);
      const style = await board(createFile, {
        companyId,
        description: "House style: short!",
        content: "Short.",
      });
      const image = await board(createFile, {
        companyId,
        description: "画像",
        mediaType: "image/png",
        content: Buffer.from([0x89, 0x50, 0xff, 0x00]).toString("base64"),
        encoding: "base64",
      });
      const own = await grace.call(createFile, {
        description: "Grace's notes",
        content: `See kb://${style.id} and kb://${ada.id}.`,
      });
      const guide = await board(createAgent, {
        companyId,
        name: 'Guide: the "1st"',
        role: "guide",
        mandate: `Keep to kb://${style.id.toUpperCase()} and kb://${own.id}.\n\nAsk kb://${grace.id}.`,
        prompt: `Read kb://${image.id} first.`,
        grants: [{ resource: `kb:${style.id}`, level: "write" }, { resource: `mail:${ada.id}` }],
      });
      const gone = await board(grantPermission, { companyId, to: ada.id, resource: `kb:${image.id}` });
      await board(revokePermission, { id: gone.id });

      const first = await board(exportCompany, { companyId });
      assert.deepEqual(first.redacted, []);
      assert.deepEqual(
        first.files.map(({ path }) => path),
        [
          "company.json",
          "agents/ada.md",
          "agents/grace.md",
          "agents/guide-the-1st.md",
          "agents/root.md",
          "knowledge/0001-house-style-short.md",
          "knowledge/0002.png",
          "knowledge/0003-grace-s-notes.md",
        ],
      );
      const written = JSON.stringify(first.files);
      for (const id of [companyId, grace.id, ada.id, guide.id, style.id, image.id, own.id])
        assert.ok(!written.toLowerCase().includes(id), `an id of this place is in the files: ${id}`);

      const made = await bring(first.files);
      assert.deepEqual(
        [made.company.name, made.agents, made.files, made.notices],
        ["Source", 4, 3, ["In this company, agents can hire without your approval."]],
      );
      const second = await board(exportCompany, { companyId: made.company.id });
      assert.deepEqual(second, first);
      // The new company also allows the same calls as the original.
      const there = await board(viewCompany, { companyId: made.company.id });
      assert.equal(there.settings.maxSessions, 7);
      const { agents } = await board(listAgents, { companyId: made.company.id });
      const idOf = (name: string): string => agents.find((agent) => agent.name === name)?.id ?? "";
      const copy = await board(viewConfiguration, { id: idOf('Guide: the "1st"') });
      const files = (await board(listFiles, { companyId: made.company.id, kind: "file" })).files;
      const fileOf = (part: string): string =>
        files.find(({ description }) => description.includes(part))?.id ?? "";
      assert.equal(
        copy.configuration.mandate,
        `Keep to kb://${fileOf("House")} and kb://${fileOf("notes")}.\n\nAsk kb://${idOf("Grace")}.`,
      );
      assert.deepEqual(copy.configuration.grants, [
        { resource: `kb:${fileOf("House")}`, level: "write" },
        { resource: `mail:${idOf("Ada")}`, level: "send" },
      ]);
      const { links } = await board(viewLinks, { id: fileOf("notes") });
      assert.deepEqual(links.map(({ id }) => id).toSorted(), [fileOf("House"), idOf("Ada")].toSorted());
      assert.equal(
        (await board(readFile, { id: fileOf("画像") })).content,
        Buffer.from([0x89, 0x50, 0xff, 0x00]).toString("base64"),
      );
      // Her files belong to her in the new company too, and the right taken from Ada stays taken.
      const asGrace = org.as((await board(createKey, { id: idOf("Grace") })).key);
      assert.match((await asGrace(readFile, { id: fileOf("notes") })).content, /See kb/);
      const asAda = org.as((await board(createKey, { id: idOf("Ada") })).key);
      await refusal(asAda(readFile, { id: fileOf("画像") }), "not_found");
    });

    test("skills and references to them are exported and imported", async () => {
      const source = await org.another();
      const { companyId, board } = source;
      const notes = await board(createFile, { companyId, description: "Notes", content: "n" });
      const put = (name: string, files: CompanyFile[]) => board(putSkill, { companyId, name, files });
      const main = (description: string, body: string): CompanyFile => ({
        path: "SKILL.md",
        content: `---\ndescription: ${description}\n---\n${body}\n`,
      });
      const logo = { path: "logo.png", content: "iVD/AA==", encoding: "base64" as const };
      const deep = { path: "references/deep/more.md", content: "More." };
      await put("write", [main("Writing", `Read kb://${notes.id}.`), logo]);
      const review = await put("review", [main("Reviewing", "Twice."), deep]);
      await put("gone", [main("Gone", "x")]);
      await board(removeSkill, { companyId, name: "gone" });
      const idOf = (path: string): string => review.files.find((file) => file.path === path)?.id ?? "";
      await board(createAgent, {
        companyId,
        name: "Ann",
        role: "reviewer",
        mandate: `Follow kb://${idOf("references/deep/more.md")}.`,
      });

      const first = await board(exportCompany, { companyId });
      const paths = first.files.map(({ path }) => path).filter((path) => path.startsWith("skills/"));
      assert.deepEqual(paths, [
        "skills/review/SKILL.md",
        "skills/review/references/deep/more.md",
        "skills/write/SKILL.md",
        "skills/write/logo.png",
      ]);
      const { skills } = Object(JSON.parse(first.files[0]?.content ?? ""));
      assert.deepEqual(
        skills.map(({ file }: { file: string }) => file),
        ["review/references/deep/more.md"],
      );
      const { company } = await bring(first.files);
      assert.deepEqual(await board(exportCompany, { companyId: company.id }), first);
      const there = (await board(listSkills, { companyId: company.id })).skills;
      assert.deepEqual(
        there.map(({ name, description }) => `${name}: ${description}`),
        ["review: Reviewing", "write: Writing"],
      );
      const moreId = there[0]?.files[1]?.id ?? "";
      const { agents } = await board(listAgents, { companyId: company.id });
      const ann = await board(viewConfiguration, { id: agents.find(({ name }) => name === "Ann")?.id ?? "" });
      assert.equal(ann.configuration.mandate, `Follow kb://${moreId}.`);
      assert.equal((await board(readFile, { id: moreId })).content, "More.");
      assert.equal(
        (await board(readFile, { id: there[1]?.files[1]?.id ?? "" })).content,
        Buffer.from([0x89, 0x50, 0xff, 0x00]).toString("base64"),
      );
      assert.match(
        (await board(readFile, { id: there[1]?.files[0]?.id ?? "" })).content,
        /Read kb:\/\/[0-9a-f-]{36}/,
      );
      const { links } = await board(viewLinks, { id: there[1]?.files[0]?.id ?? "" });
      const [copied] = (await board(listFiles, { companyId: company.id, kind: "file" })).files;
      assert.deepEqual(
        links.map(({ id }) => id),
        [copied?.id],
      );
    });

    test("a folder of shared skills is enough for an import", async () => {
      const content = "---\nname: tidy\ndescription: Tidies: twice a day\nlicense: MIT\n---\nTidy.\n";
      const { company, agents } = await bring([{ path: "skills/tidy/SKILL.md", content }], { name: "Tidy" });
      assert.equal(agents, 1);
      const { skills } = await org.board(listSkills, { companyId: company.id });
      assert.deepEqual(
        skills.map(({ description }) => description),
        ["Tidies: twice a day"],
      );
    });

    test("secrets are not exported but named, and an imported agent without its secret waits", async () => {
      const source = await org.another();
      const { companyId, board } = source;
      const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF";
      await board(createAgent, {
        companyId,
        name: "Runner",
        role: "runner",
        adapterType: "process",
        adapterConfig: { command: "run-me", env: { API_KEY: secret } },
        mandate: `Log in with ${secret}.`,
      });
      await board(createFile, { companyId, description: "Notes", content: `The key is ${secret}.` });
      const login = [{ path: "SKILL.md", content: `Log in with ${secret}.` }];
      await board(putSkill, { companyId, name: "login", files: login });
      const exported = await board(exportCompany, { companyId });
      assert.ok(!JSON.stringify(exported).includes(secret));
      assert.deepEqual(exported.redacted, [
        "knowledge/0001-notes.md",
        "skills/login/SKILL.md",
        "agents/runner.md: adapterConfig.env.API_KEY",
        "agents/runner.md: mandate",
      ]);
      const made = await bring(exported.files, { allowCommands: true });
      assert.match(made.notices.join("\n"), /Runner is paused because a secret was removed/);
      const { agents } = await board(listAgents, { companyId: made.company.id });
      assert.deepEqual(agents.map(({ name, status }) => `${name} ${status}`).toSorted(), [
        "Root idle",
        "Runner paused",
      ]);
      assert.deepEqual((await board(exportCompany, { companyId: made.company.id })).files, exported.files);
    });

    test("a company without a name is refused, and only the board imports or exports", async () => {
      await refusal(bring([definition("Ada")]), "invalid");
      await refusal(org.root(importCompany, { name: "Mine", files: [definition("Ada")] }), "forbidden");
      await refusal(org.root(exportCompany, {}), "forbidden");
    });

    test("an id in the files stands for a new thing or for nothing, never for an existing thing", async () => {
      const { id } = await org.agent("Known here");
      const file = await org.board(createFile, { companyId: org.companyId, description: "F", content: "f" });
      for (const resource of [`mail:${id}`, `kb:${file.id}`, `outcome:${id}`]) {
        const no = await refusal(
          bring([definition("Eve", `grants: [{resource: "${resource}"}]\n`)], { name: "Reaching" }),
          "invalid",
        );
        assert.match(no.message, /agents\/eve\.md: There is no/);
      }
      const taken = await bring([definition("Eve", `id: ${id}\n`)], { name: "Taking" });
      const { agents } = await org.board(listAgents, { companyId: taken.company.id });
      assert.ok(!agents.some((agent) => agent.id === id));
    });

    test("rights that a manager granted are exported; rights whose chain is broken stay invalid after the import", async () => {
      const source = await org.another();
      const { board, companyId } = source;
      const boss = await source.agent("Chief");
      const low = await source.agent("Low", boss.id);
      const file = await board(createFile, { companyId, description: "F", content: "f" });
      const held = await board(grantPermission, { companyId, to: boss.id, resource: `kb:${file.id}` });
      await boss.call(grantPermission, { to: low.id, resource: `kb:${file.id}` });
      const lowFile = async () =>
        (await board(exportCompany, { companyId })).files.find(({ path }) => path === "agents/low.md")
          ?.content ?? "";
      assert.match(await lowFile(), /kb:00000000-0000-4000-8000-000000000001/);
      await board(revokePermission, { id: held.id });
      assert.doesNotMatch(await lowFile(), /kb:/);
    });
  });
