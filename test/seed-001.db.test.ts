// The requirements of the first design document that no other test covers. The command line shows all of them.
import { plantRepo } from "../src/testing/repos.ts";
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { run } from "../src/cli/run.ts";
import { createClient } from "../src/client/client.ts";
import { grantPermission, listPermissions } from "../src/contract/capabilities.ts";
import { createFile, readFile } from "../src/contract/knowledge.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { createCompany, updateCompany, viewCompany } from "../src/contract/companies.ts";
import { putMcpServer } from "../src/contract/servers.ts";
import { createKey, listAgents, terminateAgent, viewAgent } from "../src/contract/agents.ts";
import {
  closeOutcome,
  completeOutcome,
  createOutcome,
  listOutcomes,
  myOutcomes,
  updateOutcome,
  viewOutcome,
} from "../src/contract/outcomes.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { startDaemon } from "../src/daemon/daemon.ts";
import { type Organization, refusal, sharedOrganization, storeKinds } from "../src/testing/organization.ts";

for (const kind of storeKinds)
  describe(`the first design on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);

    // covers ROOT-01, ROOT-02, OUT-01
    test("a new company has one ordinary agent and one perpetual outcome, which never completes", async () => {
      const company = await org.board(createCompany, { name: "Fresh" });
      const { outcomes } = await org.board(listOutcomes, { companyId: company.id });
      assert.deepEqual(
        outcomes.map((outcome) => [outcome.id, outcome.kind, outcome.status, outcome.responsible?.id]),
        [[company.rootOutcomeId, "perpetual", "open", company.rootAgentId]],
      );
      const { agents } = await org.board(listAgents, { companyId: company.id });
      assert.deepEqual(
        agents.map(({ id, boss, status, mandateId }) => [id, boss, status, mandateId]),
        [[company.rootAgentId, null, "idle", company.rootOutcomeId]],
      );
      for (const end of [
        () => org.board(completeOutcome, { id: company.rootOutcomeId }),
        () => org.board(closeOutcome, { id: company.rootOutcomeId, rationale: "enough" }),
        () => org.board(terminateAgent, { id: company.rootAgentId }),
      ])
        await refusal(end(), "refused");
      const { key } = await org.board(createKey, { id: company.rootAgentId });
      await refusal(org.as(key)(completeOutcome, { id: company.rootOutcomeId }), "forbidden");
    });

    // covers OUT-07, OUT-09, OUT-21, OUT-05, OUT-08
    test("outcomes form a graph of any depth with one owner each, and agents form a tree with one boss each", async () => {
      const ann = await org.agent("Ann");
      const ben = await org.agent("Ben", ann.id);
      let parent = ann.id;
      for (let depth = 0; depth < 30; depth++) {
        const made = await ann.call(createOutcome, { title: `depth ${depth}`, parents: [parent] });
        assert.equal(made.responsible?.id, ann.id);
        parent = made.id;
      }
      const first = await ann.call(createOutcome, { title: "first why", parents: [ann.id] });
      const second = await ann.call(createOutcome, { title: "second why", parents: [ann.id] });
      const shared = await ann.call(createOutcome, {
        title: "means to both",
        parents: [first.id, second.id],
      });
      // The outcome has two parents. It still has one owner after it is delegated.
      const handed = await ann.call(delegateOutcome, { id: shared.id, to: ben.id });
      assert.deepEqual([handed.parents.length, handed.responsible?.id], [2, ben.id]);
      assert.equal((await org.board(viewAgent, { id: ben.id })).boss?.id, ann.id);
      const { history } = await ben.call(viewOutcome, { id: shared.id });
      assert.deepEqual(
        history.map(({ action, by }) => [action, by.agentId]),
        [
          ["outcome.delegate", ann.id],
          ["outcome.create", ann.id],
        ],
      );
    });

    // covers OUT-15, OUT-12, OUT-13, OUT-14
    test("history names agent and session, and only readers of the outcome see it", async () => {
      const boss = await org.agent("Historian");
      const worker = await org.agent("Maker", boss.id);
      const stranger = await org.agent("Stranger");
      const session = await org.session(worker.id);
      const { id } = await session.call(createOutcome, { title: "on record", parents: [worker.id] });
      await session.call(updateOutcome, { id, description: "more" });
      await worker.call(completeOutcome, { id, note: "it is done" });
      for (const reader of [worker.call, boss.call, org.board]) {
        const { history } = await reader(viewOutcome, { id });
        assert.deepEqual(
          history.map(({ action, by, why }) => [action, by.agentId, by.sessionId, why]),
          [
            ["outcome.complete", worker.id, null, "it is done"],
            ["outcome.update", worker.id, session.id, null],
            ["outcome.create", worker.id, session.id, null],
          ],
        );
        assert.ok(history.every(({ at }) => !Number.isNaN(Date.parse(at))));
      }
      await refusal(stranger.call(viewOutcome, { id }), "not_found");
    });

    // covers CAP-04, CAP-23, AGT-01, CAP-06
    test("each right covers one resource, and an agent keeps its rights, inbox and work across sessions", async () => {
      const { companyId } = org;
      const ann = await org.agent("Durable");
      const peer = await org.agent("Peer");
      const file = await org.board(createFile, { companyId, description: "a file", content: "x" });
      const outcome = await org.outcome("an outcome");
      await org.board(putMcpServer, { companyId, name: "chat", config: { command: "chat-mcp" } });
      await plantRepo(org.core.store, companyId, "site");
      const resources = [
        `kb:${file.id}`,
        `outcome:${outcome}`,
        `mail:${peer.id}`,
        "mcp:chat",
        "repo:site",
        "org:hire",
      ];
      for (const resource of resources) await org.board(grantPermission, { companyId, to: ann.id, resource });
      const { grants } = await ann.call(listPermissions, {});
      assert.deepEqual(grants.map(({ resource }) => resource).toSorted(), resources.toSorted());
      await ann.call(readFile, { id: file.id });
      await ann.call(viewOutcome, { id: outcome });
      await ann.call(sendMessage, { to: peer.id, body: "by a route of its own" });
      await ann.call(createOutcome, { title: "a responsibility", parents: [ann.id] });
      // Sessions come and go; the agent, its rights and its work stay.
      for (let count = 0; count < 3; count++) {
        const session = await org.session(ann.id);
        assert.equal((await session.call(listPermissions, {})).grants.length, resources.length);
        assert.equal((await session.call(myOutcomes, { status: "open" })).outcomes.length, 3);
      }
      await org.board(terminateAgent, { id: ann.id });
      await refusal(ann.call(listPermissions, {}), "unauthenticated");
    });

    // covers KB-12
    test("many agents can read a file while another agent writes it", async () => {
      const author = await org.agent("Author");
      const file = await author.call(createFile, { description: "popular", content: "v1" });
      const readers: Awaited<ReturnType<Organization["agent"]>>[] = [];
      for (let index = 0; index < 5; index++) {
        const reader = await org.agent(`Reader ${index}`, author.id);
        await author.call(grantPermission, { to: reader.id, resource: `kb:${file.id}` });
        readers.push(reader);
      }
      const contents = await Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const reader = readers[index % readers.length];
          assert.ok(reader !== undefined);
          return (await reader.call(readFile, { id: file.id })).content;
        }),
      );
      assert.deepEqual(new Set(contents), new Set(["v1"]));
      assert.equal(contents.length, 40);
    });
  });

if (storeKinds.includes("sqlite"))
  describe("the board's command line", () => {
    // covers CLI-01, CLI-02, CLI-03
    test("shows inbox, agents, outcomes, sessions, rights and the record, and sends messages to any agent", async () => {
      const folder = mkdtempSync(join(tmpdir(), "agency-window-"));
      const env = { AGENCY_HOME: join(folder, "home"), PATH: "" };
      const daemon = await startDaemon({ home: env.AGENCY_HOME, port: 0, log: () => undefined });
      const agency = async (...args: string[]): Promise<string> => {
        const lines: string[] = [];
        const say = (text: string): void => void lines.push(text);
        const code = await run(args, env, { out: say, err: say, readStdin: async () => Buffer.alloc(0) });
        assert.equal(code, 0, `agency ${args.join(" ")}: ${lines.join("\n")}`);
        return lines.join("\n");
      };
      try {
        const board = createClient(daemon);
        const { id: companyId } = await board.call(createCompany, { name: "Window" });
        await board.call(updateCompany, { companyId, maxSessions: 0 });
        const { rootAgentId } = await board.call(viewCompany, { companyId });
        const { key } = await board.call(createKey, { id: rootAgentId });
        const root = createClient({ url: daemon.url, token: key });
        await agency("agents", "create", "Deep Thought", "--role", "Thinker");
        const deep = (await board.call(listAgents, { companyId })).agents.find(
          ({ name }) => name === "Deep Thought",
        );
        assert.ok(deep !== undefined);

        // The board's own mail, and messages to any agent.
        await agency("send", "Build a bridge");
        await agency("send", "Think about it", "--to", deep.slug);
        await root.call(sendMessage, { companyId, to: "board", body: "Which river?" });
        assert.match(await agency("inbox"), /Which river\?/);
        assert.match(await agency("agents", "inbox", deep.id), /Think about it/);
        const { messages } = JSON.parse(await agency("inbox", "--json"));
        await agency("mail", "acknowledge", messages[0].id, "The wide one");
        assert.match(await agency("inbox"), /No message waits for you/);

        // The views of the organization.
        const made = await root.call(createOutcome, { companyId, title: "A bridge", parents: [rootAgentId] });
        assert.match(await agency("agents", "list"), /Deep Thought .*Thinker .*idle/);
        assert.match(await agency("agents", "view", deep.id), /Manager +Root/);
        assert.match(await agency("outcomes", "list"), /A bridge/);
        assert.match(await agency("outcomes", "view", made.id), /A bridge/);
        assert.match(await agency("tree"), /A bridge \[open\] Root/);
        assert.match(await agency("agents", "outcomes", deep.id), /Process inbox/);
        assert.match(await agency("sessions", "list"), /No sessions/);
        assert.match(await agency("agents", "sessions", deep.id), /No sessions/);
        assert.match(await agency("access", "list", rootAgentId), /org:hire/);
        assert.match(await agency("audit", "events"), /mail\.send/);
        assert.match(await agency("audit", "agent", deep.id), /mail\.deliver/);
        assert.match(await agency("audit", "verify"), /events verified/);
        assert.match(await agency("why", made.id), /Root/);
      } finally {
        await daemon.stop();
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });
