// An approval remembers each revision, each note with its author, and how it ended.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { terminateAgent, viewAgent } from "../contract/agents.ts";
import * as contract from "../contract/approvals.ts";
import { setBudget } from "../contract/budgets.ts";
import { grantPermission } from "../contract/capabilities.ts";
import { updateCompany } from "../contract/companies.ts";
import { requestAgent } from "../contract/create-agent.ts";
import { changeAgent, hireAgent } from "../contract/hiring.ts";
import { createFile } from "../contract/knowledge.ts";
import { readInbox } from "../contract/mail.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import {
  applyReorganization,
  type Change,
  planReorganization,
  undoReorganization,
} from "../contract/reorganization.ts";
import { pauseFor } from "../budgets/halting.ts";
import { moneyOf } from "../budgets/requested.ts";
import { poolOf } from "../budgets/table.ts";
import { newId } from "../daemon/ids.ts";
import { bySystem } from "../dispatch/context.ts";
import { findBroken } from "../invariants/examine.ts";
import { updating } from "../store/query.ts";
import { refusal, storeKinds, type TestCaller, sharedOrganization } from "../testing/organization.ts";
import type { Payload } from "./approval.ts";
import { expire } from "./concluding.ts";
import { changedFields } from "./fields.ts";
import { approvalById } from "./table.ts";

for (const kind of storeKinds)
  describe(`the history of approvals on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { approvals: true });
    let lead: { id: string; call: TestCaller };
    lead = await org.agent("Lead");
    await org.board(grantPermission, { companyId: org.companyId, to: lead.id, resource: "org:hire" });

    let number = 0;
    const hire = async (more: Record<string, unknown> = {}, by: TestCaller = org.root) => {
      const { agent, approval } = await by(hireAgent, { name: `Hire ${++number}`, role: "worker", ...more });
      assert.ok(approval !== null);
      return { ...approval, agent };
    };
    const view = (id: string, by: TestCaller = org.board) => by(contract.viewApproval, { id });
    const timeline = async (id: string, by: TestCaller = org.board) =>
      (await by(contract.approvalTimeline, { id })).timeline;
    const mailOf = async (by: TestCaller) =>
      (await by(readInbox, { limit: 1000 })).messages.map(({ body }) => body ?? "");
    const lastMail = async (by: TestCaller, id: string) =>
      (await mailOf(by)).filter((body) => body.includes(id)).at(-1) ?? "";

    test("every revision keeps its payload, author, reason and differences", async () => {
      const { id, payloadHash } = await hire({ title: "First", prompt: "one two" });
      await org.board(contract.requestRevision, { id, decisionNote: "Make it a lead." });
      await org.root(contract.resubmit, { id, payload: { title: "Lead" }, decisionNote: "Done." });
      await org.board(contract.requestRevision, { id });
      await org.root(contract.resubmit, { id, payload: { title: "Lead", prompt: "one three" } });
      await org.board(contract.approve, { id, decisionNote: "Welcome." });
      const { revisions } = await org.root(contract.listRevisions, { id });
      assert.deepEqual(
        revisions.map(({ revision, note, by, diff }) => [revision, note, by.agent?.name, diff]),
        [
          [1, null, "Root", []],
          [2, "Done.", "Root", [{ field: "title", before: "First", after: "Lead" }]],
          [3, null, "Root", [{ field: "prompt", before: "one two", after: "one three" }]],
        ],
      );
      assert.equal(revisions[0]?.payloadHash, payloadHash);
      assert.equal(revisions[2]?.payloadHash, (await view(id)).payloadHash);
      const first = await org.root(contract.listRevisions, { id, limit: 1 });
      const next = await org.root(contract.listRevisions, { id, cursor: first.nextCursor ?? "" });
      assert.deepEqual([first.revisions.length, next.revisions.length], [1, 2]);
      assert.deepEqual(
        (await timeline(id)).map((step) => [
          step.kind,
          step.by.person?.name ?? step.by.agent?.name,
          step.note,
        ]),
        [
          ["created", "Root", null],
          ["revision_requested", "Owner", "Make it a lead."],
          ["revised", "Root", "Done."],
          ["revision_requested", "Owner", null],
          ["revised", "Root", null],
          ["approved", "Owner", "Welcome."],
        ],
      );
      assert.deepEqual((await timeline(id))[4]?.diff, revisions[2]?.diff);
      assert.deepEqual((await org.board(contract.viewApproval, { id })).timeline, await timeline(id));
      const { comments } = await org.root(contract.listComments, { id });
      assert.deepEqual(
        comments.map(({ kind: of, body }) => [of, body]),
        [
          ["revision_requested", "Make it a lead."],
          ["revised", "Done."],
          ["approved", "Welcome."],
        ],
      );
      assert.deepEqual(
        [(await view(id)).decision?.reason, (await view(id)).decision?.by.person?.name],
        ["decided", "Owner"],
      );
    });

    test("a secret that changes between revisions is listed as changed and shown nowhere", async () => {
      await org.board(updateCompany, {
        companyId: org.companyId,
        allowedAdapterTypes: ["rehearsal", "process"],
      });
      const command = { command: "/usr/bin/env", args: ["-i", "x"] };
      const { id } = await hire({
        adapterType: "process",
        adapterConfig: { ...command, env: { API_KEY: "swordfish-first-123" } },
      });
      const shown = await view(id);
      assert.equal(shown.changes.brain?.command, "/usr/bin/env -i x");
      assert.equal(shown.changes.brain?.secrets.length, 1);
      assert.match(shown.changes.brain?.secrets[0] ?? "", /^API_KEY-/);
      assert.deepEqual((await view(id, org.root)).changes.brain?.secrets, []);
      await org.board(contract.requestRevision, { id });
      const adapterConfig = { ...command, env: { API_KEY: "swordfish-second-456" } };
      await org.root(contract.resubmit, { id, payload: { adapterConfig } });
      const { revisions } = await org.board(contract.listRevisions, { id });
      const diff = revisions[1]?.diff ?? [];
      assert.ok(diff.length === 1 && diff[0]?.field.startsWith("adapterConfig.env.API_KEY"));
      for (const text of [shown, revisions, await timeline(id)])
        assert.ok(!JSON.stringify(text).includes("swordfish"), JSON.stringify(text));
    });

    test("changes name the position, the headcount, rights, budget, brain, and the waiting work", async () => {
      await org.board(updateCompany, {
        companyId: org.companyId,
        monthlyBudget: { usd: 100 },
        maxAgents: 500,
      });
      await org.board(setBudget, { id: lead.id, usd: 10 });
      const file = await org.root(createFile, { description: "The plan", content: "x" });
      await org.root(grantPermission, { to: lead.id, resource: `kb:${file.id}`, level: "write" });
      const job = await lead.call(createOutcome, { title: "The job", parents: [lead.id] });
      const grants = [{ resource: `kb:${file.id}`, level: "read" as const }];
      await lead.call(delegateOutcome, {
        id: job.id,
        hire: {
          name: "Jo",
          role: "worker",
          prompt: "Work.",
          model: "small",
          effort: "low",
          budget: { usd: 4 },
        },
        grants,
      });
      const { approvals } = await lead.call(contract.listApprovals, {
        status: "pending",
        type: "hire_agent",
      });
      const id = approvals[0]?.id ?? "";
      const { changes } = await view(id);
      assert.deepEqual(
        changes.place?.path.map(({ name }) => name),
        ["Root", "Lead"],
      );
      assert.equal(changes.headcount?.after, (changes.headcount?.before ?? 0) + 1);
      assert.equal(changes.headcount?.limit, 500);
      const [right] = changes.rights;
      assert.deepEqual(
        [right?.title, right?.level, right?.from?.name, right?.held],
        ["The plan", "read", "Lead", true],
      );
      assert.deepEqual(
        right?.chain.map(({ from, to }) => `${from} > ${to}`),
        ["Root > Root", "Root > Lead"],
      );
      assert.deepEqual(
        changes.money
          .filter(({ measure }) => measure === "usd")
          .map(({ pool, before: was, after: is }) => [
            pool.title,
            was?.limit,
            was?.left,
            is?.limit,
            is?.left,
          ]),
        [
          ["Jo", undefined, undefined, 4, 4],
          ["Lead", 10, 10, 10, 6],
        ],
      );
      assert.deepEqual(
        [changes.brain?.type, changes.brain?.model, changes.brain?.effort, changes.brain?.prompt],
        ["rehearsal", "small", "low", "Work."],
      );
      assert.deepEqual(changes.heldUp, [{ kind: "outcome", id: job.id, title: "The job" }]);
      assert.deepEqual(changes.obstacles, []);
      // The requester sees no budget above its own, and sees where its right came from.
      const own = (await view(id, lead.call)).changes;
      assert.deepEqual([own.money.length, own.rights[0]?.chain.length], [2, 2]);
      await org.board(grantPermission, { companyId: org.companyId, to: lead.id, resource: "org:hire" });
      await org.board(setBudget, { id: lead.id, usd: 1 });
      assert.match((await view(id)).changes.obstacles.join(), /\$4\.00 doesn't fit/);
      await refusal(org.board(contract.approve, { id }), "refused");
      await org.board(setBudget, { id: lead.id, usd: 10 });
      const shown = (await view(id)).changes.money;
      await org.board(contract.approve, { id });
      // The shown budgets stay as they were at the decision, whatever happens to them later.
      await org.board(setBudget, { id: lead.id, usd: 50 });
      assert.deepEqual((await view(id)).changes.money, shown);
      assert.deepEqual((await view(id, lead.call)).changes.money, own.money);
      const [theirs, ...others] = shown;
      assert.deepEqual([theirs?.pool.title, others.length > 0], ["Jo", true]);
    });

    /** The request for a bigger budget, opened when an agent has used up its budget. */
    const overrideOf = async (id: string): Promise<string> => {
      const { companyId } = org;
      await org.board(setBudget, { id, sessions: 3 });
      await store.write(async (tx) => {
        const pool = await poolOf(tx, { companyId, id, measure: "sessions" });
        await pauseFor(bySystem(tx, companyId, newId), id, pool);
      });
      const type = "budget_override" as const;
      const { approvals } = await org.board(contract.listApprovals, { companyId, type });
      const found = approvals.find(({ payload }) => payload["pool"] === id);
      assert.deepEqual([found?.payload["limit"], found?.payload["measure"]], [3, "sessions"]);
      return found?.id ?? "";
    };

    test("every field of every type of request is among its changes", async () => {
      const { requestId = "" } = await lead.call(requestAgent, {
        name: "Nia",
        role: "writer",
        waitSeconds: 0,
      });
      const ann = await org.agent("Ann", lead.id);
      const types: Record<contract.ApprovalType, string> = {
        hire_agent: (
          await hire({
            title: "T",
            capabilities: "C",
            mandate: "M",
            prompt: "P",
            model: "m",
            effort: "max",
            budget: { usd: 1 },
          })
        ).id,
        create_agent: requestId,
        change_agent: (
          await lead.call(changeAgent, {
            agent: ann.id,
            reason: "Slow.",
            prompt: "Faster.",
            effort: "low",
            budget: { usd: 1 },
          })
        ).id,
        approve_ceo_strategy: (await org.root(contract.requestApproval, { payload: { plan: "# Grow" } })).id,
        budget_override: await overrideOf(ann.id),
      };
      for (const [type, id] of Object.entries(types)) {
        const { payload, changes } = await view(id);
        assert.deepEqual(unshown(payload, changes.fields), [], type);
      }
      // A planted list that leaves one field out is found.
      const { payload } = await view(types.hire_agent);
      const partial = changedFields(payload).filter(({ field }) => field !== "prompt");
      assert.deepEqual(unshown(payload, partial), ["P"]);
    });

    test("abilities name the calls of each state, and who can make them", async () => {
      const { id, agent } = await hire();
      const names = async (by: TestCaller = org.board) =>
        (await view(id, by)).abilities
          .filter(({ yours }) => yours)
          .map(({ name }) => name.replace("approval.", ""));
      assert.deepEqual(await names(), ["approve", "reject", "request_revision", "cancel", "comment"]);
      assert.deepEqual(await names(org.root), ["cancel", "comment"]);
      await org.board(contract.requestRevision, { id });
      assert.deepEqual(await names(), ["reject", "resubmit", "cancel", "comment"]);
      assert.deepEqual(await names(org.root), ["resubmit", "cancel", "comment"]);
      await org.board(contract.reject, { id });
      assert.deepEqual(await names(), ["comment", "agent.delete"]);
      assert.equal(
        (await view(id)).abilities.find(({ name }) => name === "agent.delete")?.path,
        `/api/agents/${agent.id}`,
      );
      const { requestId = "" } = await lead.call(requestAgent, { name: "Yes or no", waitSeconds: 0 });
      const { abilities } = await view(requestId);
      assert.ok(abilities.every(({ name }) => name !== "approval.request_revision"));
    });

    test("the list is filtered by status, type and agent", async () => {
      const { id, agent } = await hire({}, lead.call);
      const ids = async (filter: Record<string, unknown>) =>
        (await org.board(contract.listApprovals, { companyId: org.companyId, ...filter })).approvals.map(
          (one) => one.id,
        );
      assert.deepEqual(await ids({ agent: agent.id }), [id]);
      assert.ok((await ids({ agent: lead.id })).includes(id));
      assert.ok(!(await ids({ agent: lead.id, type: "create_agent" })).includes(id));
      assert.ok(!(await ids({ agent: lead.id, status: "rejected" })).includes(id));
      assert.deepEqual(await ids({ agent: lead.id, limit: 1 }), [id]);
    });

    test("a search of the list looks at the names and roles of requesters and of the agents they ask for", async () => {
      const names = ["Zelda Moss", "Zeno Moss", "Zack Fern"];
      const asked = new Map<string, string>();
      for (const name of names) asked.set(name, (await hire({ name, role: "Gardener" }, lead.call)).id);
      const find = (filter: Record<string, unknown>) =>
        org.board(contract.listApprovals, { companyId: org.companyId, ...filter });
      const found = async (text: string) => {
        const { approvals, count } = await find({ text });
        assert.equal(count, approvals.length);
        return names.filter((name) => approvals.some(({ id }) => id === asked.get(name)));
      };
      assert.deepEqual(await found("moss"), ["Zelda Moss", "Zeno Moss"]);
      assert.deepEqual(await found("ZEL garden"), ["Zelda Moss"]);
      assert.deepEqual(await found("zel fern"), []);
      assert.deepEqual(await found("lead zack"), ["Zack Fern"]);
      assert.deepEqual(await found("-"), []);
      const first = await find({ text: "moss", limit: 1 });
      assert.deepEqual([first.approvals.length, first.count], [1, 2]);
      const second = await find({ text: "moss", limit: 1, cursor: first.nextCursor ?? "" });
      assert.deepEqual(
        [...first.approvals, ...second.approvals].map(({ id }) => id),
        [asked.get("Zeno Moss"), asked.get("Zelda Moss")],
      );
      assert.equal(second.nextCursor, null);
      const fern = asked.get("Zack Fern");
      await refusal(find({ text: "moss", limit: 1, cursor: fern }), "invalid");
    });

    test("the requester, its manager and the new manager are told of the decision, each once", async () => {
      const sub = await org.agent("Sub", lead.id);
      const { id } = await hire({ reportsTo: sub.id }, lead.call);
      await org.board(contract.approve, { id, decisionNote: "Go ahead." });
      assert.match(await lastMail(lead.call, id), /^The hire of .* was approved .*Owner.*Go ahead/s);
      assert.match(await lastMail(sub.call, id), /, which Lead requested, was approved .*Go ahead/s);
      const atTop = await lastMail(org.root, id);
      assert.match(atTop, /, which Lead requested, was approved/);
      // The requester's manager is told what happened. Only readers of the thread see the note.
      for (const by of [lead.call, sub.call, org.root])
        assert.equal((await mailOf(by)).filter((body) => body.includes(id)).length, 1);
    });

    test("a request that ends without a decision has a reason, and its requester is told", async () => {
      const fired = await hire({}, lead.call);
      await org.board(terminateAgent, { id: fired.agent.id, reason: "We have one." });
      assert.deepEqual(
        [(await view(fired.id)).decision?.reason, (await view(fired.id)).status],
        ["overtaken", "cancelled"],
      );
      assert.match(await lastMail(lead.call, fired.id), /because of another change: .*did not decide on it/s);

      const { requestId = "" } = await lead.call(requestAgent, { name: "Too late", waitSeconds: 0 });
      await store.write(async (tx) => {
        await tx.lock(org.companyId);
        await tx.run(expireNow, { id: requestId, expires_at: tx.now - 1 });
        const approval = await approvalById(tx, requestId);
        assert.ok(await expire(bySystem(tx, org.companyId, newId), approval, moneyOf));
      });
      const late = await view(requestId);
      assert.deepEqual(
        [late.status, late.decision?.reason, late.decision?.by.kind, late.decisionNote],
        ["rejected", "timeout", "system", "timeout"],
      );
      assert.equal((await timeline(requestId)).at(-1)?.kind, "expired");
      const notice = await lastMail(lead.call, requestId);
      assert.match(notice, /expired .*did not decide in time/);
      const { message } = await refusal(org.board(contract.reject, { id: requestId }), "conflict");
      assert.match(message, /expired .*before a person decided/);
      const { requestId: other = "" } = await lead.call(requestAgent, { name: "Said no", waitSeconds: 0 });
      await org.board(contract.reject, { id: other });
      assert.equal((await view(other)).decision?.reason, "decided");
      assert.doesNotMatch(await lastMail(lead.call, other), /expired|in time/);
    });

    test("a request that ends without a decision keeps the budget changes that an approval would have made", async () => {
      const { companyId } = org;
      const boss = await org.agent("Payer");
      const worker = await org.agent("Paid", boss.id);
      await org.board(setBudget, { id: boss.id, usd: 20 });
      const hasAsked = async (type: contract.ApprovalType, id: string) => {
        const { money } = (await view(id)).changes;
        assert.ok(money.length > 0, type);
        return { type, id, money };
      };
      // Each type of request with a budget, ended by each cause that is not a decision.
      await org.board(grantPermission, { companyId, to: boss.id, resource: "org:hire" });
      const hired = await hire({ budget: { usd: 4 } }, boss.call);
      const hireRequest = await hasAsked("hire_agent", hired.id);
      const withdrawn = await hire({ budget: { usd: 5 } }, boss.call);
      const withdrawal = await hasAsked("hire_agent", withdrawn.id);
      const proposal = await boss.call(changeAgent, {
        agent: worker.id,
        budget: { usd: 3 },
        reason: "Paper.",
      });
      const change = await hasAsked("change_agent", proposal.id);
      const { requestId = "" } = await boss.call(requestAgent, { name: "Too late to pay", waitSeconds: 0 });
      const creation = await hasAsked("create_agent", requestId);
      const raise = await hasAsked("budget_override", await overrideOf(lead.id));

      await org.board(terminateAgent, { id: hired.agent.id, reason: "We have one." });
      await boss.call(contract.cancelApproval, { id: withdrawn.id });
      await org.board(applyReorganization, {
        companyId,
        change: { kind: "move_report", agent: worker.id, to: org.rootId },
      });
      await store.write(async (tx) => {
        await tx.lock(companyId);
        for (const id of [creation.id, raise.id]) {
          await tx.run(expireNow, { id, expires_at: tx.now - 1 });
          const open = await approvalById(tx, id);
          assert.ok(await expire(bySystem(tx, companyId, newId), open, moneyOf));
        }
      });
      // Later changes of budgets must not show up.
      await org.board(setBudget, { id: boss.id, usd: 7 });
      await org.board(setBudget, { id: lead.id, sessions: 90 });
      for (const { type, id, money } of [hireRequest, withdrawal, change, creation, raise]) {
        const { status, changes } = await view(id);
        assert.ok(status === "rejected" || status === "cancelled", `${type} ${status}`);
        assert.deepEqual(changes.money, money, type);
      }
    });

    test("a request below a reclaimed agent keeps the budget of that agent as it was before", async () => {
      const { companyId } = org;
      const chief = await org.agent("Chief");
      await org.board(grantPermission, { companyId, to: chief.id, resource: "org:hire" });
      await org.board(setBudget, { id: chief.id, usd: 20 });
      const below = await org.agent("Aide", chief.id);
      const { id } = await hire({ reportsTo: below.id, budget: { usd: 4 } }, chief.call);
      const { money } = (await view(id)).changes;
      assert.ok(money.some(({ pool }) => pool.title === "Chief"));
      await org.board(reclaimOutcome, { id: chief.id, reason: "Another way." });
      const { status, changes } = await view(id);
      assert.equal(status, "cancelled");
      assert.deepEqual(changes.money, money);
    });

    for (const [name, changeOf] of [
      ["a removed layer", (chief: string) => ({ kind: "remove_layer", agent: chief })],
      [
        "a merged agent",
        (chief: string, _: string, peer: string) => ({ kind: "merge", agents: [chief], into: peer }),
      ],
      [
        "agents that leave together",
        (chief: string, aide: string) => ({ kind: "shrink", agents: [chief, aide] }),
      ],
    ] as const satisfies [string, (...ids: [string, string, string]) => Change][])
      test(`the requests of ${name} keep the budgets as they were before`, async () => {
        const { companyId } = org;
        const title = `Chief ${++number}`;
        const chief = await org.agent(title);
        const aide = await org.agent(`Aide ${number}`, chief.id);
        const peer = await org.agent(`Peer ${number}`);
        await org.board(setBudget, { id: chief.id, sessions: 20 });
        const raise = await overrideOf(aide.id);
        const proposal = await org.root(changeAgent, {
          agent: chief.id,
          budget: { sessions: 25 },
          reason: "More.",
        });
        const asked = [proposal.id, raise];
        const shown = await Promise.all(asked.map(async (id) => (await view(id)).changes.money));
        assert.ok(shown.every((money) => money.some(({ pool }) => pool.title === title)));
        await org.board(applyReorganization, { companyId, change: changeOf(chief.id, aide.id, peer.id) });
        for (const [index, id] of asked.entries()) {
          const { status, changes } = await view(id);
          if (id === proposal.id || name === "agents that leave together") {
            assert.equal(status, "cancelled");
            assert.deepEqual(changes.money, shown[index]);
          } else assert.equal(status, "pending");
        }
        // An agent that leaves is told nothing, so its heir inherits no mail about its requests.
        const ended = new RegExp(asked.join("|"));
        assert.doesNotMatch((await mailOf(peer.call)).join("\n"), ended);
      });

    test("a request to raise a budget ends when that budget is removed, because approving would set a limit", async () => {
      const agent = await org.agent("Freed");
      const id = await overrideOf(agent.id);
      await org.board(setBudget, { id: agent.id, sessions: null });
      const { status, decision, changes } = await view(id);
      assert.deepEqual([status, decision?.reason, changes.money], ["cancelled", "overtaken", []]);
      await refusal(org.board(contract.approve, { id }), "conflict");
      assert.equal((await org.board(viewAgent, { id: agent.id })).status, "idle");
    });

    test("the refusal of a second decision names the first decision, its author and its time", async () => {
      const { id } = await hire();
      await org.board(contract.reject, { id });
      const { message, details } = await refusal(org.board(contract.approve, { id }), "conflict");
      assert.equal(message, "Owner rejected it just now, so it can't become approved.");
      assert.deepEqual([details?.["step"], details?.["by"]], ["rejected", "Owner"]);
      assert.ok(!Number.isNaN(Date.parse(String(details?.["at"]))));
    });

    test("a reorganization and its undo add revisions and steps, and remove none", async () => {
      const middle = await org.agent("Middle");
      await org.board(grantPermission, { companyId: org.companyId, to: middle.id, resource: "org:hire" });
      const { id } = await hire({}, middle.call);
      const { requestId = "" } = await middle.call(requestAgent, { name: "Wish", waitSeconds: 0 });
      const change = { kind: "fire", agent: middle.id } as const;
      const { hash } = await org.board(planReorganization, { companyId: org.companyId, change });
      const applied = await org.board(applyReorganization, { companyId: org.companyId, change, hash });
      assert.equal((await view(requestId)).decision?.reason, "overtaken");
      await org.board(undoReorganization, { id: applied.id });
      assert.deepEqual(
        (await timeline(id)).map(({ kind: of, revision }) => [of, revision]),
        [
          ["created", 1],
          ["revised", 2],
          ["revised", 3],
        ],
      );
      const { revisions } = await org.board(contract.listRevisions, { id });
      assert.deepEqual(
        [revisions[1]?.diff[0]?.field, revisions[2]?.diff[0]?.after],
        ["reportsTo", middle.id],
      );
      assert.deepEqual(
        (await timeline(requestId)).map((step) => step.kind),
        ["created", "overtaken", "reopened"],
      );
      assert.equal((await view(requestId)).status, "pending");
      await org.board(contract.approve, { id });
    });

    test("a requester reads its own thread, and strangers read none", async () => {
      const { id } = await hire({}, lead.call);
      await org.board(contract.requestRevision, { id, decisionNote: "Why?" });
      assert.equal((await timeline(id, lead.call)).at(-1)?.note, "Why?");
      const stranger = await org.agent("Stranger");
      await refusal(stranger.call(contract.approvalTimeline, { id }), "not_found");
      await refusal(stranger.call(contract.listRevisions, { id }), "not_found");
      await refusal(stranger.call(contract.viewApproval, { id }), "not_found");
    });

    test("after all of this, every invariant holds", async () => {
      const found = await store.read((tx) => findBroken(tx, { areas: ["organization", "work"] }));
      assert.deepEqual(found, []);
    });
  });

/** The values of a payload that no field shows. */
function unshown(payload: Payload, fields: readonly contract.FieldChange[]): string[] {
  const shown = JSON.stringify(fields);
  const leaves = (value: unknown): unknown[] =>
    typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [value];
  const { revision: _, ...rest } = payload;
  return leaves(rest)
    .filter((value) => value !== null && !shown.includes(JSON.stringify(value)))
    .map(String);
}

const expireNow = updating("approvals", ["expires_at"], ["id"]);
