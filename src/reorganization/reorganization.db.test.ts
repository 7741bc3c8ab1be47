import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { grantPermission, listPermissions } from "../contract/capabilities.ts";
import { readFile, writeFile } from "../contract/knowledge.ts";
import { boardInbox, readInbox, sendMessage } from "../contract/mail.ts";
import { updateCompany } from "../contract/companies.ts";
import { viewAgent } from "../contract/agents.ts";
import { completeOutcome, createOutcome, viewOutcome } from "../contract/outcomes.ts";
import {
  applyReorganization,
  type Change,
  listReorganizations,
  planReorganization,
  undoReorganization,
  type Reorganization,
  viewReorganization,
} from "../contract/reorganization.ts";
import {
  type TestCaller,
  createOrganization,
  refusal,
  storeKinds,
  sharedOrganization,
} from "../testing/organization.ts";
import { buildScene, type Scene } from "../../test/reorganization/scene.ts";
import { compare, dump } from "../simulator/restored.ts";
import { demandTold } from "../../test/reorganization/reorganizing.ts";

for (const kind of storeKinds)
  describe(`reorganizing on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { fast: true });
    let scene: Scene;

    const board = async (change: Change): Promise<Reorganization> =>
      org.board(applyReorganization, { companyId: org.companyId, change });
    const bossOf = async (id: string) => (await org.board(viewAgent, { id })).boss?.id;
    const outcome = (id: string) => org.board(viewOutcome, { id });
    const lastToBoard = async () => {
      const { messages } = await org.board(boardInbox, { companyId: org.companyId, limit: 1000 });
      return messages.at(-1)?.body ?? "";
    };
    const held = async (call: TestCaller) =>
      (await call(listPermissions, {})).grants.map(
        ({ resource, level, by }) => `${level} ${resource} ${by?.name}`,
      );

    /** Plans the change, applies it with the plan's hash, and checks that both describe every changed row, and no other. */
    async function carryOut(change: Change): Promise<Reorganization> {
      const { companyId } = org;
      const start = await dump(store);
      const plan = await org.board(planReorganization, { companyId, change });
      assert.deepEqual(compare(start, await dump(store)), [], "planning changes nothing");
      const done = await org.board(applyReorganization, { companyId, change, hash: plan.hash });
      const told = (list: Reorganization["moves"]) =>
        list.map(({ kind: of, what, from, to }) => `${of} ${what} ${from} ${to}`).toSorted();
      assert.deepEqual(told(done.moves), told(plan.moves));
      demandTold(done, start, await dump(store));
      assert.ok((await lastToBoard()).startsWith(`Reorganized: ${done.summary}.`));
      return done;
    }

    const newcomer = (name: string) => ({ name: `${name} ${scene.n}`, role: "manager" });

    // covers UNI-03
    test("inserting a layer changes only the manager of the reports", async () => {
      scene = await buildScene(org);
      const { lead, ann, bob, deep, outcomes, files } = scene;
      const rights = await Promise.all([ann, bob, deep].map(({ call }) => held(call)));
      const inboxes = () =>
        Promise.all(
          [ann, bob, deep].map(async ({ call }) => (await call(readInbox, {})).messages.map(({ id }) => id)),
        );
      const mail = await inboxes();
      const { moves } = await carryOut({
        kind: "insert_layer",
        boss: lead.id,
        manager: newcomer("middle"),
        reports: [ann.id, bob.id],
      });
      const middle = await bossOf(ann.id);
      assert.ok(middle !== undefined && middle !== lead.id);
      assert.deepEqual(
        [await bossOf(bob.id), await bossOf(middle), await bossOf(deep.id)],
        [middle, lead.id, ann.id],
      );
      // The rights are the same. The new boss passes them on, and got exactly these from its own boss.
      const name = (await org.board(viewAgent, { id: middle })).name;
      const renamed = rights.map((list) => list.map((line) => line.replace(lead.name, name)));
      const now = await Promise.all([ann, bob, deep].map(({ call }) => held(call)));
      assert.deepEqual(now, [renamed[0], renamed[1], rights[2]]);
      const { version, hash } = await ann.call(readFile, { id: files.shared });
      await ann.call(writeFile, { id: files.shared, content: "y", version, hash });
      await deep.call(readFile, { id: files.shared });
      // The new boss verifies the work that the old boss delegated, and is told what waits.
      const waiting = await outcome(outcomes.submitted);
      assert.deepEqual(
        [waiting.status, waiting.delegatedBy?.id, waiting.responsible?.id],
        ["submitted", middle, ann.id],
      );
      assert.deepEqual(
        (await outcome(ann.id)).parents.map(({ id }) => id),
        [middle],
      );
      assert.deepEqual(
        (await outcome(outcomes.part)).parents.map(({ id }) => id),
        [outcomes.goal],
      );
      assert.deepEqual(
        (await outcome(outcomes.direct)).parents.map(({ id }) => id),
        [middle],
      );
      await ann.call(sendMessage, { to: "boss", body: "hello" });
      await refusal(ann.call(sendMessage, { to: lead.id, body: "over its head" }), "forbidden");
      assert.deepEqual(await inboxes(), mail, "the reports are told nothing");
      assert.ok(moves.some((move) => move.kind === "budget" && move.id === ann.id));
      await org.board(completeOutcome, { id: outcomes.submitted });
    });

    // covers UNI-04
    test("removing a layer moves reports, work and reviews up, with the rights that the manager above holds", async () => {
      scene = await buildScene(org);
      const { lead, ann, bob, deep, waits, outcomes, files } = scene;
      const { moves, warnings } = await carryOut({ kind: "remove_layer", agent: lead.id });
      for (const { id } of [ann, bob, waits]) assert.equal(await bossOf(id), org.rootId);
      assert.equal(await bossOf(deep.id), ann.id);
      assert.equal((await org.board(viewAgent, { id: lead.id })).status, "terminated");
      for (const id of [outcomes.goal, outcomes.own, outcomes.below])
        assert.equal((await outcome(id)).responsible?.id, org.rootId);
      assert.equal((await outcome(outcomes.submitted)).delegatedBy?.id, org.rootId);
      // Root made the first file and holds it. The second was lead's own, and no agent above lead holds it.
      await deep.call(readFile, { id: files.shared });
      const { version, hash } = await ann.call(readFile, { id: files.shared });
      await ann.call(writeFile, { id: files.shared, content: "y", version, hash });
      await refusal(ann.call(readFile, { id: files.ours }), "not_found");
      assert.ok(warnings.some((line) => line.includes(ann.name) && line.includes(files.ours)));
      const mail = (await org.root(readInbox, { limit: 1000 })).messages.map(({ body }) => body ?? "");
      assert.ok(mail.some((body) => body.includes(outcomes.submitted) && body.includes("Verify it")));
      for (const text of ["read me", "a question"]) assert.ok(mail.includes(text), `${text} was left behind`);
      // Agents that depended on lead's mandate no longer wait for it. Lead's pending hires move to its boss, and the plan says
      // so.
      assert.deepEqual((await outcome(outcomes.waiter)).dependsOn, []);
      assert.ok(moves.some(({ what, to }) => what.includes("names as manager") && to === "Root"));
    });

    test("a moved report's work is verified by the new manager, and rights that the new manager lacks end", async () => {
      scene = await buildScene(org);
      const { lead, other, ann, deep, outcomes, files } = scene;
      const { warnings } = await carryOut({ kind: "move_report", agent: ann.id, to: other.id });
      assert.deepEqual([await bossOf(ann.id), await bossOf(deep.id)], [other.id, ann.id]);
      assert.equal((await outcome(outcomes.submitted)).delegatedBy?.id, other.id);
      assert.equal((await outcome(outcomes.annOwn)).responsible?.id, ann.id);
      await refusal(ann.call(readFile, { id: files.shared }), "not_found");
      await refusal(deep.call(readFile, { id: files.shared }), "not_found");
      assert.equal(warnings.length, 3, warnings.join("\n"));
      // Lead may still answer Ann's message once. After that, it has no way to write to her.
      const answer = await lead.call(sendMessage, { to: ann.id, body: "come back" });
      assert.ok(answer.inReplyTo !== null);
      await refusal(lead.call(sendMessage, { to: ann.id, body: "come back" }), "forbidden");
      await ann.call(sendMessage, { to: "boss", body: "hello" });
      assert.ok((await held(ann.call)).includes("use mcp:files undefined"), "what the board gave stays");
      const told = (await other.call(readInbox, {})).messages.map(({ body }) => body ?? "");
      assert.ok(told.some((body) => body.includes(outcomes.submitted)));
      // If the new boss holds the right, the agent keeps it.
      await org.board(grantPermission, {
        companyId: org.companyId,
        to: lead.id,
        resource: `kb:${files.ours}`,
      });
      await other.call(grantPermission, { to: ann.id, resource: `outcome:${other.id}` });
      await carryOut({ kind: "move_report", agent: ann.id, to: lead.id });
      assert.ok(!(await held(ann.call)).some((line) => line.includes(`outcome:${other.id}`)));
    });

    // covers UNI-08
    test("in a split, new agents take over the named reports and work, with the rights for them", async () => {
      scene = await buildScene(org);
      const { lead, ann, bob, outcomes, files } = scene;
      await carryOut({
        kind: "split",
        agent: lead.id,
        into: [
          { agent: newcomer("left"), reports: [ann.id], outcomes: [outcomes.goal] },
          { agent: newcomer("right"), outcomes: [outcomes.own] },
        ],
      });
      const left = (await bossOf(ann.id)) ?? "";
      const goal = await outcome(outcomes.goal);
      assert.deepEqual([goal.responsible?.id, goal.delegatedBy?.id], [left, org.rootId]);
      assert.deepEqual([await bossOf(left), await bossOf(bob.id)], [org.rootId, lead.id]);
      assert.equal((await outcome(outcomes.submitted)).delegatedBy?.id, left);
      const right = (await outcome(outcomes.own)).responsible?.id;
      assert.equal((await outcome(outcomes.below)).responsible?.id, right);
      assert.deepEqual(
        (await outcome(outcomes.own)).parents.map(({ id }) => id),
        [right],
      );
      await ann.call(readFile, { id: files.shared });
    });

    test("a right that ended with its giver's position does not return under a manager whose position includes it", async () => {
      scene = await buildScene(org);
      const { lead, bob, outcomes } = scene;
      await bob.call(viewOutcome, { id: outcomes.own });
      await carryOut({
        kind: "split",
        agent: lead.id,
        into: [{ agent: newcomer("heir"), outcomes: [outcomes.own] }],
      });
      const heir = (await outcome(outcomes.own)).responsible?.id ?? "";
      await refusal(bob.call(viewOutcome, { id: outcomes.own }), "not_found");
      await carryOut({ kind: "move_report", agent: bob.id, to: heir });
      await refusal(bob.call(viewOutcome, { id: outcomes.own }), "not_found");
    });

    // covers UNI-08
    test("after a merge one agent has all the work, and its manager stays the delegator", async () => {
      scene = await buildScene(org);
      const { lead, other, ann, bob, olga, waits, outcomes } = scene;
      await carryOut({ kind: "merge", agents: [lead.id], into: other.id });
      for (const { id } of [ann, bob, olga, waits]) assert.equal(await bossOf(id), other.id);
      const goal = await outcome(outcomes.goal);
      assert.deepEqual(
        [goal.responsible?.id, goal.delegatedBy?.id, goal.status],
        [other.id, org.rootId, "open"],
      );
      assert.equal((await outcome(outcomes.submitted)).delegatedBy?.id, other.id);
      const mail = (await other.call(readInbox, { limit: 1000 })).messages.map(({ body }) => body ?? "");
      for (const text of ["read me", "a question"]) assert.ok(mail.includes(text));
      await refusal(board({ kind: "merge", agents: [ann.id], into: org.rootId }), "refused");
      await refusal(board({ kind: "merge", agents: [other.id], into: other.id }), "refused");
    });

    // covers UNI-08
    test("a position that is handed to a person and back works from its inbox meanwhile", async () => {
      scene = await buildScene(org);
      const { ann, outcomes } = scene;
      const session = await org.session(ann.id);
      await carryOut({ kind: "hand_over", agent: ann.id, adapterType: "human" });
      assert.equal((await org.board(viewAgent, { id: ann.id })).adapterType, "human");
      await refusal(session.call(readInbox, {}), "unauthenticated");
      const told = (await ann.call(readInbox, {})).messages.at(-1)?.body ?? "";
      assert.ok(told.includes(outcomes.part) && told.includes("You are now responsible for"));
      await carryOut({ kind: "hand_over", agent: ann.id, adapterType: "rehearsal" });
      assert.equal((await org.board(viewAgent, { id: ann.id })).adapterType, "rehearsal");
      await refusal(board({ kind: "hand_over", agent: ann.id, adapterType: "nonsense" }), "invalid");
    });

    test("a split that names an outcome tells an agent nothing about outcomes that it may not read", async () => {
      scene = await buildScene(org);
      const { n, lead, other, ann, outcomes } = scene;
      const { id: hidden } = await other.call(createOutcome, { title: "hidden", parents: [other.id] });
      const split = (id: string) =>
        lead.call(applyReorganization, {
          change: {
            kind: "split",
            agent: ann.id,
            into: [{ agent: newcomer(`part ${n}`), outcomes: [id] }],
          },
        });
      const nowhere = `${hidden.slice(0, 24)}${"f".repeat(12)}`;
      const [unread, missing] = [
        await refusal(split(hidden), "not_found"),
        await refusal(split(nowhere), "not_found"),
      ];
      assert.deepEqual(
        [unread.message.replace(hidden, "X"), unread.hint],
        [missing.message.replace(nowhere, "X"), missing.hint],
      );
      // Lead's own outcome is not work of Ann, and lead may know that.
      assert.match((await refusal(split(outcomes.own), "refused")).message, /is not open work of ann/);
    });

    test("an agent can't choose a brain by handing a position over where the board decides about brains", async () => {
      scene = await buildScene(org);
      const { lead, ann, deep } = scene;
      const { companyId } = org;
      const hand = (call: TestCaller, agent: string, adapterType: string) =>
        call(applyReorganization, { change: { kind: "hand_over", agent, adapterType } });
      const brainOf = async (id: string) => (await org.board(viewAgent, { id })).adapterType;
      await refusal(hand(ann.call, deep.id, "rehearsal"), "forbidden");
      await org.board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
      const { message, hint } = await refusal(hand(lead.call, ann.id, "rehearsal"), "refused");
      assert.match(message, /^The board decides in this company which brains agents get/);
      assert.match(hint, /change_agent/);
      // A person's position has no brain, and undoing brings back the brain that the board knows.
      const before = await brainOf(ann.id);
      const { id } = await hand(lead.call, ann.id, "human");
      await refusal(hand(lead.call, ann.id, "rehearsal"), "refused");
      await lead.call(undoReorganization, { id });
      assert.equal(await brainOf(ann.id), before);
      await org.board(updateCompany, { companyId, requireBoardApprovalForNewAgents: false });
      await hand(lead.call, ann.id, "rehearsal");
      assert.equal(await brainOf(ann.id), "rehearsal");
    });

    test("firing and shrinking remove the agents with the least work, deepest first, and record the reason", async () => {
      const small = await createOrganization(store);
      scene = await buildScene(small);
      const shrink = { kind: "shrink", to: 6 } as const;
      const { companyId } = small;
      const plan = await small.board(planReorganization, { companyId, change: shrink });
      assert.match(plan.warnings.join("\n"), /olga \d+ leaves: no live work, at depth 2/);
      const done = await small.board(applyReorganization, { companyId, change: shrink, hash: plan.hash });
      const left = done.moves.filter(({ what }) => what.endsWith(" leaves and is")).map(({ id }) => id);
      assert.deepEqual(new Set(left), new Set([scene.olga.id, scene.other.id]));
      await refusal(small.board(applyReorganization, { companyId, change: { kind: "shrink" } }), "invalid");
      await small.board(applyReorganization, {
        companyId,
        change: { kind: "shrink", agents: [scene.lead.id, scene.ann.id], reason: "too many" },
      });
      const ended = await small.board(viewOutcome, { id: scene.lead.id });
      assert.deepEqual([ended.status, ended.rationale], ["closed", "too many"]);
      assert.equal(
        (await small.board(viewOutcome, { id: scene.outcomes.deepWork })).delegatedBy?.id,
        small.rootId,
      );
    });

    test("the plan names pending hires that will not come, and agents are also found by name", async () => {
      scene = await buildScene(org);
      const { lead, ann } = scene;
      const plan = async (change: Change) =>
        (await org.board(planReorganization, { companyId: org.companyId, change })).moves
          .filter(({ what }) => what.startsWith("A message from"))
          .map(({ what, from, to }) => [what.split(",")[0], from, to]);
      const toAnn = [`A message from ${lead.name}`, ann.name, null];
      const toSelf = [`A message from ${lead.name}`, lead.name, null];
      assert.deepEqual(await plan({ kind: "move_report", agent: ann.name, to: "Root" }), [toAnn]);
      assert.deepEqual(await plan({ kind: "fire", agent: lead.name.toUpperCase() }), [toSelf, toAnn]);
      assert.deepEqual(await plan({ kind: "fire", agent: scene.bob.id }), []);
    });

    test("a plan that no longer fits is not applied", async () => {
      scene = await buildScene(org);
      const { companyId } = org;
      const change: Change = { kind: "remove_layer", agent: scene.lead.id };
      const { hash } = await org.board(planReorganization, { companyId, change });
      await org.board(applyReorganization, {
        companyId,
        change: { kind: "move_report", agent: scene.bob.id, to: scene.other.id },
      });
      const before = await dump(store);
      const refused = await refusal(org.board(applyReorganization, { companyId, change, hash }), "conflict");
      assert.match(String(refused.details?.["hash"]), /^[0-9a-f]{64}$/);
      assert.deepEqual(compare(before, await dump(store)), []);
    });

    test("a manager reorganizes only below itself, and no change makes a circle or moves the root or a pending agent", async () => {
      scene = await buildScene(org);
      const { lead, other, ann, bob, deep, olga, waits } = scene;
      const { companyId } = org;
      const as = (call: TestCaller, change: Change) => call(applyReorganization, { change });
      const move = (agent: string, to: string): Change => ({ kind: "move_report", agent, to });
      await refusal(as(lead.call, move(olga.id, lead.id)), "forbidden");
      await refusal(as(lead.call, move(ann.id, other.id)), "forbidden");
      await refusal(as(lead.call, move(lead.id, ann.id)), "forbidden");
      await refusal(as(lead.call, { kind: "fire", agent: lead.id }), "forbidden");
      await refusal(as(deep.call, { kind: "fire", agent: ann.id }), "forbidden");
      await refusal(lead.call(planReorganization, { change: { kind: "fire", agent: olga.id } }), "forbidden");
      await refusal(board(move(lead.id, deep.id)), "refused");
      await refusal(board(move(ann.id, ann.id)), "refused");
      await refusal(board(move(ann.id, lead.id)), "conflict");
      await refusal(board(move(org.rootId, lead.id)), "refused");
      await refusal(board(move(waits.id, other.id)), "refused");
      await refusal(board(move(ann.id, waits.id)), "refused");
      for (const change of [
        { kind: "fire", agent: org.rootId },
        { kind: "remove_layer", agent: org.rootId },
        { kind: "remove_layer", agent: waits.id },
        { kind: "split", agent: org.rootId, into: [{ agent: newcomer("half") }] },
        { kind: "split", agent: lead.id, into: [{ agent: newcomer("half"), outcomes: [lead.id] }] },
        { kind: "insert_layer", boss: lead.id, manager: newcomer("m"), reports: [olga.id] },
        { kind: "insert_layer", boss: waits.id, manager: newcomer("m"), reports: [ann.id] },
        { kind: "insert_layer", boss: lead.id, manager: newcomer("m"), reports: [waits.id] },
      ] satisfies Change[])
        await refusal(board(change), "refused");
      await refusal(board({ kind: "merge", agents: [ann.id, ann.id], into: bob.id }), "invalid");
      // An agent that may not hire can't add new agents. If hires need approval, the change can't be made in one step.
      const insert: Change = {
        kind: "insert_layer",
        boss: ann.id,
        manager: newcomer("sub"),
        reports: [deep.id],
      };
      await refusal(as(ann.call, insert), "forbidden");
      await org.board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
      await refusal(as(lead.call, insert), "refused");
      await org.board(updateCompany, { companyId, requireBoardApprovalForNewAgents: false });
      // Within its part of the tree the agent may do it, and sees the result. Other agents don't.
      const own = await as(lead.call, insert);
      await as(lead.call, { kind: "move_report", agent: bob.id, to: ann.id });
      assert.equal((await lead.call(listReorganizations, {})).reorganizations.length, 2);
      assert.equal((await lead.call(viewReorganization, { id: own.id })).appliedBy?.id, lead.id);
      await refusal(ann.call(viewReorganization, { id: own.id }), "not_found");
      // The agents of another company can't be found.
      const elsewhere = await org.another();
      await refusal(elsewhere.root(viewReorganization, { id: own.id }), "not_found");
      await refusal(
        elsewhere.root(applyReorganization, { change: move(ann.id, elsewhere.rootId) }),
        "not_found",
      );
      await refusal(board(move(elsewhere.rootId, lead.id)), "not_found");
    });
  });
