import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  explainAccess,
  grantPermission,
  listAgentGrants,
  listPermissions,
  requestPermission,
} from "../contract/capabilities.ts";
import { createFile, readFile, writeFile } from "../contract/knowledge.ts";
import { readInbox, sendMessage } from "../contract/mail.ts";
import { createKey, updateAgent, viewAgent } from "../contract/agents.ts";
import { listRoster } from "../contract/roster.ts";
import {
  closeOutcome,
  completeOutcome,
  createOutcome,
  reopenOutcome,
  submitOutcome,
  updateOutcome,
  viewAncestors,
  viewOutcome,
  viewSubtree,
} from "../contract/outcomes.ts";
import { delegateOutcome, planWork } from "../contract/delegation.ts";
import { type TestCaller, refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`delegation on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);

    const asAgent = async (id: string): Promise<TestCaller> =>
      org.as((await org.board(createKey, { id })).key);
    const make = (call: TestCaller, title: string, parents: string[]) =>
      call(createOutcome, { title, parents });

    test("closing an integration makes no outcome wait for itself", async () => {
      const whole = await make(org.root, "The handbook", [org.rootId]);
      const reader = await org.root(createOutcome, {
        title: "The handbook is read",
        parents: [org.rootId],
        dependsOn: [whole.id],
      });
      const tasks = [{ title: "A chapter", assignee: "self" }];
      const { integration } = await org.root(planWork, { outcome: whole.id, tasks });
      const below = await org.root(createOutcome, {
        title: "The handbook is bound",
        parents: [whole.id],
        dependsOn: [integration ?? ""],
      });
      await org.root(closeOutcome, { id: integration ?? "", rationale: "One chapter needs no integration." });
      const awaited = async (id: string) =>
        (await org.root(viewOutcome, { id })).dependsOn.map(({ title }) => title);
      // As after every closing, the owner of a dependent outcome decides about it.
      const expected = [["The handbook"], ["Integrate: The handbook"]];
      assert.deepEqual([await awaited(reader.id), await awaited(below.id)], expected);
    });

    // covers DEL-01, DEL-02, AGT-07, AGT-08, CAP-02, ROOT-07
    test("delegating to a new agent hires an agent with the outcome's id that reports to the delegator", async () => {
      const job = await org.root(createOutcome, {
        title: "Write the report",
        parents: [org.rootId],
        acceptance: "- three pages, no more",
      });
      const handed = await org.root(delegateOutcome, {
        id: job.id,
        hire: { name: "Author", role: "Writer", title: "Senior", prompt: "Write plainly." },
      });
      assert.equal(handed.responsible?.id, job.id);
      assert.equal(handed.delegatedBy?.id, org.rootId);
      // Acceptance criteria are passed on word for word.
      assert.equal(handed.acceptance, "- three pages, no more");
      const agent = await org.board(viewAgent, { id: job.id });
      assert.deepEqual(
        [agent.id, agent.mandateId, agent.generation, agent.boss?.id, agent.role, agent.title, agent.status],
        [job.id, job.id, 1, org.rootId, "Writer", "Senior", "idle"],
      );
      // The new agent begins with its own state document and no log.
      const author = await asAgent(job.id);
      assert.match((await author(readFile, { id: agent.stateFileId })).content, /^# State of Author/);
      assert.equal(agent.logFileId, null);
      assert.ok((await org.root(listRoster, {})).agents.some(({ id }) => id === job.id));
    });

    test("hiring needs org:hire; an agent that gets it with a delegation may hire in turn", async () => {
      const lead = await org.agent("Lead");
      const job = await make(lead.call, "too much for one", [lead.id]);
      const hire = { name: "Helper", role: "helper" };
      await refusal(lead.call(delegateOutcome, { id: job.id, hire }), "forbidden");
      // After the refusal, nothing of the call happened.
      assert.equal((await lead.call(viewOutcome, { id: job.id })).responsible?.id, lead.id);
      assert.ok(!(await org.root(listRoster, { limit: 1000 })).agents.some(({ name }) => name === "Helper"));
      await org.root(grantPermission, { to: lead.id, resource: "org:hire" });
      await lead.call(delegateOutcome, { id: job.id, hire });
      assert.equal((await org.board(viewAgent, { id: job.id })).boss?.id, lead.id);
      // Only Lead had the right, not its report.
      const helper = await asAgent(job.id);
      const part = await make(helper, "a part", [job.id]);
      await refusal(
        helper(delegateOutcome, { id: part.id, hire: { name: "Third", role: "x" } }),
        "forbidden",
      );
      await refusal(
        org.root(delegateOutcome, { id: job.id, hire: { name: "Fourth", role: "x" } }),
        "forbidden",
      );
    });

    test("a delegation needs either an agent or a hire, and a hire needs a free name", async () => {
      const worker = await org.agent("Worker");
      const job = await make(org.root, "whose?", [org.rootId]);
      await refusal(org.root(delegateOutcome, { id: job.id }), "invalid");
      await refusal(
        org.root(delegateOutcome, { id: job.id, to: worker.id, hire: { name: "New", role: "x" } }),
        "invalid",
      );
      await refusal(
        org.root(delegateOutcome, { id: job.id, hire: { name: "WORKER", role: "x" } }),
        "conflict",
      );
      await refusal(org.root(delegateOutcome, { id: job.id, hire: { name: "board", role: "x" } }), "refused");
      assert.equal((await org.root(viewOutcome, { id: job.id })).responsible?.id, org.rootId);
    });

    test("an outcome is delegated to an existing report by id, slug or role, and to no other agent", async () => {
      const boss = await org.agent("Manager");
      const one = await org.agent("Pat One", boss.id);
      const other = await org.agent("Stranger");
      await org.board(updateAgent, { id: one.id, role: "Analyst" });
      for (const to of [one.id, "pat-one", "analyst"]) {
        const job = await make(boss.call, `for ${to}`, [boss.id]);
        assert.equal((await boss.call(delegateOutcome, { id: job.id, to })).responsible?.id, one.id);
      }
      const two = await org.agent("Pat Two", boss.id);
      await org.board(updateAgent, { id: two.id, role: "Analyst" });
      const deep = await org.agent("Pat Deep", one.id);
      const job = await make(boss.call, "for whom", [boss.id]);
      const ambiguous = await refusal(boss.call(delegateOutcome, { id: job.id, to: "Analyst" }), "refused");
      assert.ok(ambiguous.message.includes(one.id) && ambiguous.message.includes(two.id));
      for (const to of [other.id, deep.id, org.rootId, boss.id, "nobody"])
        await refusal(boss.call(delegateOutcome, { id: job.id, to }), "refused");
    });

    // covers DEL-05, DEL-06, DEL-07, DEL-08, DEL-09, DEL-10, DEL-11, OUT-11, AGT-02, AGT-03, BND-01, BND-04, OUT-17
    test("responsibility moves with everything below, and the manager keeps write on the outcome and read below it", async () => {
      const boss = await org.agent("Giver");
      const why = await make(boss.call, "why", [boss.id]);
      const top = await make(boss.call, "top", [why.id]);
      const middle = await make(boss.call, "middle", [top.id]);
      const leaf = await make(boss.call, "leaf", [middle.id]);
      const beside = await make(boss.call, "beside", [why.id]);
      await org.root(grantPermission, { to: boss.id, resource: "org:hire" });
      await boss.call(delegateOutcome, { id: top.id, hire: { name: "Taker", role: "worker" } });
      const taker = await asAgent(top.id);
      for (const { id } of [top, middle, leaf])
        assert.equal((await boss.call(viewOutcome, { id })).responsible?.id, top.id);
      assert.equal((await boss.call(viewOutcome, { id: beside.id })).responsible?.id, boss.id);

      // The boss can write the outcome itself, and only read below it.
      await boss.call(updateOutcome, { id: top.id, title: "top, made clearer" });
      await refusal(boss.call(updateOutcome, { id: middle.id, title: "mine" }), "forbidden");
      await refusal(boss.call(closeOutcome, { id: leaf.id, rationale: "no" }), "forbidden");
      await refusal(boss.call(completeOutcome, { id: leaf.id }), "forbidden");
      await refusal(make(boss.call, "meddling", [middle.id]), "forbidden");
      await refusal(make(boss.call, "meddling", [top.id]), "forbidden");
      const below = (await boss.call(viewSubtree, { id: top.id })).outcomes;
      assert.equal(below.filter((one) => one.kind !== "inbox").length, 3);

      // The new owner reads the outcomes above, and writes those below.
      assert.equal((await taker(viewOutcome, { id: top.id })).title, "top, made clearer");
      for (const attempt of [
        () => taker(updateOutcome, { id: top.id, title: "easier" }),
        () => taker(updateOutcome, { id: top.id, acceptance: "anything goes" }),
        () => taker(completeOutcome, { id: top.id }),
        () => taker(closeOutcome, { id: top.id, rationale: "done enough" }),
      ])
        await refusal(attempt(), "forbidden");
      await taker(updateOutcome, { id: middle.id, description: "how I do it" });
      const own = await make(taker, "my own part", [top.id]);
      await taker(updateOutcome, { id: own.id, title: "my part" });
      await taker(closeOutcome, { id: own.id, rationale: "another way is better" });
      const { ancestors } = await taker(viewAncestors, { id: top.id });
      assert.deepEqual(new Set(ancestors.map(({ id }) => id)), new Set([why.id, boss.id, org.rootId]));
      assert.equal((await taker(viewOutcome, { id: why.id })).title, "why");
      await refusal(taker(viewOutcome, { id: beside.id }), "not_found");
    });

    // covers DEL-03, DEL-04, DEL-13, CAP-13, CAP-06, CAP-08
    test("chosen rights and a message go with the delegated outcome, and its owner can request more rights", async () => {
      const file = await org.root(createFile, { description: "sources", content: "s" });
      const secret = await org.root(createFile, { description: "not for this", content: "n" });
      const job = await make(org.root, "with rights", [org.rootId]);
      await org.root(delegateOutcome, {
        id: job.id,
        hire: { name: "Equipped", role: "worker" },
        grants: [{ resource: `kb:${file.id}`, level: "read" }],
        message: "Start with the sources.",
      });
      const agent = await asAgent(job.id);
      await agent(readFile, { id: file.id });
      await refusal(
        agent(writeFile, { id: file.id, content: "x", version: 1, hash: file.hash }),
        "forbidden",
      );
      await refusal(agent(readFile, { id: secret.id }), "not_found");
      const [grant] = (await agent(listPermissions, {})).grants;
      assert.deepEqual([grant?.resource, grant?.level, grant?.scope.id], [`kb:${file.id}`, "read", job.id]);
      const [letter] = (await agent(readInbox, {})).messages;
      assert.equal(letter?.from.id, org.rootId);
      assert.ok(
        letter?.body?.startsWith("Start with the sources.") && letter.body.includes(`kb://${job.id}`),
      );
      await agent(requestPermission, { resource: `kb:${secret.id}`, reason: "it is cited" });
      assert.ok(
        (await org.root(readInbox, {})).messages.some(({ body }) => body?.includes("it is cited") === true),
      );
      await org.root(grantPermission, { to: job.id, resource: `kb:${secret.id}` });
      await agent(readFile, { id: secret.id });
      await org.root(completeOutcome, { id: job.id });
      const after = (await org.board(listAgentGrants, { id: job.id })).grants;
      assert.ok(after.length >= 2 && after.every(({ stands }) => !stands));
    });

    test("a delegation with a right that the delegator lacks or holds at a lower level is refused as a whole", async () => {
      const lead = await org.agent("Modest");
      await org.agent("Below Modest", lead.id);
      const file = await org.root(createFile, { description: "held to read", content: "x" });
      const foreign = await org.root(createFile, { description: "not held", content: "x" });
      await org.root(grantPermission, { to: lead.id, resource: `kb:${file.id}`, level: "read" });
      const job = await make(lead.call, "with too much", [lead.id]);
      for (const [grants, code] of [
        [[{ resource: `kb:${file.id}`, level: "write" }], "refused"],
        [[{ resource: `kb:${foreign.id}` }], "not_found"],
        [[{ resource: `kb:${file.id}` }, { resource: "org:hire" }], "refused"],
      ] as const)
        await refusal(
          lead.call(delegateOutcome, { id: job.id, to: "below-modest", grants: [...grants] }),
          code,
        );
      assert.equal((await lead.call(viewOutcome, { id: job.id })).delegated, false);
    });

    // covers CAP-09, CAP-10, CAP-11, CAP-12
    test("a right that no manager nearby holds is requested up the chain, and every grant of it ends with the outcome", async () => {
      const lead = await org.agent("Between");
      await org.root(grantPermission, { to: lead.id, resource: "org:hire" });
      const whole = await make(org.root, "the whole", [org.rootId]);
      await org.root(delegateOutcome, { id: whole.id, to: lead.id });
      const part = await make(lead.call, "the part", [whole.id]);
      await lead.call(delegateOutcome, { id: part.id, hire: { name: "Asker", role: "worker" } });
      const asker = await asAgent(part.id);
      const file = await org.root(createFile, { description: "far above", content: "x" });
      const resource = `kb:${file.id}`;
      await asker(requestPermission, { resource, reason: "needed" });
      // Its boss does not hold the right either, so it can't give the right and asks in turn.
      await refusal(lead.call(grantPermission, { to: part.id, resource }), "not_found");
      await lead.call(requestPermission, { resource, reason: "Asker needs it" });
      await org.root(grantPermission, { to: lead.id, resource, outcome: whole.id });
      await lead.call(grantPermission, { to: part.id, resource, outcome: part.id });
      await asker(readFile, { id: file.id });
      const { chain } = await org.board(explainAccess, { agent: part.id, resource });
      assert.deepEqual(
        chain.map(({ scope }) => scope.id),
        [org.rootId, whole.id, part.id],
      );
      await lead.call(completeOutcome, { id: part.id });
      await lead.call(readFile, { id: file.id });
      await lead.call(submitOutcome, { id: whole.id });
      await org.root(completeOutcome, { id: whole.id });
      await refusal(lead.call(readFile, { id: file.id }), "not_found");
      assert.equal((await org.board(explainAccess, { agent: part.id, resource })).allowed, false);
    });

    // covers END-01, BND-05
    test("a submission reaches the manager with the criteria, and completing ends the agent hired for the outcome", async () => {
      const job = await org.root(createOutcome, {
        title: "finish this",
        parents: [org.rootId],
        acceptance: "- it is finished",
      });
      await org.root(delegateOutcome, { id: job.id, hire: { name: "Finisher", role: "worker" } });
      const agent = await asAgent(job.id);
      const session = await org.session(job.id);
      const file = await session.call(createFile, { description: "result", content: "done" });
      await session.call(sendMessage, { to: "boss", file: file.id });
      await session.call(submitOutcome, { id: job.id, note: "see the file" });
      const told = (await org.root(readInbox, { limit: 1000 })).messages.at(-1);
      assert.equal(told?.from.kind, "system");
      for (const part of [job.id, "- it is finished", "see the file"])
        assert.ok(told?.body?.includes(part), part);
      // The root agent sends the work back. The reason arrives as a message.
      await org.root(reopenOutcome, { id: job.id, reason: "one page is missing" });
      assert.match((await session.call(readInbox, {})).messages.at(-1)?.body ?? "", /one page is missing/);
      await session.call(submitOutcome, { id: job.id });
      await org.root(completeOutcome, { id: job.id, note: "well done" });
      const gone = await org.board(viewAgent, { id: job.id });
      assert.equal(gone.status, "terminated");
      for (const call of [agent, session.call]) await refusal(call(readInbox, {}), "unauthenticated");
      // The files and messages of the departed agent are still readable.
      await org.board(readFile, { id: gone.stateFileId });
      assert.equal((await org.root(readFile, { id: file.id })).content, "done");
      // After reopening, the boss owns the outcome.
      const again = await org.root(reopenOutcome, { id: job.id, reason: "there is more" });
      assert.deepEqual([again.responsible?.id, again.delegated], [org.rootId, false]);
    });

    test("completing is refused while the agent waits for what it delegated, and names it", async () => {
      const job = await make(org.root, "not yet", [org.rootId]);
      await org.root(delegateOutcome, {
        id: job.id,
        hire: { name: "Delegator", role: "worker" },
        grants: [{ resource: "org:hire" }],
      });
      const agent = await asAgent(job.id);
      const below = await make(agent, "handed on", [job.id]);
      await agent(delegateOutcome, { id: below.id, hire: { name: "Deepest", role: "worker" } });
      const refused = await refusal(org.root(completeOutcome, { id: job.id }), "refused");
      assert.ok(refused.message.includes(below.id));
      await refusal(agent(submitOutcome, { id: job.id }), "refused");
      // This also holds for work elsewhere in the tree that the same agent delegated.
      const plain = await make(org.root, "other work", [org.rootId]);
      await org.root(delegateOutcome, { id: plain.id, to: job.id });
      const away = await make(agent, "handed on elsewhere", [plain.id]);
      await agent(delegateOutcome, { id: away.id, to: below.id });
      await agent(closeOutcome, { id: away.id, rationale: "not needed" });
      await agent(completeOutcome, { id: below.id });
      const second = await make(agent, "still away", [plain.id]);
      await agent(delegateOutcome, { id: second.id, hire: { name: "Second", role: "worker" } });
      const named = await refusal(org.root(completeOutcome, { id: job.id }), "refused");
      assert.ok(named.message.includes(second.id), named.message);
      // The outcome can't be submitted either: its boss could only send it back.
      const early = await refusal(agent(submitOutcome, { id: job.id }), "refused");
      assert.ok(early.message.includes(second.id), early.message);
      await agent(completeOutcome, { id: second.id });
      await org.root(completeOutcome, { id: job.id });
      // The agent's other work went to its boss.
      assert.equal((await org.root(viewOutcome, { id: plain.id })).responsible?.id, org.rootId);
    });

    // covers OUT-06, END-02, END-03, END-04, OUT-24
    test("an impossible outcome is closed with its reason, which its file shows, and an agent can't close its own mandate", async () => {
      const job = await make(org.root, "a hypothesis", [org.rootId]);
      await org.root(delegateOutcome, { id: job.id, hire: { name: "Tester", role: "worker" } });
      const agent = await asAgent(job.id);
      const first = await make(agent, "first way", [job.id]);
      await agent(closeOutcome, { id: first.id, rationale: "the metal melts at 60 °C" });
      assert.match(
        (await agent(readFile, { id: first.id })).content,
        /rationale: "the metal melts at 60 °C"/,
      );
      const second = await make(agent, "second way", [job.id]);
      assert.equal(second.responsible?.id, job.id);
      await agent(closeOutcome, { id: second.id, rationale: "so does the other" });
      await refusal(agent(closeOutcome, { id: job.id, rationale: "impossible" }), "forbidden");
      await agent(sendMessage, { to: "boss", body: "It cannot be done: everything melts." });
      await org.root(closeOutcome, { id: job.id, rationale: "disproven: everything melts" });
      assert.equal((await org.board(viewAgent, { id: job.id })).status, "terminated");
      const seen = await org.root(viewOutcome, { id: job.id });
      assert.equal(seen.rationale, "disproven: everything melts");
      assert.equal(seen.history[0]?.why, "disproven: everything melts");
    });

    test("an agent can delegate only its own open outcomes", async () => {
      const worker = await org.agent("Receiver");
      const done = await make(org.root, "done", [org.rootId]);
      await org.root(completeOutcome, { id: done.id });
      await refusal(org.root(delegateOutcome, { id: done.id, to: worker.id }), "refused");
      await refusal(org.root(delegateOutcome, { id: org.rootId, to: worker.id }), "refused");
      await refusal(worker.call(delegateOutcome, { id: worker.id, to: worker.id }), "refused");
      const job = await make(org.root, "once", [org.rootId]);
      await org.root(delegateOutcome, { id: job.id, to: worker.id });
      await refusal(org.root(delegateOutcome, { id: job.id, to: worker.id }), "forbidden");
      await refusal(worker.call(delegateOutcome, { id: job.id, to: worker.id }), "refused");
      const elsewhere = await org.another();
      await refusal(elsewhere.root(delegateOutcome, { id: job.id, to: worker.id }), "not_found");
    });
  });
