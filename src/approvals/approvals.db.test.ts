import { JsonObject } from "../contract/words.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hireAgent } from "../contract/hiring.ts";
import * as contract from "../contract/approvals.ts";
import { readInbox, sendMessage } from "../contract/mail.ts";
import { updateCompany } from "../contract/companies.ts";
import { listAgents, terminateAgent, updateAgent, viewAgent, deleteAgent } from "../contract/agents.ts";
import { createOutcome, viewOutcome } from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { why } from "../contract/why.ts";
import { configurationOf } from "../hiring/drafting.ts";
import { agentById } from "../agents/table.ts";
import { refusal, storeKinds, sharedOrganization } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`approvals on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { approvals: true });

    const hire = async (name: string, more: Record<string, unknown> = {}) => {
      const { agent, approval } = await org.root(hireAgent, { name, role: "Engineer", ...more });
      assert.ok(approval !== null);
      return { agent, approval };
    };

    // covers GOV-33
    test("a hire waits with its configuration until it is approved, and then works exactly as approved", async () => {
      const { agent, approval } = await hire("Ada", {
        title: "First",
        mandate: "Keep the lights on",
        prompt: "Be brief.",
        adapterType: "rehearsal",
        adapterConfig: { delayMs: 3 },
        model: "small",
        effort: "high",
        budget: { usd: 5 },
        grants: [{ resource: "org:hire" }],
      });
      assert.equal(agent.status, "pending_approval");
      assert.equal(approval.status, "pending");
      const { approvals } = await org.board(contract.listApprovals, { companyId: org.companyId });
      assert.equal(approvals[0]?.title, "Ada (Engineer) will report to Root.");
      assert.equal(approval.payload["agentId"], agent.id);
      assert.equal(approval.payload["requestedByAgentId"], org.rootId);
      const approved = await org.board(contract.approve, {
        id: approval.id,
        payloadHash: approval.payloadHash,
        decisionNote: "welcome",
      });
      assert.equal(approved.status, "approved");
      assert.equal((await org.board(viewAgent, { id: agent.id })).status, "idle");
      const running = await store.read(async (tx) => configurationOf(tx, await agentById(tx, agent.id)));
      assert.deepEqual(running, approved.payload["requestedConfigurationSnapshot"]);
      const { messages } = await org.root(readInbox, {});
      assert.ok(
        messages.some(({ body }) =>
          /Ada was approved \(approval .*\) by Owner\.\n\nOwner's note:\n> welcome/.test(body ?? ""),
        ),
      );
    });

    test("without the setting a hire works at once and there is nothing to approve", async () => {
      await org.board(updateCompany, { companyId: org.companyId, requireBoardApprovalForNewAgents: false });
      const { agent, approval } = await org.root(hireAgent, { name: "Now", role: "Engineer" });
      assert.deepEqual([agent.status, approval], ["idle", null]);
      await org.board(updateCompany, { companyId: org.companyId, requireBoardApprovalForNewAgents: true });
    });

    // covers GOV-20, GOV-30, GOV-31
    test("a hire is sent back, discussed, changed and approved", async () => {
      const { agent, approval } = await hire("Rev", {
        adapterType: "rehearsal",
        prompt: "The key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
      });
      assert.ok(!JSON.stringify(approval).includes("abcdefghijklmnop"));
      await org.board(contract.requestRevision, { id: approval.id, decisionNote: "another title" });
      await refusal(org.board(contract.approve, { id: approval.id }), "conflict");
      await org.board(contract.commentOnApproval, { id: approval.id, body: "Make it a lead." });
      await org.root(contract.commentOnApproval, { id: approval.id, body: "So be it." });
      const { comments } = await org.root(contract.listComments, { id: approval.id });
      assert.deepEqual(
        comments.map(({ kind, author, body }) => [kind, author?.id ?? null, body]),
        [
          ["revision_requested", null, "another title"],
          ["comment", null, "Make it a lead."],
          ["comment", org.rootId, "So be it."],
        ],
      );
      await refusal(org.board(updateAgent, { id: agent.id, title: "Lead" }), "refused");
      // Resubmits the redacted configuration with one key changed. The secret in the prompt stays the same.
      const shown = {
        ...JsonObject.parse(approval.payload["requestedConfigurationSnapshot"]),
        title: "Lead",
      };
      const again = await org.root(contract.resubmit, {
        id: approval.id,
        payload: { requestedConfigurationSnapshot: shown },
      });
      assert.equal(again.status, "pending");
      assert.notEqual(again.payloadHash, approval.payloadHash);
      await refusal(
        org.board(contract.approve, { id: approval.id, payloadHash: approval.payloadHash }),
        "conflict",
      );
      await org.board(contract.approve, { id: approval.id, payloadHash: again.payloadHash });
      const row = await store.read((tx) => agentById(tx, agent.id));
      assert.deepEqual(
        [row.status, row.title, row.prompt?.includes("abcdefghijklmnop")],
        ["idle", "Lead", true],
      );
    });

    // covers GOV-29, GOV-34, GOV-77
    test("a rejected agent ends, its name is free, the board may delete it, and the thread stays", async () => {
      const { agent, approval } = await hire("Nobody");
      await refusal(org.board(deleteAgent, { id: agent.id }), "refused");
      await org.board(contract.reject, { id: approval.id, decisionNote: "no need" });
      assert.equal((await org.board(viewAgent, { id: agent.id })).status, "terminated");
      await refusal(org.board(contract.approve, { id: approval.id }), "conflict");
      await org.board(deleteAgent, { id: agent.id });
      await refusal(org.board(viewAgent, { id: agent.id }), "not_found");
      const { agents } = await org.board(listAgents, { companyId: org.companyId, limit: 1000 });
      assert.ok(agents.every(({ id }) => id !== agent.id));
      const kept = await org.board(contract.viewApproval, { id: approval.id });
      assert.deepEqual([kept.status, kept.decisionNote], ["rejected", "no need"]);
      await hire("Nobody");
    });

    test("work delegated to a hire waits with it, starts on approval and returns on rejection", async () => {
      for (const yes of [true, false]) {
        const job = await org.root(createOutcome, { title: `job ${yes}`, parents: [org.rootId] });
        await org.root(delegateOutcome, {
          id: job.id,
          hire: { name: `Made ${yes}`, role: "worker" },
          grants: [{ resource: "org:hire" }],
          message: "Please.",
        });
        const { approvals } = await org.board(contract.listApprovals, {
          companyId: org.companyId,
          status: "pending",
        });
        const approval = approvals.find(({ agentId }) => agentId === job.id);
        assert.ok(approval !== undefined);
        const { references } = await org.board(why, { id: job.id });
        assert.ok(references.some(({ id }) => id === approval.id));
        await org.board(yes ? contract.approve : contract.reject, {
          id: approval.id,
          decisionNote: "because",
        });
        const { responsible, status } = await org.root(viewOutcome, { id: job.id });
        assert.deepEqual([responsible?.id, status], [yes ? job.id : org.rootId, "open"]);
      }
    });

    test("the outcome of a terminated pending agent returns to its boss", async () => {
      const job = await org.root(createOutcome, { title: "kept", parents: [org.rootId] });
      await org.root(delegateOutcome, { id: job.id, hire: { name: "Never", role: "worker" } });
      await org.board(terminateAgent, { id: job.id });
      const { responsible, status } = await org.root(viewOutcome, { id: job.id });
      assert.deepEqual([responsible?.id, status], [org.rootId, "open"]);
      const { approvals } = await org.board(contract.listApprovals, { companyId: org.companyId });
      assert.equal(approvals.find(({ agentId }) => agentId === job.id)?.status, "cancelled");
    });

    test("only the requester and the board see a request, and only the board decides", async () => {
      const { approval } = await hire("Seen");
      const other = await org.agent("Onlooker");
      await refusal(other.call(contract.viewApproval, { id: approval.id }), "not_found");
      assert.deepEqual((await other.call(contract.listApprovals, {})).approvals, []);
      for (const decide of [contract.approve, contract.reject, contract.requestRevision])
        await refusal(org.root(decide, { id: approval.id }), "forbidden");
      const elsewhere = await org.another();
      await refusal(elsewhere.root(contract.viewApproval, { id: approval.id }), "not_found");
      await org.root(contract.cancelApproval, { id: approval.id });
      await refusal(
        org.board(sendMessage, { companyId: org.companyId, to: approval.agentId ?? "", body: "hello" }),
        "refused",
      );
    });

    test("a plan of the root agent is approved in the same way", async () => {
      const plan = await org.root(contract.requestApproval, { payload: { plan: "# Grow" } });
      await org.board(contract.requestRevision, { id: plan.id, decisionNote: "shorter" });
      const again = await org.root(contract.resubmit, { id: plan.id, payload: { plan: "Grow" } });
      assert.equal(again.payload["plan"], "Grow");
      assert.equal((await org.board(contract.approve, { id: plan.id })).status, "approved");
      const other = await org.agent("Planner");
      await refusal(other.call(contract.requestApproval, { payload: { plan: "x" } }), "forbidden");
    });
  });
