import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setBudget } from "../contract/budgets.ts";
import { grantPermission } from "../contract/capabilities.ts";
import { readFile } from "../contract/knowledge.ts";
import { acknowledgeMessage, boardInbox, readInbox } from "../contract/mail.ts";
import { updateCompany } from "../contract/companies.ts";
import { reject, viewApproval } from "../contract/approvals.ts";
import { requestAgent } from "../contract/create-agent.ts";
import { changeAgent, createAgent, hireAgent } from "../contract/hiring.ts";
import { findBroken } from "../invariants/examine.ts";
import type { Output } from "../contract/operation.ts";
import { createKey, listAgents, terminateAgent, viewAgent } from "../contract/agents.ts";
import {
  completeOutcome,
  createOutcome,
  myOutcomes,
  reopenOutcome,
  viewOutcome,
} from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import {
  applyReorganization,
  type Change,
  listReorganizations,
  planReorganization,
  undoReorganization,
  viewReorganization,
} from "../contract/reorganization.ts";
import { refusal, sharedOrganization, storeKinds, type TestCaller } from "../testing/organization.ts";
import { buildScene, type Scene } from "../../test/reorganization/scene.ts";
import { charge } from "../budgets/table.ts";
import { updating } from "../store/query.ts";
import { compare, dump, notRestored } from "../simulator/restored.ts";

const changes: Readonly<Record<string, (scene: Scene) => Change>> = {
  "inserting a layer": ({ n, lead, ann, bob }) => ({
    kind: "insert_layer",
    boss: lead.id,
    manager: { name: `middle ${n}`, role: "manager" },
    reports: [ann.id, bob.id],
  }),
  "removing a layer": ({ lead }) => ({ kind: "remove_layer", agent: lead.id }),
  "moving a report": ({ ann, other }) => ({ kind: "move_report", agent: ann.id, to: other.id }),
  splitting: ({ n, lead, ann, outcomes }) => ({
    kind: "split",
    agent: lead.id,
    into: [
      { agent: { name: `left ${n}`, role: "lead" }, reports: [ann.id], outcomes: [outcomes.goal] },
      { agent: { name: `right ${n}`, role: "lead" }, outcomes: [outcomes.own] },
    ],
  }),
  merging: ({ lead, other }) => ({ kind: "merge", agents: [lead.id], into: other.id }),
  "handing a position over": ({ ann }) => ({ kind: "hand_over", agent: ann.id, adapterType: "human" }),
  firing: ({ lead }) => ({ kind: "fire", agent: lead.id, reason: "enough" }),
  "firing who was made for an outcome": ({ made }) => ({ kind: "fire", agent: made.id }),
  "firing who waits": ({ waits }) => ({ kind: "fire", agent: waits.id }),
  shrinking: ({ lead, ann, olga }) => ({ kind: "shrink", agents: [lead.id, ann.id, olga.id] }),
};

for (const kind of storeKinds)
  describe(`undoing on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { fast: true });

    const apply = (change: Change) => org.board(applyReorganization, { companyId: org.companyId, change });
    const undo = (id: string) => org.board(undoReorganization, { id });

    const sumOf = (totals: Readonly<Record<string, number>>): number =>
      Object.values(totals).reduce((sum, each) => sum + each, 0);

    /** Every agent that the plan shows exists below that manager. A new agent is compared by name. */
    async function isAsPlanned(after: Output<typeof planReorganization>["after"]): Promise<void> {
      const { agents } = await org.board(listAgents, { companyId: org.companyId, limit: 1000 });
      const nameAt = (id: string): string => id.replace(/^new: /, "");
      for (const { id, name, boss } of after) {
        const agent = agents.find((one) => one.id === id || one.name === nameAt(id));
        assert.equal(agent?.name, name);
        assert.notEqual(agent.status, "terminated");
        const isBelow = [agent.boss?.id ?? null, agent.boss?.name].includes(
          boss === null ? null : nameAt(boss),
        );
        assert.ok(
          isBelow,
          `${name} reports to ${agent.boss?.name ?? "the board"} instead of ${boss ?? "it"}`,
        );
      }
      assert.ok(after.some(({ id }) => id === org.rootId));
    }

    test("the answer says in advance whether a reorganization can be undone, and why not", async () => {
      const { ann, other } = await buildScene(org);
      const { id } = await apply({ kind: "move_report", agent: ann.id, to: other.id });
      const later = await apply({ kind: "move_report", agent: ann.id, to: org.rootId });
      const before = await dump(store);
      const { undoable } = await org.board(viewReorganization, { id });
      await org.board(viewReorganization, { id: later.id });
      assert.deepEqual(await dump(store), before, "looking changes nothing");
      const { message } = await refusal(undo(id), "conflict");
      assert.deepEqual(undoable, { possible: false, reason: message });
      assert.match(message, new RegExp(`${ann.name} .*has changed`));
      await undo(later.id);
      assert.equal((await org.board(viewReorganization, { id })).undoable.possible, true);
      await undo(id);
      assert.match((await org.board(viewReorganization, { id })).undoable.reason ?? "", /already undone/);
    });

    for (const [name, make] of Object.entries(changes))
      test(`${name}: every row is as it was`, async () => {
        const scene = await buildScene(org);
        // Budgets come back with their spending.
        await org.board(setBudget, { id: scene.lead.id, tokens: 5000 });
        await org.board(setBudget, { id: scene.ann.id, tokens: 1000 });
        await store.write((tx) => charge(tx, scene.lead.id, "tokens", 700));
        const start = await dump(store);
        const plan = await org.board(planReorganization, { companyId: org.companyId, change: make(scene) });
        const { id, moves, summary, totals } = await apply(make(scene));
        assert.deepEqual([plan.totals, sumOf(totals)], [totals, moves.length]);
        await isAsPlanned(plan.after);
        const shown = await org.board(viewReorganization, { id });
        assert.deepEqual(shown.undoable, { possible: true, reason: null });
        assert.ok(compare(start, await dump(store)).length > 3 && moves.length > 0);
        const undone = await undo(id);
        assert.deepEqual([undone.status, undone.moves], ["undone", moves]);
        assert.deepEqual(notRestored(start, await dump(store)), []);
        const { messages } = await org.board(boardInbox, { companyId: org.companyId, limit: 1000 });
        assert.ok(messages.at(-1)?.body?.startsWith(`Reorganized: ${summary}, undone.`));
        // Everything is as before, so the same change can be made again.
        await refusal(undo(id), "conflict");
        const again = await apply(make(scene));
        await undo(again.id);
        assert.deepEqual(notRestored(start, await dump(store)), []);
      });

    test("an agent that comes back has its work and rights again, but its earlier keys and sessions stay invalid", async () => {
      const { lead, outcomes, files } = await buildScene(org);
      const session = await org.session(lead.id);
      const plan = await org.board(planReorganization, {
        companyId: org.companyId,
        change: { kind: "fire", agent: lead.id },
      });
      assert.ok(plan.warnings.some((one) => one.includes(`of ${lead.name} is revoked. Undoing does not`)));
      await org.board(terminateAgent, { id: lead.id });
      await refusal(lead.call(myOutcomes, {}), "unauthenticated");
      const { reorganizations } = await org.board(listReorganizations, { companyId: org.companyId });
      assert.equal(reorganizations[0]?.kind, "fire");
      await undo(reorganizations[0]?.id ?? "");
      await refusal(lead.call(myOutcomes, {}), "unauthenticated");
      await refusal(session.call(myOutcomes, {}), "unauthenticated");
      const { messages } = await org.board(boardInbox, { companyId: org.companyId, limit: 1000 });
      assert.match(
        messages.at(-1)?.body ?? "",
        new RegExp(`The earlier API keys of ${lead.name} stay revoked`),
      );
      const again = org.as((await org.board(createKey, { id: lead.id })).key);
      await again(readFile, { id: files.shared });
      await again(completeOutcome, { id: outcomes.below });
      assert.ok((await again(readInbox, {})).messages.some(({ body }) => body === "a question"));
      await org.session(lead.id);
    });

    test("changes of other things do not prevent an undo", async () => {
      const { lead, ann, other, outcomes } = await buildScene(org);
      const { id } = await apply({ kind: "move_report", agent: ann.id, to: other.id });
      const made = await ann.call(createOutcome, { title: "made since", parents: [outcomes.part] });
      await org.session(ann.id);
      await ann.call(readFile, { id: outcomes.part });
      await other.call(readInbox, {});
      await undo(id);
      assert.equal((await org.board(viewAgent, { id: ann.id })).boss?.id, lead.id);
      assert.equal((await ann.call(viewOutcome, { id: made.id })).responsible?.id, ann.id);
      assert.match((await ann.call(readFile, { id: ann.id })).content, new RegExp(lead.id));
    });

    test("mail that was answered meanwhile does not open an inbox again", async () => {
      const { lead } = await buildScene(org);
      const { id } = await apply({ kind: "fire", agent: lead.id });
      for (const { id: message } of (await org.root(readInbox, { limit: 1000 })).messages)
        await org.root(acknowledgeMessage, { id: message });
      await undo(id);
      // The agent is only told that it is back, and what it got back.
      const again = org.as((await org.board(createKey, { id: lead.id })).key);
      const [news, ...more] = (await again(readInbox, {})).messages;
      assert.deepEqual([news?.body?.includes(", undone."), more], [true, []]);
      await again(acknowledgeMessage, { id: news?.id ?? "" });
      const open = (await again(myOutcomes, { status: "open" })).outcomes;
      assert.ok(!open.some(({ kind: of }) => of === "inbox"));
    });

    test("an undo after later changes is refused, names them and changes nothing", async () => {
      const { companyId } = org;
      const cases: [string, RegExp, (scene: Scene) => Change, (scene: Scene) => Promise<unknown>][] = [
        [
          "the report has moved on",
          /ann \d+ \(.+\) has changed \(boss_id\)/,
          ({ ann, other }) => ({ kind: "move_report", agent: ann.id, to: other.id }),
          ({ ann }) => apply({ kind: "move_report", agent: ann.id, to: org.rootId }),
        ],
        [
          "its old boss has left",
          /lead \d+, the manager of ann \d+, has left/,
          ({ ann, other }) => ({ kind: "move_report", agent: ann.id, to: other.id }),
          ({ lead }) => apply({ kind: "fire", agent: lead.id }),
        ],
        [
          "its old boss has come below it",
          /would make an outcome depend on itself/,
          ({ ann, other }) => ({ kind: "move_report", agent: ann.id, to: other.id }),
          ({ lead, ann }) => apply({ kind: "move_report", agent: lead.id, to: ann.id }),
        ],
        [
          "the new boss has handed it more",
          /other \d+ has delegated "more" to ann/,
          ({ ann, other }) => ({ kind: "move_report", agent: ann.id, to: other.id }),
          async ({ ann, other }) => {
            const { id } = await other.call(createOutcome, { title: "more", parents: [other.id] });
            await other.call(delegateOutcome, { id, to: ann.id });
          },
        ],
        [
          "the new boss has given it a right",
          /other \d+ has given ann \d+ a right on outcome:/,
          ({ ann, other }) => ({ kind: "move_report", agent: ann.id, to: other.id }),
          ({ ann, other }) => other.call(grantPermission, { to: ann.id, resource: `outcome:${other.id}` }),
        ],
        [
          "its delegated outcome went to another agent",
          /has moved to olga|has changed/,
          ({ ann, other }) => ({ kind: "move_report", agent: ann.id, to: other.id }),
          async ({ other, olga, outcomes }) => {
            await other.call(reclaimOutcome, { id: outcomes.part, reason: "to somebody else" });
            await other.call(delegateOutcome, { id: outcomes.part, to: olga.id });
          },
        ],
        [
          "the name is taken",
          /another agent was named lead/,
          ({ lead }) => ({ kind: "fire", agent: lead.id }),
          ({ lead }) => org.board(createAgent, { companyId, name: lead.name, role: "worker" }),
        ],
        [
          "what it was made for is done",
          /the mandate of made \d+ has ended/,
          ({ made }) => ({ kind: "fire", agent: made.id }),
          ({ made }) => org.root(completeOutcome, { id: made.id }),
        ],
        [
          "the work went to another agent",
          /"goal \d+" \(.+\) has changed \(responsible_id/,
          ({ lead }) => ({ kind: "fire", agent: lead.id }),
          ({ other, outcomes }) => org.root(delegateOutcome, { id: outcomes.goal, to: other.id }),
        ],
      ];
      for (const [name, says, make, later] of cases) {
        const scene = await buildScene(org);
        const { id } = await apply(make(scene));
        await later(scene);
        const start = await dump(store);
        const refused = await refusal(undo(id), "conflict");
        assert.match(refused.message, says, name);
        assert.deepEqual(compare(start, await dump(store)), [], name);
        assert.equal((await org.board(viewReorganization, { id })).status, "applied");
      }
    });

    test("the last reorganization is undone first, and work a new agent got meanwhile goes to its manager", async () => {
      const scene = await buildScene(org);
      const { lead, ann, deep } = scene;
      const start = await dump(store);
      const first = await apply({
        kind: "insert_layer",
        boss: lead.id,
        manager: { name: `middle ${scene.n}`, role: "manager" },
        reports: [ann.id],
      });
      const middle = (await org.board(viewAgent, { id: ann.id })).boss?.id ?? "";
      const second = await apply({ kind: "move_report", agent: deep.id, to: middle });
      await undo(second.id);
      await undo(first.id);
      assert.deepEqual(notRestored(start, await dump(store)), []);
      const third = await apply({
        kind: "insert_layer",
        boss: lead.id,
        manager: { name: `again ${scene.n}`, role: "manager" },
        reports: [ann.id],
      });
      const again = (await org.board(viewAgent, { id: ann.id })).boss?.id ?? "";
      const key = org.as((await org.board(createKey, { id: again })).key);
      const made = await key(createOutcome, { title: "made by the newcomer", parents: [again] });
      const handed = await key(createOutcome, { title: "handed down by it", parents: [again] });
      await key(delegateOutcome, { id: handed.id, to: ann.id });
      await undo(third.id);
      assert.equal((await org.board(viewAgent, { id: again })).status, "terminated");
      assert.equal((await org.board(viewOutcome, { id: made.id })).responsible?.id, lead.id);
      const now = await org.board(viewOutcome, { id: handed.id });
      assert.deepEqual([now.responsible?.id, now.delegatedBy?.id], [ann.id, lead.id]);
    });

    test("a newcomer's outcome that another agent has taken over stays with that agent", async () => {
      const { n, lead, outcomes } = await buildScene(org);
      const { id } = await apply({
        kind: "split",
        agent: lead.id,
        into: [{ agent: { name: `half ${n}`, role: "lead" } }],
      });
      const made = (await org.board(viewReorganization, { id })).moves.find(({ what }) =>
        what.startsWith("half"),
      );
      await org.board(reclaimOutcome, { id: made?.id ?? "", reason: "I do it myself" });
      await undo(id);
      const mandate = await org.board(viewOutcome, { id: made?.id ?? "" });
      assert.deepEqual([mandate.status, mandate.parents.map((one) => one.id)], ["open", [org.rootId]]);
      assert.equal((await org.board(viewOutcome, { id: outcomes.own })).responsible?.id, lead.id);
    });

    test("an outcome that ended before the undo is verified by the present manager when it is reopened", async () => {
      const { lead, other, ann } = await buildScene(org);
      const { id } = await apply({ kind: "move_report", agent: ann.id, to: other.id });
      const work = await other.call(createOutcome, { title: "meanwhile", parents: [other.id] });
      await other.call(delegateOutcome, { id: work.id, to: ann.id });
      await org.board(completeOutcome, { id: work.id });
      await undo(id);
      await org.board(reopenOutcome, { id: work.id, reason: "Not good enough." });
      const { responsible, delegatedBy } = await org.board(viewOutcome, { id: work.id });
      assert.deepEqual([responsible?.id, delegatedBy?.id], [ann.id, lead.id]);
    });

    test("a request whose name is taken meanwhile stays closed, and the rest is undone", async () => {
      const { board, companyId } = org;
      const requested = async (by: TestCaller, name: string): Promise<string> =>
        (await by(requestAgent, { name, waitSeconds: 0 })).requestId ?? "";
      const statusOf = async (id: string) => (await board(viewApproval, { id })).status;
      for (const take of [
        (name: string) => requested(org.root, name),
        (name: string) => board(createAgent, { companyId, name, role: "writer" }),
      ]) {
        const { lead, n } = await buildScene(org);
        const [taken, free] = [
          await requested(lead.call, `Nova ${n}`),
          await requested(lead.call, `Vega ${n}`),
        ];
        const { id } = await apply({ kind: "fire", agent: lead.id });
        await take(`Nova ${n}`);
        assert.deepEqual((await board(viewReorganization, { id })).undoable, {
          possible: true,
          reason: null,
        });
        await undo(id);
        assert.deepEqual([await statusOf(taken), await statusOf(free)], ["cancelled", "pending"]);
        assert.equal((await board(viewAgent, { id: lead.id })).status, "idle");
      }
    });

    test("a request whose time to decide is over stays closed, and the rest is undone", async () => {
      const { board } = org;
      const { lead, n } = await buildScene(org);
      const { requestId = "" } = await lead.call(requestAgent, { name: `Lyra ${n}`, waitSeconds: 0 });
      const { id } = await apply({ kind: "fire", agent: lead.id });
      await store.write((tx) => tx.run(expireNow, { id: requestId, expires_at: tx.now }));
      await undo(id);
      assert.equal((await board(viewApproval, { id: requestId })).status, "cancelled");
      assert.equal((await board(viewAgent, { id: lead.id })).status, "idle");
    });

    test("an agent does not come back while a request holds its name", async () => {
      const { made } = await buildScene(org);
      const { name } = await org.board(viewAgent, { id: made.id });
      const { id } = await apply({ kind: "fire", agent: made.id });
      const { requestId = "" } = await org.root(requestAgent, { name, waitSeconds: 0 });
      const { message } = await refusal(undo(id), "conflict");
      assert.ok(message.includes(`the name ${name} was requested for a new agent`), message);
      await org.board(reject, { id: requestId });
      await undo(id);
    });

    test("a change proposed by the interim manager ends, and the earlier proposal is open again", async () => {
      const { board } = org;
      for (const hasProposed of [true, false]) {
        const { lead, other, ann } = await buildScene(org);
        const propose = async (by: TestCaller): Promise<string> =>
          (await by(changeAgent, { agent: ann.id, prompt: "Work slowly.", reason: "Quality." })).id;
        const statusOf = async (id: string) => (await board(viewApproval, { id })).status;
        assert.equal((await board(viewAgent, { id: ann.id })).boss?.id, lead.id);
        const first = hasProposed ? await propose(lead.call) : undefined;
        const { id } = await apply({ kind: "move_report", agent: ann.id, to: other.id });
        const second = await propose(other.call);
        assert.equal((await board(viewReorganization, { id })).undoable.possible, true);
        await undo(id);
        assert.equal(await statusOf(second), "cancelled");
        if (first !== undefined) assert.equal(await statusOf(first), "pending");
        assert.deepEqual(await store.read((tx) => findBroken(tx, { areas: ["organization", "work"] })), []);
      }
    });

    test("an agent that fires, hires and undoes stays within the limit of agents", async () => {
      const elsewhere = await org.another();
      const { board, companyId } = elsewhere;
      const lead = await elsewhere.agent("Lead");
      const one = await elsewhere.agent("One", lead.id);
      await board(grantPermission, { companyId, to: lead.id, resource: "org:hire" });
      await board(updateCompany, { companyId, maxAgents: 3 });
      const { id } = await lead.call(applyReorganization, { change: { kind: "fire", agent: one.id } });
      await lead.call(hireAgent, { companyId, name: "Two", role: "writer" });
      const { message, hint } = await refusal(lead.call(undoReorganization, { id }), "limited");
      assert.match(
        message,
        /^1 agent would come back, and the company has 3 of the 3 that agents can hire\./,
      );
      assert.match(hint, /--max-agents 4\./);
      // The limit does not bind the board.
      await board(undoReorganization, { id });
      assert.equal((await board(viewAgent, { id: one.id })).status, "idle");
    });

    test("requests that an undo opens again count for the limit of agents, too", async () => {
      const elsewhere = await org.another();
      const { board, companyId } = elsewhere;
      await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: false });
      const lead = await elsewhere.agent("Lead");
      const one = await elsewhere.agent("One", lead.id);
      for (const to of [lead.id, one.id])
        await board(grantPermission, { companyId, to, resource: "org:hire" });
      const asked: string[] = [];
      for (const name of ["First", "Second"]) {
        const { requestId = "" } = await one.call(requestAgent, { name, waitSeconds: 0 });
        asked.push(requestId);
      }
      // The root, Lead, One and the two requests.
      await board(updateCompany, { companyId, maxAgents: 5 });
      const { id } = await lead.call(applyReorganization, { change: { kind: "fire", agent: one.id } });
      const hired: string[] = [];
      for (const name of ["Third", "Fourth"])
        hired.push((await lead.call(hireAgent, { companyId, name, role: `writer ${name}` })).agent.id);
      const reason = "3 agents would come back, and the company has 4 of the 5 that agents can hire.";
      const shown = await lead.call(viewReorganization, { id });
      assert.ok(shown.undoable.reason?.startsWith(reason), shown.undoable.reason ?? "");
      const { message, hint } = await refusal(lead.call(undoReorganization, { id }), "limited");
      assert.ok(message.startsWith(reason), message);
      assert.match(hint, /--max-agents 7\./);
      for (const agent of hired) await lead.call(applyReorganization, { change: { kind: "fire", agent } });
      await lead.call(undoReorganization, { id });
      for (const request of asked)
        assert.equal((await board(viewApproval, { id: request })).status, "pending");
    });

    test("only the board and the manager that applied a reorganization can undo it", async () => {
      const { lead, ann, bob } = await buildScene(org);
      const change: Change = { kind: "move_report", agent: bob.id, to: ann.id };
      const { id } = await lead.call(applyReorganization, { change });
      await refusal(ann.call(undoReorganization, { id }), "not_found");
      await refusal(org.root(undoReorganization, { id }), "not_found");
      await refusal((await org.another()).root(undoReorganization, { id }), "not_found");
      await lead.call(undoReorganization, { id });
      assert.equal((await org.board(viewAgent, { id: bob.id })).boss?.id, lead.id);
    });

    test("a layer can be removed even if its manager has given its whole budget to it", async () => {
      const { board, companyId } = await org.another();
      const make = async (name: string, reportsTo?: string) =>
        (await board(createAgent, { companyId, name, role: "worker", ...(reportsTo && { reportsTo }) })).id;
      const top = await make("top");
      const middle = await make("middle", top);
      const low = await make("low", middle);
      for (const [id, tokens] of [
        [top, 1000],
        [middle, 1000],
        [low, 800],
      ] as const)
        await board(setBudget, { id, tokens });
      const start = await dump(store);
      const change: Change = { kind: "remove_layer", agent: middle };
      const { id } = await board(applyReorganization, { companyId, change });
      assert.equal((await board(viewAgent, { id: low })).boss?.id, top);
      await undo(id);
      assert.deepEqual(notRestored(start, await dump(store)), []);
    });

    test("a budget that no longer fits is named, and moving one where it does not fit is refused", async () => {
      const elsewhere = await org.another();
      const { board, companyId } = elsewhere;
      const change = (what: Change) => board(applyReorganization, { companyId, change: what });
      const { lead, ann, other } = await buildScene(elsewhere);
      await board(setBudget, { id: other.id, tokens: 500 });
      await board(setBudget, { id: ann.id, tokens: 1000 });
      const tooMuch = change({ kind: "move_report", agent: ann.id, to: other.id });
      assert.match((await refusal(tooMuch, "refused")).message, /1k tokens would move/);
      await board(updateCompany, { companyId, monthlyBudget: { tokens: 20_000 } });
      await board(setBudget, { id: lead.id, tokens: 8000 });
      const { id } = await change({ kind: "fire", agent: lead.id });
      await board(setBudget, { id: other.id, tokens: 15_000 });
      assert.match((await refusal(undo(id), "conflict")).message, /the budget of .* no longer fits/);
      await board(setBudget, { id: other.id, tokens: 500 });
      await undo(id);
    });
  });

const expireNow = updating("approvals", ["expires_at"], ["id"]);
