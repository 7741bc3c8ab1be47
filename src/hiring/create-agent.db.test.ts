import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  approve,
  cancelApproval,
  listApprovals,
  reject,
  requestApproval,
  requestRevision,
  resubmit,
  viewApproval,
} from "../contract/approvals.ts";
import { hireAgent, createAgent } from "../contract/hiring.ts";
import { explainAccess } from "../contract/capabilities.ts";
import { type CreateAgentResult, requestAgent, waitForApproval } from "../contract/create-agent.ts";
import { readFile } from "../contract/knowledge.ts";
import { readInbox, sendMessage } from "../contract/mail.ts";
import { updateCompany } from "../contract/companies.ts";
import { listAgents, terminateAgent, updateAgent, viewAgent } from "../contract/agents.ts";
import { viewOutcome } from "../contract/outcomes.ts";
import {
  type TestCaller,
  createOrganization,
  refusal,
  sharedOrganization,
  storeKinds,
} from "../testing/organization.ts";
import { query } from "../store/query.ts";
import { agentById } from "../agents/table.ts";

const eventsAbout = query((db, p: { id: string; agentId: string }) =>
  db
    .selectFrom("events")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("subject", "in", [p.id, p.agentId])
    .where("operation", "in", ["approval.create", "approval.approve", "agent.create"]),
);

for (const kind of storeKinds)
  describe(`create_agent on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { approvals: true });

    const open = async (of = org) =>
      (await of.board(listApprovals, { companyId: of.companyId, status: "pending", limit: 1000 })).approvals;
    const names = async (of = org) =>
      (await of.board(listAgents, { companyId: of.companyId, limit: 1000 })).agents.map(({ name }) => name);
    /** Returns the id of the request that this call opened, and fails on any other answer. */
    const asked = async (input: Record<string, unknown>, caller: TestCaller = org.root): Promise<string> => {
      const result = await caller(requestAgent, input);
      assert.equal(result.status, "pending", JSON.stringify(result));
      assert.deepEqual([result.ok, result.created], [false, false]);
      return result.requestId ?? "";
    };
    const created = async (input: Record<string, unknown>, caller: TestCaller = org.root) => {
      const requestId = await asked(input, caller);
      await org.board(approve, { id: requestId });
      const result = await caller(waitForApproval, { requestId });
      assert.equal(result.status, "created", JSON.stringify(result));
      assert.ok(result.agent !== undefined && result.effective !== undefined);
      return { agent: result.agent, effective: result.effective, requestId };
    };
    const failedWith = async (
      code: CreateAgentResult["code"],
      input: Record<string, unknown>,
      caller: TestCaller = org.root,
    ): Promise<string> => {
      const before = [await open(), await names()];
      const { message = "", ...result } = await caller(requestAgent, input);
      assert.deepEqual(result, { ok: false, status: "error", created: false, code });
      assert.ok(message.length > 10 && message.length < 300, message);
      assert.deepEqual([await open(), await names()], before);
      return message;
    };

    // covers CRA-03, CRA-09, CRA-33, CRA-36
    test("a call that isn't valid makes no request and no agent", async () => {
      assert.match(await failedWith("validation_error", {}), /`name` is missing/);
      for (const input of [
        { name: 7 },
        { name: "" },
        { name: "x".repeat(65) },
        { name: "Human" },
        { name: "ｂｏａｒｄ" },
        { name: "Val", autoReply: "yes" },
        { name: "Val", role: ["a"] },
        { name: "Val", "next agent": null },
        { name: "Val", unknown: 1 },
        { name: "Val", nextAgent: "Val" },
        { name: "Val", nextAgent: "nobody at all" },
        { name: "Val", nextAgent: "n".repeat(100_000) },
        { name: "Val", waitSeconds: 241 },
      ])
        await failedWith("validation_error", input);
      await refusal(org.board(requestAgent, { name: "Val" }), "refused");
    });

    // covers TOOL-15, TOOL-16, TOOL-36, CRA-10, CRA-13, CRA-14, CRA-15, CRA-16, CRA-17, CRA-29, CRA-30, CRA-38, CRA-40
    test("approval makes one active agent below the agent that asked, with everything an agent has", async () => {
      const ann = await org.agent("Ann");
      const requestId = await asked({ name: "Nia", role: "writes the news.", "auto-reply": false }, ann.call);
      assert.ok(!(await names()).includes("Nia"));
      const shown = await org.board(viewApproval, { id: requestId });
      assert.equal(shown.type, "create_agent");
      assert.equal(shown.requestedBy?.id, ann.id);
      assert.deepEqual([shown.payload["options"], shown.payload["default"]], [["yes", "no"], "no"]);
      assert.ok(shown.changes.summary.some((line) => line.includes("will report to Ann")));
      await refusal(org.board(approve, { id: requestId, payloadHash: "0".repeat(64) }), "conflict");
      await refusal(ann.call(approve, { id: requestId }), "forbidden");
      await org.board(approve, { id: requestId, payloadHash: shown.payloadHash });
      const result = await ann.call(waitForApproval, { requestId });
      const agent = await org.board(viewAgent, { id: result.agent?.id ?? "" });
      assert.deepEqual(result, {
        ok: true,
        status: "created",
        created: true,
        agent: { id: agent.id, name: "Nia", slug: "nia", role: "writes the news.", status: "idle" },
        effective: {
          autoReply: false,
          role: "writes the news.",
          nextAgent: "human",
          provider: "rehearsal",
          model: null,
          systemPrompt:
            "You are agent Nia. Your role is writes the news.\n\nAlways respond in exactly this structure:\n@human\n{Your response}",
        },
      });
      assert.deepEqual([agent.boss?.id, agent.status, agent.adapterType], [ann.id, "idle", "rehearsal"]);
      const mandate = await org.board(viewOutcome, { id: agent.mandateId });
      assert.deepEqual(
        [mandate.kind, mandate.status, mandate.responsible?.id],
        ["mandate", "open", agent.id],
      );
      assert.match((await org.board(readFile, { id: agent.stateFileId })).content, /State of Nia/);
      const row = await store.read((tx) => agentById(tx, agent.id));
      assert.deepEqual([row.auto_reply, row.prompt], [0, result.effective?.systemPrompt]);
      await ann.call(sendMessage, { to: "nia", body: "welcome" });
      const operations = await store.read((tx) =>
        tx.first(eventsAbout, { id: requestId, agentId: agent.id }),
      );
      assert.equal(operations?.count, 3);
      assert.equal((await names()).filter((name) => name === "Nia").length, 1);
      const { messages } = await ann.call(readInbox, {});
      assert.ok(messages.some(({ body }) => body?.includes("The agent Nia was approved") === true));
    });

    test("create_agent asks a person for every caller, even where hires need no approval (CRA-34)", async () => {
      const free = await createOrganization(store);
      for (const caller of [free.root, (await free.agent("Low", (await free.agent("Mid")).id)).call]) {
        const name = `Free ${(await open(free)).length}`;
        assert.equal((await caller(requestAgent, { name })).status, "pending");
        assert.ok(!(await names(free)).includes(name));
      }
      // The other ways to hire still need no approval.
      assert.equal((await free.root(hireAgent, { name: "Hired", role: "x" })).agent.status, "idle");
      assert.equal(
        (await free.board(createAgent, { companyId: free.companyId, name: "Made", role: "x" })).status,
        "idle",
      );
    });

    test("a rejection is a denial, and the name is free again (CRA-11, CRA-39)", async () => {
      for (const [decide, says] of [
        [reject, { decisionNote: "no need" }],
        [reject, {}],
        // A person who gives "timeout" as the reason has still rejected the request.
        [reject, { decisionNote: "timeout" }],
        [cancelApproval, {}],
      ] as const) {
        const requestId = await asked({ name: "Nay" });
        await org.board(decide, { id: requestId, ...says });
        assert.deepEqual(await org.root(waitForApproval, { requestId }), {
          ok: false,
          status: "denied",
          created: false,
          reason: "user_denied",
          name: "Nay",
        });
        assert.ok(!(await names()).includes("Nay"));
      }
      const own = await asked({ name: "Nay" });
      await org.root(cancelApproval, { id: own });
      assert.equal((await org.root(waitForApproval, { requestId: own })).status, "denied");
      await org.root(hireAgent, { name: "Nay", role: "x" });
    });

    // covers CRA-21, CRA-22, CRA-45
    test("a name that is taken is refused before any person is asked", async () => {
      await org.agent("Zoë");
      for (const name of ["Zoë", "ZOË", "Zoë".normalize("NFD"), "Ｚｏë", "ＺOë"])
        assert.match(await failedWith("agent_exists", { name }), /taken/);
      await org.root(hireAgent, { name: "Waiting Hire", role: "x" });
      await failedWith("agent_exists", { name: "waiting  hire" });
      const other = await org.agent("Other");
      const requestId = await asked({ name: "Kept" });
      await failedWith("agent_exists", { name: "KEPT" }, other.call);
      await failedWith("agent_exists", { name: "Kept", role: "another" });
      await refusal(org.root(hireAgent, { name: "kept", role: "x" }), "conflict");
      await refusal(
        org.board(createAgent, { companyId: org.companyId, name: "Kept", role: "x" }),
        "conflict",
      );
      // In another company the name is free.
      const elsewhere = await org.another();
      assert.equal((await elsewhere.root(requestAgent, { name: "Kept" })).status, "pending");
      await org.root(cancelApproval, { id: requestId });
    });

    test("names of every script become agents that can be addressed", async () => {
      const slugs = [];
      for (const name of [
        "李雷",
        "محمد",
        "🤖",
        "🦊",
        "Zoe\u0301",
        "字".repeat(64),
        "A B",
        "A-B",
        "<script>",
        "a'b\"c\\d",
      ]) {
        const { agent } = await created({ name });
        assert.equal(agent.name, name.normalize("NFC"));
        assert.ok(agent.slug !== "");
        slugs.push(agent.slug);
        const { to } = await org.root(sendMessage, { to: agent.slug, body: "hello" });
        assert.equal(to.id, agent.id);
      }
      assert.equal(new Set(slugs).size, slugs.length);
    });

    test("a role is stored as given, cut to its maximum length, and placeholders in it are not filled in", async () => {
      const { agent, effective } = await created({ name: "Templ", role: "keeps\n{{SECRET}} and ${HOME}." });
      assert.equal(effective.role, "keeps {{SECRET}} and ${HOME}.");
      assert.equal(agent.role, "keeps {{SECRET}} and ${HOME}.");
      assert.match(
        effective.systemPrompt,
        /^You are agent Templ\. Your role is keeps \{\{SECRET\}\} and \$\{HOME\}\.\n\n/,
      );
      const long = await created({ name: "Long", role: "🤖vwxyz ".repeat(20_000) });
      assert.equal([...(long.effective.role ?? "")].length, 240);
      assert.equal([...long.agent.role].length, 64);
      const { title } = await org.board(viewOutcome, {
        id: (await org.board(viewAgent, { id: long.agent.id })).mandateId,
      });
      assert.ok(title.startsWith("Long: 🤖vwxyz") && title.isWellFormed());
    });

    test("the next agent is found by id, slug or name, even with @, and the new agent may write to it after the approval", async () => {
      const lead = await org.agent("Lead Dev", (await org.agent("Department")).id);
      let number = 0;
      for (const nextAgent of [lead.id, lead.id.toUpperCase(), "lead-dev", "@Lead Dev", "LEAD  DEV"]) {
        const { agent, effective } = await created({ name: `Scribe ${number++}`, nextAgent });
        const said = nextAgent.replace("@", "").replace("  ", " ");
        assert.equal(effective.nextAgent, said);
        assert.equal(effective.systemPrompt.split("\n")[3], `@${said}`);
        const input = { companyId: org.companyId, agent: agent.id, level: "send" as const };
        for (const [to, allowed] of [
          [lead.id, true],
          [org.rootId, true],
          ["board", false],
        ] as const)
          assert.equal(
            (await org.board(explainAccess, { ...input, resource: `mail:${to}` })).allowed,
            allowed,
            to,
          );
      }
      const { agent } = await created({ name: "To people", nextAgent: "@human" });
      const toBoard = {
        companyId: org.companyId,
        agent: agent.id,
        resource: "mail:board",
        level: "send" as const,
      };
      assert.equal((await org.board(explainAccess, toBoard)).allowed, true);
    });

    test("an agent that is pending, has left or belongs to another company can't be the next agent", async () => {
      const { agent } = await org.root(hireAgent, { name: "Not yet", role: "x" });
      const gone = await org.agent("Gone");
      await org.board(terminateAgent, { id: gone.id });
      const elsewhere = await org.another();
      const foreign = await elsewhere.agent("Foreign");
      await asked({ name: "Only asked for" });
      for (const nextAgent of [
        agent.id,
        "Not yet",
        gone.id,
        "Gone",
        foreign.id,
        "Foreign",
        "Only asked for",
        "%",
        "_",
      ])
        assert.match(
          await failedWith("validation_error", { name: "Lost", nextAgent }),
          /there is no active agent/,
        );
    });

    test("if the next agent leaves before the decision, an approval is refused and a rejection works", async () => {
      const next = await org.agent("Leaving");
      const requestId = await asked({ name: "Stranded", nextAgent: "leaving" });
      await org.board(terminateAgent, { id: next.id });
      assert.match(
        (await refusal(org.board(approve, { id: requestId }), "conflict")).message,
        /, which the new agent should reply to, has left/,
      );
      assert.equal((await org.root(waitForApproval, { requestId })).status, "pending");
      await org.board(reject, { id: requestId });
      assert.equal((await org.root(waitForApproval, { requestId })).reason, "user_denied");
    });

    test("if the next agent is renamed before the decision, an approval is refused, even if another agent now has the name", async () => {
      const asker = await org.agent("Asker of renamed");
      const next = await org.agent("Former");
      const ids = [];
      for (const [name, nextAgent] of [
        ["By name", "Former"],
        ["By id", next.id],
      ] as const)
        ids.push(await asked({ name, nextAgent }, asker.call));
      const [byName = "", byId = ""] = ids;
      const obstacles = async () => (await org.board(viewApproval, { id: byName })).changes.obstacles;
      assert.deepEqual(await obstacles(), []);
      await org.board(updateAgent, { id: next.id, name: "Latter" });
      for (let taken = 0; taken < 2; taken++) {
        const { message } = await refusal(org.board(approve, { id: byName }), "conflict");
        assert.equal(message, "The agent should reply to @Former, which was renamed to Latter.");
        assert.deepEqual(await obstacles(), [message]);
        if (taken === 0) await org.agent("Former");
      }
      await org.board(reject, { id: byName });
      assert.deepEqual(await obstacles(), []);
      await org.board(approve, { id: byId });
    });

    test("if the requester leaves before the decision, the request ends and the name is free", async () => {
      const asker = await org.agent("Asker");
      const requestId = await asked({ name: "Orphan" }, asker.call);
      await org.board(terminateAgent, { id: asker.id });
      await refusal(org.board(approve, { id: requestId }), "conflict");
      assert.equal((await org.board(viewApproval, { id: requestId })).status, "cancelled");
      await asked({ name: "Orphan" });
      assert.ok(!(await names()).includes("Orphan"));
    });

    test("only the requester and the board can wait for the decision, and it can't be revised", async () => {
      const other = await org.agent("Listener");
      const requestId = await asked({ name: "Secret" });
      await refusal(other.call(waitForApproval, { requestId }), "not_found");
      const elsewhere = await org.another();
      const unknown = await refusal(elsewhere.root(waitForApproval, { requestId }), "not_found");
      assert.ok(!unknown.message.includes("Secret"));
      assert.equal((await org.board(waitForApproval, { requestId })).status, "pending");
      await refusal(org.board(requestRevision, { id: requestId, decisionNote: "other name" }), "refused");
      await refusal(org.root(resubmit, { id: requestId, payload: { name: "Other" } }), "conflict");
      const plan = await org.root(requestApproval, { payload: { plan: "grow" } });
      const hire = await org.root(hireAgent, { name: "By hire", role: "x" });
      for (const id of [plan.id, hire.approval?.id ?? "", "00000000-0000-7000-8000-000000000000"])
        await refusal(org.root(waitForApproval, { requestId: id }), "not_found");
    });

    // covers CRA-18, CRA-19, CRA-20, CRA-41, TOOL-34
    test("the new agent gets the company's brain and model for created agents, or else the default", async () => {
      const own = await org.another();
      const make = async (name: string) => {
        const { requestId = "" } = await own.root(requestAgent, { name });
        await own.board(approve, { id: requestId });
        const { agent, effective } = await own.root(waitForApproval, { requestId });
        const row = await store.read((tx) => agentById(tx, agent?.id ?? ""));
        assert.deepEqual([effective?.provider, effective?.model], [row.brain_type, row.model]);
        return [row.brain_type, row.model, JSON.parse(row.brain_config)];
      };
      const set = (settings: Record<string, unknown>) =>
        own.board(updateCompany, { companyId: own.companyId, ...settings });
      assert.deepEqual(await make("One"), ["rehearsal", null, {}]);
      assert.deepEqual(await make("One more"), ["rehearsal", null, {}]);
      await set({ chatLLMModel: "small" });
      assert.deepEqual(await make("Two"), ["rehearsal", "small", {}]);
      await set({ chatLLMProvider: "human", defaultAdapterConfig: { delayMs: 5 } });
      assert.deepEqual(await make("Three"), ["human", "small", {}]);
      await set({ chatLLMProvider: null, chatLLMModel: null });
      assert.deepEqual(await make("Four"), ["rehearsal", null, { delayMs: 5 }]);
      const config = { command: "/bin/echo", args: ["hi"], env: { API_KEY: "sk-abcdefghijklmnopqrst" } };
      await set({ defaultAdapterType: "process", defaultAdapterConfig: config });
      const { requestId = "" } = await own.root(requestAgent, { name: "Shown" });
      const seen = JSON.stringify(await own.board(viewApproval, { id: requestId }));
      assert.ok(!seen.includes("sk-abcdefghij"), "a secret is shown");
      // The stored configuration names the secret instead of holding it.
      const [type, model, stored] = await make("Five");
      const { secret } = stored.env.API_KEY;
      assert.match(secret, /^API_KEY-[0-9a-f]+$/);
      assert.deepEqual([type, model, stored], ["process", null, { ...config, env: { API_KEY: { secret } } }]);
      // Approval makes the agent as it was requested, even when the settings have changed since.
      await set({ defaultAdapterType: "rehearsal", defaultAdapterConfig: {}, chatLLMProvider: "process" });
      await own.board(approve, { id: requestId });
      assert.equal((await own.root(waitForApproval, { requestId })).effective?.provider, "process");
      const { code, message } = await own.root(requestAgent, { name: "Six" });
      assert.equal(code, "create_failed");
      assert.match(message ?? "", /The board can correct this/);
    });

    test("a company at its agent limit refuses before any person is asked", async () => {
      const small = await org.another();
      await small.board(updateCompany, { companyId: small.companyId, maxAgents: 2 });
      const { requestId = "" } = await small.root(requestAgent, { name: "Second" });
      await small.board(approve, { id: requestId });
      const { code, message } = await small.root(requestAgent, { name: "Third" });
      assert.deepEqual([code, (await open(small)).length], ["limit_reached", 0]);
      assert.match(message ?? "", /has 2 agents/);
      await small.board(updateCompany, { companyId: small.companyId, maxAgents: 3 });
      assert.equal((await small.root(requestAgent, { name: "Third" })).status, "pending");
    });
  });
