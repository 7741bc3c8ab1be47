import { JsonObject } from "../contract/words.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as approvals from "../contract/approvals.ts";
import {
  grantPermission,
  listAgentGrants,
  listPermissions,
  revokePermission,
} from "../contract/capabilities.ts";
import { readInbox } from "../contract/mail.ts";
import { createCompany, updateCompany, viewCompany } from "../contract/companies.ts";
import { examineDeeply } from "../contract/doctor.ts";
import { changeAgent, createAgent, hireAgent } from "../contract/hiring.ts";
import { listAgents, terminateAgent, viewAgent, deleteAgent } from "../contract/agents.ts";
import * as outcomes from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import { dynamic } from "../store/query.ts";
import { refusal, storeKinds, sharedOrganization } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`hiring on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { fast: true, approvals: true });
    let names = 0;
    const boss = await org.agent("Chief");
    await org.board(grantPermission, { companyId: org.companyId, to: boss.id, resource: "org:hire" });

    const named = (more: Record<string, unknown> = {}) => ({ name: `N ${++names}`, role: "worker", ...more });
    const hire = async (more: Record<string, unknown> = {}, by = boss.call) => {
      const { agent, approval } = await by(hireAgent, named(more));
      assert.ok(approval !== null);
      return { agent, approval, id: approval.id };
    };
    const statusOf = async (id: string) => (await org.board(viewAgent, { id })).status;
    const approvalStatus = async (id: string) => (await org.board(approvals.viewApproval, { id })).status;
    const delegateToHire = async (more: Record<string, unknown> = {}) => {
      const job = await boss.call(outcomes.createOutcome, { title: `job ${++names}`, parents: [boss.id] });
      await boss.call(delegateOutcome, { id: job.id, hire: named(), ...more });
      const { approvals: open } = await boss.call(approvals.listApprovals, { status: "pending" });
      return { agentId: job.id, id: open.find(({ agentId }) => agentId === job.id)?.id ?? "" };
    };
    const settings = (changed: Record<string, unknown>) =>
      org.board(updateCompany, { companyId: org.companyId, ...changed });
    const headcount = async () =>
      (await org.board(listAgents, { companyId: org.companyId, limit: 1000 })).agents.length;

    /** Checks that the hire is refused with this code, and that no agent was made. */
    const nobody = async (code: Parameters<typeof refusal>[1], input: Record<string, unknown>) => {
      const count = await headcount();
      const refused = await refusal(boss.call(hireAgent, named(input)), code);
      assert.equal(await headcount(), count);
      return refused;
    };

    // covers GOV-04, GOV-05, GOV-06, GOV-22, GOV-23, GOV-25, GOV-66
    test("only agents with org:hire can hire: the root agent from the start, others after a grant", async () => {
      const other = await org.agent("Unentitled");
      await refusal(other.call(hireAgent, named()), "forbidden");
      const { grants } = await org.root(listPermissions, {});
      assert.ok(grants.some(({ resource }) => resource === "org:hire"));
      await org.board(grantPermission, { companyId: org.companyId, to: other.id, resource: "org:hire" });
      const { agent } = await other.call(hireAgent, named());
      assert.equal(agent.boss?.id, other.id);
      await org.board(hireAgent, { companyId: org.companyId, ...named() });
    });

    // covers GOV-01, GOV-02, GOV-03, GOV-10, GOV-16, GOV-17, GOV-19, GOV-26, GOV-27, GOV-28, GOV-67
    test("hires need an approval unless the board turns that off, and hires by the board need none", async () => {
      const fresh = await org.another();
      const { companyId } = fresh;
      const { settings: given } = await fresh.board(viewCompany, { companyId });
      assert.equal(given.requireBoardApprovalForNewAgents, true);
      await refusal(
        fresh.root(updateCompany, { companyId, requireBoardApprovalForNewAgents: false }),
        "forbidden",
      );
      assert.deepEqual(Object.keys(createCompany.input.shape), ["name"], "no part of making a company");
      const direct = await fresh.board(createAgent, { companyId, ...named() });
      assert.equal(direct.status, "idle");
      const asked = await fresh.root(hireAgent, named());
      assert.deepEqual([asked.agent.status, asked.approval?.status], ["pending_approval", "pending"]);
      const payload: Record<string, unknown> = asked.approval?.payload ?? {};
      assert.deepEqual([payload["agentId"], payload["requestedByAgentId"]], [asked.agent.id, fresh.rootId]);
      const { agents } = await fresh.board(listAgents, { companyId, status: "pending_approval" });
      assert.deepEqual(
        agents.map(({ id }) => id),
        [asked.agent.id],
      );
      await fresh.board(updateCompany, { companyId, requireBoardApprovalForNewAgents: false });
      const free = await fresh.root(hireAgent, named());
      assert.deepEqual([free.agent.status, free.approval], ["idle", null]);
      // The pending agent still waits.
      assert.equal((await fresh.board(viewAgent, { id: asked.agent.id })).status, "pending_approval");
    });

    test("the manager of a hire is an active agent: the hiring agent or one below it", async () => {
      const below = await org.agent("Below", boss.id);
      const deep = await org.agent("Deep", below.id);
      const beside = await org.agent("Beside");
      assert.equal((await hire({ reportsTo: deep.id })).agent.boss?.id, deep.id);
      for (const id of [beside.id, org.rootId]) await nobody("forbidden", { reportsTo: id });
      const { agent: pending } = await hire();
      await nobody("refused", { reportsTo: pending.id });
      const gone = await org.agent("Gone", boss.id);
      await org.board(terminateAgent, { id: gone.id });
      await nobody("refused", { reportsTo: gone.id });
      const elsewhere = await org.another();
      await nobody("not_found", { reportsTo: elsewhere.rootId });
    });

    test("an agent can hire or resubmit only with a brain that the company allows", async () => {
      const shell = { adapterType: "process", adapterConfig: { command: "true" } };
      await nobody("refused", shell);
      await nobody("invalid", { adapterType: "no_such_brain" });
      const { id, agent, approval } = await hire();
      await org.board(approvals.requestRevision, { id });
      await refusal(boss.call(approvals.resubmit, { id, payload: shell }), "refused");
      const whole = { ...JsonObject.parse(approval.payload["requestedConfigurationSnapshot"]), ...shell };
      await refusal(
        boss.call(approvals.resubmit, { id, payload: { requestedConfigurationSnapshot: whole } }),
        "refused",
      );
      for (const nothing of [null, 7, "x", []])
        await refusal(
          boss.call(approvals.resubmit, { id, payload: { requestedConfigurationSnapshot: nothing } }),
          "invalid",
        );
      assert.equal((await org.board(viewAgent, { id: agent.id })).adapterType, "rehearsal");
      await settings({ allowedAdapterTypes: ["rehearsal", "process"] });
      await boss.call(approvals.resubmit, { id, payload: shell });
      await settings({ allowedAdapterTypes: ["rehearsal", "human"] });
      // The board saw the configuration and approves it. The agent runs with exactly that configuration.
      await org.board(approvals.approve, { id });
      assert.equal((await org.board(viewAgent, { id: agent.id })).adapterType, "process");
      // The board itself may use any brain.
      await org.board(createAgent, { companyId: org.companyId, ...named(shell) });
    });

    test("unknown keys of a hire, its brain, its budget and a resubmission are refused", async () => {
      for (const wrong of [
        { salary: 3 },
        { adapterType: "rehearsal", adapterConfig: { shell: "sh" } },
        { budget: { euros: 3 } },
        { grants: [{ resource: "org:hire", forever: true }] },
      ])
        await nobody("invalid", wrong);
      const { id, agent, approval } = await hire({ title: "First" });
      await org.board(approvals.requestRevision, { id });
      for (const payload of [
        { salary: 3 },
        { budget: { euros: 3 } },
        { adapterType: "rehearsal", adapterConfig: { shell: "sh" } },
        { requestedConfigurationSnapshot: { salary: 3 } },
        { requestedConfigurationSnapshot: {}, agentId: boss.id },
        { requestedConfigurationSnapshot: {}, requestedByAgentId: null },
        { name: "board" },
      ]) {
        const code = "name" in payload ? "refused" : "invalid";
        await refusal(boss.call(approvals.resubmit, { id, payload }), code);
      }
      const after = await org.board(approvals.viewApproval, { id });
      assert.deepEqual([after.payload, after.status], [approval.payload, "revision_requested"]);
      assert.equal((await org.board(viewAgent, { id: agent.id })).title, "First");
    });

    test("the boss must hold every right that a hire begins with, at the request and at the approval", async () => {
      await nobody("refused", { grants: [{ resource: "org:consult" }] });
      const right = { companyId: org.companyId, to: boss.id, resource: "org:consult" };
      const { id: grantId } = await org.board(grantPermission, right);
      const { id, agent } = await hire({ grants: [{ resource: "org:consult" }] });
      assert.deepEqual((await org.board(listAgentGrants, { id: agent.id })).grants, [], "nothing yet");
      await org.board(revokePermission, { id: grantId });
      // The approval can't take effect and is refused.
      await refusal(org.board(approvals.approve, { id }), "conflict");
      assert.deepEqual([await statusOf(agent.id), await approvalStatus(id)], ["pending_approval", "pending"]);
      assert.deepEqual((await org.board(listAgentGrants, { id: agent.id })).grants, []);
      await org.board(grantPermission, right);
      await org.board(approvals.approve, { id });
      const { grants } = await org.board(listAgentGrants, { id: agent.id });
      assert.deepEqual(
        grants.map(({ resource }) => resource),
        ["org:consult"],
      );
    });

    test("a pending agent whose manager leaves moves to the next manager above, and the earlier version can't be approved", async () => {
      for (const inRevision of [false, true]) {
        const middle = await org.agent(`Middle ${inRevision}`, boss.id);
        const { id, agent } = await hire({ reportsTo: middle.id });
        if (inRevision) await org.board(approvals.requestRevision, { id, decisionNote: "why?" });
        const seen = (await org.board(approvals.viewApproval, { id })).payloadHash;
        await org.board(terminateAgent, { id: middle.id });
        assert.equal((await org.board(viewAgent, { id: agent.id })).boss?.id, boss.id);
        const { payload, changes } = await org.board(approvals.viewApproval, { id });
        const asked: unknown = payload["requestedConfigurationSnapshot"];
        assert.equal(Reflect.get(Object(asked), "reportsTo"), boss.id);
        assert.match(changes.summary.join(), /will report to Chief/);
        if (inRevision) await boss.call(approvals.resubmit, { id });
        await refusal(org.board(approvals.approve, { id, payloadHash: seen }), "conflict");
        assert.equal(await statusOf(agent.id), "pending_approval");
        await org.board(approvals.approve, { id });
        const now = await org.board(viewAgent, { id: agent.id });
        assert.deepEqual([now.status, now.boss?.id], ["idle", boss.id]);
      }
    });

    test("when the agent that asked has left, the board can still decide the hire", async () => {
      const asker = await org.agent("Asker");
      await org.board(grantPermission, { companyId: org.companyId, to: asker.id, resource: "org:hire" });
      const { id, agent } = await hire({}, asker.call);
      await org.board(terminateAgent, { id: asker.id });
      await org.board(approvals.requestRevision, { id });
      await org.board(approvals.resubmit, { id });
      await org.board(approvals.approve, { id });
      const seen = await org.board(viewAgent, { id: agent.id });
      assert.deepEqual([seen.status, seen.boss?.id], ["idle", org.rootId]);
    });

    test("an outcome that ends or is taken back while its hire waits ends the hire and the approval", async () => {
      for (const end of [
        (id: string) => boss.call(reclaimOutcome, { id, reason: "mine after all" }),
        (id: string) => boss.call(outcomes.closeOutcome, { id, rationale: "not needed" }),
        (id: string) => boss.call(outcomes.completeOutcome, { id, note: "done already" }),
      ]) {
        const { id, agentId } = await delegateToHire();
        await end(agentId);
        assert.deepEqual([await statusOf(agentId), await approvalStatus(id)], ["terminated", "cancelled"]);
        await refusal(org.board(approvals.approve, { id }), "conflict");
        assert.ok((await eventsAbout(agentId)).includes("approval.cancel"), "on record");
      }
    });

    test("an outcome's text can't change while its hire waits for the board", async () => {
      const { id, agentId } = await delegateToHire();
      for (const by of [boss.call, org.board])
        await refusal(by(outcomes.updateOutcome, { id: agentId, description: "something else" }), "refused");
      const { agent } = await hire({ mandate: "Keep the books" });
      await refusal(boss.call(outcomes.updateOutcome, { id: agent.id, description: "Burn them" }), "refused");
      await org.board(approvals.approve, { id });
      await boss.call(outcomes.updateOutcome, { id: agentId, description: "something else" });
    });

    test("a pending agent that is terminated ends with its approval", async () => {
      const { id, agent } = await hire();
      await org.board(terminateAgent, { id: agent.id });
      assert.deepEqual([await statusOf(agent.id), await approvalStatus(id)], ["terminated", "cancelled"]);
      assert.ok((await eventsAbout(agent.id)).includes("approval.cancel"), "on record");
    });

    // covers GOV-21, GOV-53, GOV-54
    test("only the board can delete an agent, only one that was not approved, and the record stays", async () => {
      const { id, agent } = await hire();
      await org.board(approvals.commentOnApproval, { id, body: "Hm." });
      await refusal(org.board(deleteAgent, { id: agent.id }), "refused");
      await org.board(approvals.approve, { id });
      await refusal(org.board(deleteAgent, { id: agent.id }), "refused");
      await org.board(terminateAgent, { id: agent.id });
      await refusal(org.board(deleteAgent, { id: agent.id }), "refused");
      const second = await hire();
      await org.board(approvals.commentOnApproval, { id: second.id, body: "No." });
      await org.board(approvals.reject, { id: second.id, decisionNote: "no" });
      await refusal(boss.call(deleteAgent, { id: second.agent.id }), "forbidden");
      await org.board(deleteAgent, { id: second.agent.id });
      const { comments } = await org.board(approvals.listComments, { id: second.id });
      assert.deepEqual(
        comments.map(({ body }) => body),
        ["No.", "no"],
      );
      assert.equal(await approvalStatus(second.id), "rejected");
      assert.ok((await eventsAbout(second.agent.id)).includes("agent.delete"));
      // Search no longer finds its state document.
      assert.deepEqual((await org.board(examineDeeply, {})).findings, []);
    });

    test("an agent that has worked is not deleted, however a later proposal to change it ended", async () => {
      const { id: hired, agent } = await hire();
      await org.board(approvals.approve, { id: hired });
      const { id } = await boss.call(changeAgent, { agent: agent.id, prompt: "Work.", reason: "Order." });
      await org.board(approvals.reject, { id });
      await org.board(terminateAgent, { id: agent.id });
      const { message } = await refusal(org.board(deleteAgent, { id: agent.id }), "refused");
      assert.equal(message, `${agent.name} has worked here, so its record can't be deleted.`);
    });

    test("an outcome meant for a deleted agent belongs to its manager when it is reopened", async () => {
      const { companyId } = org;
      const job = await boss.call(outcomes.createOutcome, { companyId, title: "Job", parents: [boss.id] });
      await boss.call(delegateOutcome, { id: job.id, hire: named({}) });
      await boss.call(outcomes.closeOutcome, { id: job.id, rationale: "not needed" });
      await org.board(deleteAgent, { id: job.id });
      const again = await org.board(outcomes.reopenOutcome, { id: job.id, reason: "needed" });
      assert.deepEqual([again.responsible?.id, again.delegated], [boss.id, false]);
    });

    test("a name is taken from the hire on, and free again after a rejection", async () => {
      const { id, agent } = await hire();
      await nobody("conflict", { name: agent.name.toUpperCase() });
      await refusal(
        org.board(createAgent, { companyId: org.companyId, ...named({ name: agent.name }) }),
        "conflict",
      );
      // A resubmitted hire does not conflict with its own name.
      await org.board(approvals.requestRevision, { id });
      await boss.call(approvals.resubmit, { id, payload: { name: agent.name.toLowerCase() } });
      await refusal(boss.call(approvals.resubmit, { id }), "conflict");
      await org.board(approvals.reject, { id });
      await hire({ name: agent.name });
    });

    test("the hires of another company can be neither seen nor changed", async () => {
      const { id, agent } = await hire();
      const elsewhere = await org.another();
      const attempts = [
        elsewhere.root(approvals.viewApproval, { id }),
        elsewhere.root(approvals.listComments, { id }),
        elsewhere.root(approvals.commentOnApproval, { id, body: "hello" }),
        elsewhere.root(approvals.resubmit, { id }),
        elsewhere.root(approvals.cancelApproval, { id }),
        elsewhere.root(approvals.approve, { id }),
        elsewhere.root(deleteAgent, { id: agent.id }),
        elsewhere.root(hireAgent, { companyId: org.companyId, ...named() }),
      ];
      await Promise.all(attempts.map((attempt) => refusal(attempt, "not_found")));
      const { approvals: theirs } = await elsewhere.root(approvals.listApprovals, {});
      assert.deepEqual(theirs, []);
      // The same name is free in the other company.
      await elsewhere.root(hireAgent, named({ name: agent.name }));
    });

    // covers GOV-18, GOV-63, GOV-64, GOV-65, GOV-68
    test("every step of an approval is recorded, and no other step is possible", async () => {
      const moves = {
        approve: (id: string) => org.board(approvals.approve, { id }),
        reject: (id: string) => org.board(approvals.reject, { id }),
        cancel: (id: string) => boss.call(approvals.cancelApproval, { id }),
        request_revision: (id: string) => org.board(approvals.requestRevision, { id }),
        resubmit: (id: string) => boss.call(approvals.resubmit, { id }),
      };
      const allowed: Record<string, readonly string[]> = {
        pending: ["approve", "reject", "cancel", "request_revision"],
        revision_requested: ["reject", "cancel", "resubmit"],
        approved: [],
        rejected: [],
        cancelled: [],
      };
      const ways: Record<string, (id: string) => Promise<unknown>> = {
        pending: async () => undefined,
        revision_requested: moves.request_revision,
        approved: moves.approve,
        rejected: moves.reject,
        cancelled: moves.cancel,
      };
      for (const [status, reach] of Object.entries(ways))
        for (const [name, move] of Object.entries(moves)) {
          const { id, agent } = await hire();
          await reach(id);
          assert.equal(await approvalStatus(id), status);
          const before = await eventsAbout(agent.id);
          if (allowed[status]?.includes(name) === true) {
            await move(id);
            const added = (await eventsAbout(agent.id)).slice(before.length);
            assert.ok(added.includes(`approval.${name}`), `${name}: ${added.join()}`);
          } else {
            await refusal(move(id), "conflict");
            assert.equal(await approvalStatus(id), status);
            assert.deepEqual(await eventsAbout(agent.id), before);
          }
          assert.deepEqual(before.slice(0, 2), ["agent.create", "approval.create"]);
        }
    });

    // covers GOV-32, GOV-52
    test("the agent that asked is told the decision, and a comment reaches the other side", async () => {
      const { id, agent } = await hire();
      await org.board(approvals.commentOnApproval, { id, body: "Why another one?" });
      await org.board(approvals.reject, { id, decisionNote: "too many" });
      const { messages } = await boss.call(readInbox, { limit: 1000 });
      const bodies = messages.map(({ body }) => body ?? "").join("\n");
      assert.ok(
        bodies.includes("Why another one?") &&
          bodies.includes(
            `${agent.name} was rejected (approval ${id}) by Owner.\n\nOwner's note:\n> too many`,
          ),
      );
      await refusal(boss.call(approvals.commentOnApproval, { id, body: "  " }), "invalid");
    });

    async function eventsAbout(id: string): Promise<string[]> {
      const rows = await store.read((tx) =>
        tx.all(
          dynamic((db) =>
            db.selectFrom("events").select("operation").where("subject", "=", id).orderBy("seq"),
          ),
          {},
        ),
      );
      return rows.map(({ operation }) => operation);
    }
  });
