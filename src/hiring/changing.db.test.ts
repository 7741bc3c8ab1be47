// Changes of an employed agent: the board makes them directly, a manager through an approval.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createKey, terminateAgent, updateAgent } from "../contract/agents.ts";
import * as approvals from "../contract/approvals.ts";
import { setBudget } from "../contract/budgets.ts";
import { grantPermission, listPermissions } from "../contract/capabilities.ts";
import { requestAgent, waitForApproval } from "../contract/create-agent.ts";
import { changeAgent, viewConfiguration } from "../contract/hiring.ts";
import { listEvents } from "../contract/ledger.ts";
import { createFile } from "../contract/knowledge.ts";
import { readInbox, sendMessage } from "../contract/mail.ts";
import { viewOutcome } from "../contract/outcomes.ts";
import { applyReorganization, planReorganization } from "../contract/reorganization.ts";
import { viewSession } from "../contract/sessions.ts";
import { agentById } from "../agents/table.ts";
import { newId } from "../daemon/ids.ts";
import { noticesFor } from "../runtime/tool-notices.ts";
import { refusal, storeKinds, type TestCaller, sharedOrganization } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`changing agents on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { approvals: true });
    let number = 0;

    /** A manager with a separate budget, and a report. */
    const team = async () => {
      const boss = await org.agent(`Boss ${++number}`);
      await org.board(setBudget, { id: boss.id, usd: 10 });
      return { boss, ann: await org.agent(`Ann ${number}`, boss.id) };
    };
    const rowOf = (id: string) => store.read((tx) => agentById(tx, id));
    const lastChange = async (id: string) => {
      const { events } = await org.board(listEvents, { companyId: org.companyId, limit: 1000 });
      return events.findLast(({ operation, subject }) => operation === "agent.update" && subject === id)
        ?.data;
    };
    const mailOf = async (by: TestCaller) =>
      (await by(readInbox, { limit: 1000 })).messages.map(({ body }) => body ?? "").join("\n");

    test("the board changes any setting, and the event has each field before and after", async () => {
      const { ann } = await team();
      await org.board(updateAgent, {
        id: ann.id,
        title: "Senior",
        prompt: "Be brief.",
        model: "large",
        effort: "high",
        mandate: "The ovens are clean.",
        autoReply: true,
        budget: { usd: 2 },
        adapterType: "process",
        adapterConfig: { command: "/usr/bin/true", env: { TOKEN: "swordfish-1234567" } },
      });
      const row = await rowOf(ann.id);
      assert.deepEqual(
        [row.title, row.prompt, row.model, row.effort, row.auto_reply, row.budget, row.brain_type],
        ["Senior", "Be brief.", "large", "high", 1, '{"usd":2}', "process"],
      );
      assert.equal((await org.board(viewOutcome, { id: ann.id })).description, "The ovens are clean.");
      const { changed } = (await lastChange(ann.id)) ?? {};
      const fields = new Map(Object.entries(Object(changed)));
      assert.deepEqual(
        [...fields.keys()].toSorted(),
        "adapterConfig adapterType autoReply budget effort mandate model prompt secretNames title".split(" "),
      );
      assert.deepEqual(fields.get("model"), { before: null, after: "large" });
      assert.deepEqual(fields.get("budget"), { before: {}, after: { usd: 2 } });
      assert.match(JSON.stringify(fields.get("secretNames")), /"before":\[\],"after":\["TOKEN-/);
      assert.ok(!JSON.stringify(changed).includes("swordfish"));
      await org.board(updateAgent, { id: ann.id, model: null });
      assert.deepEqual((await lastChange(ann.id))?.["changed"], { model: { before: "large", after: null } });
      // A configuration that is sent back as it was shown keeps its secret.
      const { configuration } = await org.board(viewConfiguration, { id: ann.id });
      const shown = Object(configuration["adapterConfig"]);
      await org.board(updateAgent, { id: ann.id, adapterConfig: { ...shown, args: ["x"] } });
      assert.equal((await rowOf(ann.id)).brain_config.includes('"secret"'), true);
    });

    test("a change without effect, an unknown key and a wrong value are refused", async () => {
      const { ann } = await team();
      await refusal(org.board(updateAgent, { id: ann.id }), "refused");
      await refusal(
        org.board(updateAgent, { id: ann.id, model: null, budget: {}, role: "worker" }),
        "refused",
      );
      const wrong = { id: ann.id, colour: "red" };
      await refusal(org.board(updateAgent, wrong), "invalid");
      await refusal(org.board(updateAgent, { id: ann.id, adapterConfig: { command: "x" } }), "invalid");
      await refusal(ann.call(updateAgent, { id: ann.id, effort: "max" }), "forbidden");
      assert.equal(await lastChange(ann.id), undefined);
    });

    test("the next agent of a created agent can change, with its mail route", async () => {
      const { boss, ann } = await team();
      const { requestId = "" } = await boss.call(requestAgent, { name: `Nia ${number}`, waitSeconds: 0 });
      await org.board(approvals.approve, { id: requestId });
      const { agent } = await boss.call(waitForApproval, { requestId });
      const id = agent?.id ?? "";
      await org.board(updateAgent, { id, nextAgent: `Ann ${number}` });
      assert.match((await rowOf(id)).prompt ?? "", new RegExp(`\n@Ann ${number}\n\\{Your response\\}$`));
      await refusal(org.board(updateAgent, { id, nextAgent: "nobody here" }), "not_found");
      await refusal(org.board(updateAgent, { id, nextAgent: "human", prompt: "x" }), "invalid");
      await refusal(org.board(updateAgent, { id: ann.id, nextAgent: "human" }), "refused");
    });

    test("a manager proposes a change, a person decides, and exactly the shown change is made", async () => {
      const { boss, ann } = await team();
      const proposal = await boss.call(changeAgent, {
        agent: ann.id,
        reason: "Reviews miss the tests.",
        prompt: "Tests first.",
        effort: "high",
        budget: { usd: 3 },
      });
      assert.deepEqual(
        [proposal.type, proposal.status, proposal.agentId],
        ["change_agent", "pending", ann.id],
      );
      assert.equal((await rowOf(ann.id)).prompt, null);
      await refusal(boss.call(changeAgent, { agent: ann.id, reason: "x", effort: "low" }), "conflict");
      await org.board(approvals.requestRevision, { id: proposal.id, decisionNote: "Less effort." });
      assert.match(await mailOf(boss.call), /revise this request: The change of Ann/);
      const again = await boss.call(approvals.resubmit, { id: proposal.id, payload: { effort: "low" } });
      await refusal(
        org.board(approvals.approve, { id: proposal.id, payloadHash: proposal.payloadHash }),
        "conflict",
      );
      const { changes } = await org.board(approvals.viewApproval, { id: proposal.id });
      assert.deepEqual(
        changes.fields.filter(({ field }) => ["prompt", "effort", "budget.usd", "reason"].includes(field)),
        [
          { field: "prompt", before: null, after: "Tests first." },
          { field: "effort", before: null, after: "low" },
          { field: "budget.usd", before: null, after: 3 },
          { field: "reason", before: null, after: "Reviews miss the tests." },
        ].toSorted((a, b) => order(changes.fields, a.field) - order(changes.fields, b.field)),
      );
      assert.deepEqual([changes.brain?.prompt, changes.brain?.effort], ["Tests first.", "low"]);
      assert.equal(changes.money.length, 2);
      await org.board(approvals.approve, { id: proposal.id, payloadHash: again.payloadHash });
      const row = await rowOf(ann.id);
      assert.deepEqual([row.prompt, row.effort, row.budget], ["Tests first.", "low", '{"usd":3}']);
      const recorded = await lastChange(ann.id);
      assert.equal(recorded?.["approval"], proposal.id);
      assert.deepEqual(Object(recorded?.["changed"])["effort"], { before: null, after: "low" });
    });

    test("only the direct manager can propose a change, within its rights, and never a command", async () => {
      const { boss, ann } = await team();
      const low = await org.agent(`Low ${number}`, ann.id);
      const other = await org.agent(`Other ${number}`);
      const reason = "r";
      await refusal(boss.call(changeAgent, { agent: low.id, reason, effort: "low" }), "forbidden");
      await refusal(other.call(changeAgent, { agent: ann.id, reason, effort: "low" }), "forbidden");
      await refusal(ann.call(changeAgent, { agent: ann.id, reason, effort: "low" }), "forbidden");
      await refusal(org.board(changeAgent, { agent: ann.id, reason, effort: "low" }), "forbidden");
      await refusal(boss.call(changeAgent, { agent: ann.id, reason: " ", effort: "low" }), "invalid");
      await refusal(boss.call(changeAgent, { agent: ann.id, reason }), "refused");
      await refusal(boss.call(changeAgent, { agent: ann.id, reason, budget: { usd: 11 } }), "refused");
      await refusal(
        boss.call(changeAgent, {
          agent: ann.id,
          reason,
          adapterType: "process",
          adapterConfig: { command: "sh" },
        }),
        "refused",
      );
      const poor = await org.agent(`Poor ${number}`);
      const sub = await org.agent(`Sub ${number}`, poor.id);
      await refusal(poor.call(changeAgent, { agent: sub.id, reason, budget: { usd: 1 } }), "refused");
    });

    test("a change is refused if the setting it replaces has changed since", async () => {
      const { boss, ann } = await team();
      await org.board(updateAgent, { id: ann.id, prompt: "The board's words." });
      const { id, payload } = await boss.call(changeAgent, { agent: ann.id, reason: "r", prompt: "Mine." });
      // The manager can't see configurations, so it is not shown what its proposal would replace.
      assert.ok(!JSON.stringify(payload).includes("The board's words."));
      const own = await boss.call(approvals.viewApproval, { id });
      assert.ok(!JSON.stringify(own).includes("The board's words."));
      assert.ok(
        JSON.stringify(await org.board(approvals.viewApproval, { id })).includes("The board's words."),
      );
      await org.board(updateAgent, { id: ann.id, prompt: "New words." });
      const { changes } = await org.board(approvals.viewApproval, { id });
      assert.match(changes.obstacles.join(), /settings have changed since this was proposed: prompt/);
      await refusal(org.board(approvals.approve, { id }), "conflict");
      assert.equal((await rowOf(ann.id)).prompt, "New words.");
      // A change of another field does not matter. A revision compares with the present settings.
      await org.board(approvals.requestRevision, { id });
      await boss.call(approvals.resubmit, { id });
      await org.board(updateAgent, { id: ann.id, model: "large" });
      await org.board(approvals.approve, { id });
      const row = await rowOf(ann.id);
      assert.deepEqual([row.prompt, row.model], ["Mine.", "large"]);
    });

    test("a proposal ends when the agent or its manager leaves, or the agent moves, and its requester is told", async () => {
      const propose = async () => {
        const { boss, ann } = await team();
        const { id } = await boss.call(changeAgent, { agent: ann.id, reason: "r", effort: "low" });
        return { boss, ann, id };
      };
      const reasonOf = async (id: string) =>
        (await org.board(approvals.viewApproval, { id })).decision?.reason;
      const left = await propose();
      await org.board(terminateAgent, { id: left.ann.id });
      assert.equal(await reasonOf(left.id), "overtaken");
      assert.match(
        await mailOf(left.boss.call),
        new RegExp(`The change of Ann .*cancelled \\(approval ${left.id}`),
      );
      const alone = await propose();
      await org.board(terminateAgent, { id: alone.boss.id });
      assert.equal(await reasonOf(alone.id), "overtaken");
      const moved = await propose();
      const change = { kind: "move_report", agent: moved.ann.id, to: org.rootId } as const;
      const { hash } = await org.board(planReorganization, { companyId: org.companyId, change });
      await org.board(applyReorganization, { companyId: org.companyId, change, hash });
      assert.equal(await reasonOf(moved.id), "overtaken");
      assert.match(await mailOf(moved.boss.call), new RegExp(`approval ${moved.id}.*reports to Root now`));
    });

    test("a running session is asked to stop and may still finish its turn, but not for a change of the budget", async () => {
      const { ann } = await team();
      const session = await org.session(ann.id);
      const told = async () => (await noticesFor(store, newId, session.token)).join("\n");
      await org.board(updateAgent, { id: ann.id, budget: { usd: 3 } });
      assert.doesNotMatch(await told(), /is stopped at/);
      await org.board(updateAgent, { id: ann.id, effort: "low" });
      assert.match(
        await told(),
        /This session is stopped at .*, because the agent's settings were changed\. Save/,
      );
      await session.call(createFile, { description: "last words", content: "x" });
      assert.equal((await org.board(viewSession, { id: session.id })).endedAt, null);
    });

    test("the new next agent of a created agent is shown, recorded and reachable, and the former one is not reachable", async () => {
      const { boss } = await team();
      const [one, two] = [await org.agent("First Next"), await org.agent("Second Next")];
      const asked = await boss.call(requestAgent, { name: "Relay", nextAgent: "First Next", waitSeconds: 1 });
      await org.board(approvals.approve, { id: asked.requestId ?? "" });
      const { agent } = await boss.call(waitForApproval, { requestId: asked.requestId ?? "" });
      const id = agent?.id ?? "";
      const relay = org.as((await org.board(createKey, { id })).key);
      const routes = async () => (await relay(listPermissions, {})).grants.map(({ resource }) => resource);
      assert.deepEqual(await routes(), [`mail:${one.id}`]);
      const { nextAgent, autoReply } = await org.board(updateAgent, { id, nextAgent: "@second-next" });
      assert.deepEqual([nextAgent, autoReply], ["second-next", true]);
      assert.deepEqual(await routes(), [`mail:${two.id}`]);
      await refusal(relay(sendMessage, { to: one.id, body: "still there?" }), "forbidden");
      const { nextAgent: recorded } = Object((await lastChange(id))?.["changed"]);
      assert.deepEqual(recorded, { before: "First Next", after: "second-next" });
      await refusal(org.board(updateAgent, { id, nextAgent: "second-next" }), "refused");
      await refusal(org.board(updateAgent, { id, nextAgent: "Relay" }), "not_found");
      await org.board(updateAgent, { id, nextAgent: "human" });
      assert.deepEqual(await routes(), ["mail:board"]);
    });

    test("an agent that may hire sees what a proposal would replace", async () => {
      const { boss, ann } = await team();
      await org.board(grantPermission, { companyId: org.companyId, to: boss.id, resource: "org:hire" });
      await org.board(updateAgent, { id: ann.id, prompt: "Former words." });
      const { payload } = await boss.call(changeAgent, { agent: ann.id, reason: "r", prompt: "Mine." });
      assert.deepEqual(payload["before"], { prompt: "Former words." });
    });
  });

const order = (fields: readonly approvals.FieldChange[], name: string): number =>
  fields.findIndex(({ field }) => field === name);
