import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readFile, viewHistory, writeFile } from "../contract/knowledge.ts";
import { pauseAgent, terminateAgent } from "../contract/agents.ts";
import {
  closeOutcome,
  completeOutcome,
  createOutcome,
  listAgentOutcomes,
  myOutcomes,
  reopenOutcome,
  submitOutcome,
  updateOutcome,
  viewAncestors,
  viewOutcome,
  viewSubtree,
} from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`outcomes on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);

    const make = (title: string, parents: string[], more: { dependsOn?: string[] } = {}) =>
      org.root(createOutcome, { title, parents, ...more });
    const isWorkable = async (id: string) => (await org.root(viewOutcome, { id })).workable;

    test("an agent's outcomes that have not ended are listed however many ended ones come before them", async () => {
      const worker = await org.agent("Busy");
      const open = await worker.call(createOutcome, { title: "Open", parents: [worker.id] });
      const handed = await org.outcome("Handed");
      await org.board(delegateOutcome, { id: handed, to: worker.id });
      for (const title of ["First", "Second", "Third"]) {
        const { id } = await worker.call(createOutcome, { title, parents: [worker.id], important: true });
        await worker.call(closeOutcome, { id, rationale: "no" });
      }
      await worker.call(submitOutcome, { id: handed, note: "Done." });
      const live = await org.board(listAgentOutcomes, { id: worker.id, live: true });
      assert.ok(live.outcomes.every(({ status }) => status === "open" || status === "submitted"));
      for (const id of [open.id, handed]) assert.ok(live.outcomes.some((each) => each.id === id));
      assert.deepEqual(
        (await org.board(listAgentOutcomes, { id: worker.id, live: true, status: "closed" })).outcomes,
        [],
      );
    });

    // covers OUT-02, OUT-03
    test("an outcome is a Markdown file that follows every change", async () => {
      const { id } = await make('Ship it: "now"\n', [org.rootId]);
      await org.root(updateOutcome, { id, description: "All of it.", acceptance: "- it runs" });
      const file = await org.root(readFile, { id });
      assert.match(file.content, /^---\ntitle: "Ship it: \\"now\\""\nkind: work\nstatus: open\n/);
      assert.match(file.content, /All of it\.\n\n## Acceptance criteria\n\n- it runs\n$/);
      assert.equal(file.version, 2);
      const child = await make("a part", [id]);
      const again = await org.root(readFile, { id });
      assert.equal(again.version, 3);
      assert.ok(again.content.includes(`children: ["${child.id}"]`));
      assert.deepEqual(
        (await org.root(viewHistory, { id })).versions.map(({ version }) => version),
        [3, 2, 1],
      );
      await refusal(
        org.root(writeFile, { id, content: "x", version: again.version, hash: again.hash }),
        "forbidden",
      );
      await refusal(
        org.board(writeFile, { id, content: "x", version: again.version, hash: again.hash }),
        "refused",
      );
    });

    // covers OUT-12, OUT-13, OUT-14
    test("the history of an outcome names the actor, the action and the reason", async () => {
      const { id } = await make("short-lived", [org.rootId]);
      await org.root(updateOutcome, { id, urgent: true });
      await org.root(closeOutcome, { id, rationale: "it cannot be done" });
      await org.root(reopenOutcome, { id, reason: "it can" });
      const { history } = await org.root(viewOutcome, { id });
      assert.deepEqual(
        history.map(({ action, why }) => [action, why]),
        [
          ["outcome.reopen", "it can"],
          ["outcome.close", "it cannot be done"],
          ["outcome.update", null],
          ["outcome.create", null],
        ],
      );
      assert.ok(history.every(({ by }) => by.agentId === org.rootId));
    });

    test("the answer about a new outcome has the same `workable` as later answers", async () => {
      const worker = await org.agent("Worker of new outcomes");
      const mandate = worker.id;
      const create = async (input: object): Promise<boolean> => {
        const made = await org.board(createOutcome, {
          companyId: org.companyId,
          title: "new",
          parents: [mandate],
          ...input,
        });
        assert.equal(made.workable, (await org.board(viewOutcome, { id: made.id })).workable);
        return made.workable;
      };
      const [done, open] = [await make("done", [org.rootId]), await make("open", [org.rootId])];
      await org.root(completeOutcome, { id: done.id });
      assert.equal(await create({}), true);
      assert.equal(await create({ dependsOn: [done.id] }), true);
      assert.equal(await create({ dependsOn: [done.id, open.id] }), false);
      await org.board(pauseAgent, { id: worker.id });
      assert.equal(await create({}), false);
    });

    test("an outcome is workable if it is open and unblocked, has completed dependencies and no open child, and its agent is active", async () => {
      const first = await make("first", [org.rootId]);
      const second = await make("second", [org.rootId], { dependsOn: [first.id] });
      assert.equal(await isWorkable(first.id), true);
      assert.equal(await isWorkable(second.id), false);
      const part = await make("part of first", [first.id]);
      assert.equal(await isWorkable(first.id), false);
      await refusal(org.root(completeOutcome, { id: first.id }), "refused");
      await org.root(completeOutcome, { id: part.id });
      assert.equal(await isWorkable(first.id), true);
      await org.root(completeOutcome, { id: first.id, note: "done" });
      assert.equal(await isWorkable(second.id), true);
      await org.root(updateOutcome, { id: second.id, blocked: { reason: "waiting for a reply" } });
      assert.equal(await isWorkable(second.id), false);
      await org.root(updateOutcome, {
        id: second.id,
        blocked: { reason: "later", until: new Date(Date.now() - 1000).toISOString() },
      });
      assert.equal(await isWorkable(second.id), true);
      const other = await make("other", [org.rootId]);
      await org.root(updateOutcome, { id: second.id, blocked: { reason: "other first", on: other.id } });
      assert.equal(await isWorkable(second.id), false);
      await org.root(closeOutcome, { id: other.id, rationale: "no" });
      assert.equal(await isWorkable(second.id), true);
      await org.root(updateOutcome, { id: second.id, blocked: null });
      assert.equal((await org.root(viewOutcome, { id: org.rootId })).workable, false);
    });

    // covers OUT-04
    test("no outcome can wait for itself, directly or through others", async () => {
      const a = await make("a", [org.rootId]);
      const b = await make("b", [a.id]);
      const c = await make("c", [org.rootId], { dependsOn: [a.id] });
      await refusal(org.root(updateOutcome, { id: a.id, parents: [b.id] }), "refused");
      await refusal(org.root(updateOutcome, { id: a.id, parents: [a.id] }), "refused");
      await refusal(org.root(updateOutcome, { id: a.id, dependsOn: [a.id] }), "refused");
      await refusal(org.root(updateOutcome, { id: a.id, dependsOn: [c.id] }), "refused");
      // If a part waited for the whole, both would wait for ever.
      await refusal(org.root(updateOutcome, { id: b.id, dependsOn: [a.id] }), "refused");
      await refusal(make("d", [b.id], { dependsOn: [c.id] }), "refused");
      await refusal(org.root(updateOutcome, { id: b.id, blocked: { reason: "me", on: b.id } }), "refused");
      await org.root(updateOutcome, { id: a.id, dependsOn: [b.id] });
    });

    test("closing an outcome also closes the outcomes that serve nothing else, even those of other agents", async () => {
      const worker = await org.agent("Closer");
      const top = await make("top", [org.rootId]);
      const other = await make("other top", [org.rootId]);
      const only = await make("only means", [top.id]);
      const both = await make("means to both", [top.id, other.id]);
      const handed = await make("handed down", [top.id]);
      await org.root(delegateOutcome, { id: handed.id, to: worker.id });
      await org.root(closeOutcome, { id: top.id, rationale: "abandoned" });
      assert.equal((await org.root(viewOutcome, { id: handed.id })).status, "closed");
      assert.equal((await org.root(viewOutcome, { id: only.id })).status, "closed");
      assert.match((await org.root(viewOutcome, { id: only.id })).rationale ?? "", /abandoned/);
      assert.equal((await org.root(viewOutcome, { id: both.id })).status, "open");
      await refusal(org.root(reopenOutcome, { id: only.id, reason: "x" }), "refused");
      await refusal(make("below a closed one", [top.id]), "refused");
    });

    test("a submission asks the delegating agent to decide, and a rework verdict reopens the outcome", async () => {
      const worker = await org.agent("Submitter");
      const job = await make("a job", [org.rootId]);
      await refusal(org.root(submitOutcome, { id: job.id }), "refused");
      await org.root(delegateOutcome, { id: job.id, to: "submitter" });
      assert.equal(
        (await worker.call(submitOutcome, { id: job.id, note: "please look" })).status,
        "submitted",
      );
      await refusal(worker.call(completeOutcome, { id: job.id }), "forbidden");
      await refusal(worker.call(submitOutcome, { id: job.id }), "conflict");
      assert.equal((await org.root(reopenOutcome, { id: job.id, reason: "not yet" })).status, "open");
      await worker.call(submitOutcome, { id: job.id });
      assert.equal((await org.root(completeOutcome, { id: job.id })).status, "completed");
    });

    // covers OUT-05, OUT-19
    test("the ancestors come as chains, one for each path to the root", async () => {
      const left = await make("left", [org.rootId]);
      const right = await make("right", [org.rootId]);
      const leaf = await make("leaf", [left.id, right.id]);
      const { chains, ancestors, truncated } = await org.root(viewAncestors, { id: leaf.id });
      assert.deepEqual(
        new Set(chains.map((chain) => chain.join())),
        new Set([`${left.id},${org.rootId}`, `${right.id},${org.rootId}`]),
      );
      assert.equal(ancestors.length, 3);
      assert.equal(truncated, false);
    });

    // covers OUT-20
    test("an agent reads the ancestors of its outcomes, but not the outcomes beside them", async () => {
      const ann = await org.agent("Ann");
      const ben = await org.agent("Ben");
      const annWork = await ann.call(createOutcome, { title: "ann's", parents: [ann.id] });
      const benWork = await ben.call(createOutcome, { title: "ben's", parents: [ben.id] });
      assert.equal((await ann.call(viewOutcome, { id: org.rootId })).kind, "perpetual");
      await refusal(ann.call(viewOutcome, { id: benWork.id }), "not_found");
      const seen = (await ann.call(viewSubtree, { id: org.rootId })).outcomes.map(({ id }) => id);
      assert.ok(seen.includes(annWork.id) && seen.includes(ann.id) && seen.includes(org.rootId));
      assert.ok(!seen.includes(benWork.id) && !seen.includes(ben.id));
      const all = (await org.root(viewSubtree, { id: org.rootId })).outcomes;
      assert.ok(all.some(({ id }) => id === benWork.id));
      assert.deepEqual(all.find(({ id }) => id === benWork.id)?.parents, [ben.id]);
      const short = await org.root(viewSubtree, { id: org.rootId, limit: 3 });
      assert.equal(short.outcomes.length, 3);
      assert.equal(short.truncated, true);
    });

    // covers OUT-10
    test("an agent's own outcomes are listed in Eisenhower's order, page by page", async () => {
      const eve = await org.agent("Eve");
      for (const [title, urgent, important] of [
        ["neither", false, false],
        ["urgent", true, false],
        ["important", false, true],
        ["both", true, true],
      ] as const)
        await eve.call(createOutcome, { title, parents: [eve.id], urgent, important });
      const titles: string[] = [];
      let cursor: string | null = null;
      do {
        const page: { outcomes: { title: string; kind: string }[]; nextCursor: string | null } =
          await eve.call(myOutcomes, { status: "open", limit: 2, ...(cursor === null ? {} : { cursor }) });
        titles.push(...page.outcomes.filter(({ kind }) => kind === "work").map(({ title }) => title));
        cursor = page.nextCursor;
      } while (cursor !== null);
      assert.deepEqual(titles, ["both", "important", "urgent", "neither"]);
    });

    test("when an agent leaves, its reports and its work go to its manager", async () => {
      const boss = await org.agent("Stayer");
      const leaver = await org.agent("Leaver", boss.id);
      const report = await org.agent("Orphan", leaver.id);
      const own = await leaver.call(createOutcome, { title: "own work", parents: [leaver.id] });
      const handed = await leaver.call(createOutcome, { title: "handed", parents: [leaver.id] });
      await leaver.call(delegateOutcome, { id: handed.id, to: report.id });
      await org.board(terminateAgent, { id: leaver.id, reason: "reorganized" });
      await refusal(leaver.call(myOutcomes, {}), "unauthenticated");
      const moved = await boss.call(viewOutcome, { id: own.id });
      assert.equal(moved.responsible?.id, boss.id);
      assert.equal(moved.status, "open");
      assert.ok(moved.parents.some(({ id }) => id === boss.id));
      assert.equal((await report.call(submitOutcome, { id: handed.id })).delegatedBy?.id, boss.id);
      await boss.call(completeOutcome, { id: handed.id });
      const mandate = await org.board(viewOutcome, { id: leaver.id });
      assert.deepEqual([mandate.status, mandate.rationale], ["closed", "reorganized"]);
      await refusal(org.board(terminateAgent, { id: org.rootId }), "refused");
    });
  });
