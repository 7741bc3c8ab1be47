import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { explainAccess, grantPermission, listAgentGrants } from "../contract/capabilities.ts";
import { createFile, readFile, writeFile } from "../contract/knowledge.ts";
import { listEvents } from "../contract/ledger.ts";
import { readInbox, sendDeferredMessage, sendMessage, viewMessage } from "../contract/mail.ts";
import {
  createKey,
  listAgents,
  pauseAgent,
  resumeAgent,
  terminateAgent,
  viewAgent,
  wakeAgent,
} from "../contract/agents.ts";
import {
  closeOutcome,
  completeOutcome,
  createOutcome,
  myOutcomes,
  reopenOutcome,
  submitOutcome,
  updateOutcome,
  viewOutcome,
} from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import { submitSummary, viewSession } from "../contract/sessions.ts";
import { newId, newSecret } from "../daemon/ids.ts";
import { openSession } from "../runtime/sessions.ts";
import { type TestCaller, refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`leaving on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind);

    const asAgent = async (id: string): Promise<TestCaller> =>
      org.as((await org.board(createKey, { id })).key);
    const make = (call: TestCaller, title: string, parents: string[]) =>
      call(createOutcome, { title, parents });
    let hired = 0;
    /** Root hires a lead for an outcome, with the right to hire. Returns the outcome, which is also the lead. */
    const hireLead = async (): Promise<{ id: string; call: TestCaller; name: string }> => {
      const name = `Lead ${++hired}`;
      const { id } = await make(org.root, `mandate of ${name}`, [org.rootId]);
      await org.root(delegateOutcome, {
        id,
        hire: { name, role: "lead" },
        grants: [{ resource: "org:hire" }],
      });
      return { id, call: await asAgent(id), name };
    };
    const hireBelow = async (boss: TestCaller, parent: string): Promise<{ id: string; call: TestCaller }> => {
      const { id } = await make(boss, "a part", [parent]);
      await boss(delegateOutcome, { id, hire: { name: `Hand ${++hired}`, role: "hand" } });
      return { id, call: await asAgent(id) };
    };
    /** A session for this outcome, as the scheduler opens it. */
    const sessionFor = async (agentId: string, firstOutcomeId: string) => {
      const session = { id: newId(), token: newSecret() };
      await store.write((tx) =>
        openSession(tx, { ...session, agentId, credentialId: newId(), workspace: null, firstOutcomeId }),
      );
      return { id: session.id, call: org.as(session.token) };
    };
    const lastMail = async (call: TestCaller) => (await call(readInbox, { limit: 1000 })).messages;

    // covers BND-06, STOP-01, STOP-02, STOP-03, STOP-04, STOP-05, STOP-06
    test("reclaiming a mandate terminates the agent and all agents below at once, and all their work goes to the manager", async () => {
      const lead = await hireLead();
      const hand = await hireBelow(lead.call, lead.id);
      const deep = await make(hand.call, "deep down", [hand.id]);
      const own = await make(lead.call, "the lead's own", [lead.id]);
      const file = await org.root(createFile, { description: "lent", content: "x" });
      await org.root(grantPermission, { to: lead.id, resource: `kb:${file.id}` });
      await lead.call(grantPermission, { to: hand.id, resource: `kb:${file.id}` });
      const handSession = await sessionFor(hand.id, hand.id);
      const leadSession = await sessionFor(lead.id, lead.id);
      await leadSession.call(submitSummary, { summary: "half of it is done" });
      const { stateFileId } = await org.board(viewAgent, { id: hand.id });
      const state = await handSession.call(readFile, { id: stateFileId });
      await handSession.call(writeFile, {
        id: stateFileId,
        content: "# I know where it is",
        version: state.version,
        hash: state.hash,
      });
      const before = await org.board(listEvents, { companyId: org.companyId, limit: 1000 });

      await org.root(reclaimOutcome, { id: lead.id, reason: "wrong direction" });
      for (const { id } of [lead, hand]) {
        const agent = await org.board(viewAgent, { id });
        assert.equal(agent.status, "terminated");
        const { grants } = await org.board(listAgentGrants, { id });
        assert.ok(grants.length > 0 && grants.every(({ stands }) => !stands));
      }
      for (const call of [lead.call, hand.call, leadSession.call, handSession.call])
        await refusal(call(myOutcomes, {}), "unauthenticated");
      for (const { id } of [leadSession, handSession])
        assert.equal((await org.board(viewSession, { id })).endReason, "the agent left");
      for (const id of [lead.id, hand.id, deep.id, own.id]) {
        const outcome = await org.root(viewOutcome, { id });
        assert.deepEqual(
          [outcome.status, outcome.responsible?.id, outcome.delegated, outcome.kind],
          ["open", org.rootId, false, "work"],
        );
        await org.root(updateOutcome, { id, urgent: true });
      }
      // One transaction: the record shows the departures and the return together, as acts of the agent that reclaimed.
      const { events } = await org.board(listEvents, {
        companyId: org.companyId,
        after: before.events.at(-1)?.seq ?? 0,
        limit: 1000,
      });
      assert.deepEqual(
        events.filter(({ operation }) => operation === "agent.reclaim").map(({ subject }) => subject),
        [lead.id, hand.id],
      );
      // The boss is told which files to read, and can read them.
      const { logFileId } = await org.board(viewAgent, { id: lead.id });
      const letters = await lastMail(org.root);
      const told = letters.at(-1)?.body ?? "";
      assert.ok(told.includes("wrong direction"));
      for (const id of [stateFileId, logFileId ?? "none"]) {
        assert.ok(told.includes(`kb://${id}`));
        assert.ok(letters.some((letter) => letter.file === id));
      }
      assert.equal((await org.root(readFile, { id: stateFileId })).content, "# I know where it is");
      assert.match((await org.root(readFile, { id: logFileId ?? "" })).content, /half of it is done/);
      await refusal(
        org.root(writeFile, { id: stateFileId, content: "x", version: 2, hash: state.hash }),
        "forbidden",
      );
    });

    test("a right that was granted for a reclaimed mandate ends, also of an agent that is not below it", async () => {
      const lead = await hireLead();
      const other = await org.agent("Bystander");
      const file = await org.root(createFile, { description: "for that work only", content: "x" });
      const right = { to: other.id, resource: `kb:${file.id}` as const, outcome: lead.id };
      await org.root(grantPermission, right);
      await other.call(readFile, { id: file.id });
      await org.root(reclaimOutcome, { id: lead.id, reason: "wrong direction" });
      await refusal(other.call(readFile, { id: file.id }), "not_found");
    });

    // covers BND-07
    test("a reclaimed mandate goes to a new agent, which gets no rights, mail or sessions of the old one", async () => {
      const lead = await hireLead();
      const old = await sessionFor(lead.id, lead.id);
      const file = await org.root(createFile, { description: "lent twice", content: "x" });
      await org.root(grantPermission, { to: lead.id, resource: `kb:${file.id}` });
      const deliverAt = new Date(Date.now() + 3_600_000).toISOString();
      await lead.call(sendDeferredMessage, { to: "boss", body: "late", deliverAt });
      await org.root(sendMessage, { to: lead.id, body: "for the first" });
      await org.root(reclaimOutcome, { id: lead.id, reason: "again" });
      const handed = await org.root(delegateOutcome, {
        id: lead.id,
        hire: { name: lead.name, role: "lead" },
      });
      const second = handed.responsible?.id ?? "";
      assert.notEqual(second, lead.id);
      const agent = await org.board(viewAgent, { id: second });
      assert.deepEqual([agent.generation, agent.mandateId, agent.status], [2, lead.id, "idle"]);
      for (const call of [lead.call, old.call]) {
        await refusal(call(myOutcomes, {}), "unauthenticated");
        await refusal(call(createOutcome, { title: "still here", parents: [lead.id] }), "unauthenticated");
      }
      await refusal(org.board(createKey, { id: lead.id }), "refused");
      const fresh = await asAgent(second);
      await refusal(fresh(readFile, { id: file.id }), "not_found");
      assert.equal((await fresh(readInbox, {})).waiting, 0);
      await refusal(org.root(sendMessage, { to: lead.id, body: "to the first" }), "forbidden");
      await org.root(sendMessage, { to: second, body: "to the second" });
      assert.equal((await fresh(readInbox, {})).waiting, 1);
      await refusal(org.root(grantPermission, { to: lead.id, resource: `kb:${file.id}` }), "refused");
      await make(fresh, "a fresh start", [lead.id]);
      // Reclaimed once more: the third agent of the mandate has its own id as well.
      await org.root(reclaimOutcome, { id: lead.id, reason: "and again" });
      const third = await org.root(delegateOutcome, {
        id: lead.id,
        hire: { name: lead.name, role: "lead" },
      });
      assert.equal((await org.board(viewAgent, { id: third.responsible?.id ?? "" })).generation, 3);
      const all = (await org.board(listAgents, { companyId: org.companyId, limit: 1000 })).agents;
      assert.equal(
        all.filter(({ mandateId, status }) => mandateId === lead.id && status !== "terminated").length,
        1,
      );
    });

    test("only the agent that delegated an outcome and the board can reclaim it, and managers further up can't", async () => {
      const lead = await hireLead();
      const hand = await hireBelow(lead.call, lead.id);
      const stranger = await org.agent(`Stranger ${++hired}`);
      const own = await make(lead.call, "never handed down", [lead.id]);
      await refusal(org.root(reclaimOutcome, { id: hand.id, reason: "skip-level" }), "forbidden");
      await refusal(stranger.call(reclaimOutcome, { id: lead.id, reason: "mine" }), "not_found");
      await refusal(hand.call(reclaimOutcome, { id: lead.id, reason: "up" }), "forbidden");
      await refusal(lead.call(reclaimOutcome, { id: lead.id, reason: "myself" }), "forbidden");
      await refusal(lead.call(reclaimOutcome, { id: own.id, reason: "nobody has it" }), "refused");
      await refusal(org.board(reclaimOutcome, { id: org.rootId, reason: "all of it" }), "refused");
      await refusal(org.board(reclaimOutcome, { id: hand.id, reason: "" }), "invalid");
      await org.board(reclaimOutcome, { id: hand.id, reason: "the board decided" });
      assert.equal((await lead.call(viewOutcome, { id: hand.id })).responsible?.id, lead.id);
      assert.equal((await org.board(viewAgent, { id: lead.id })).status, "idle");
    });

    test("reclaiming plain work takes only that work, and stops the session that works on it", async () => {
      const worker = await org.agent(`Plain ${++hired}`);
      const job = await make(org.root, "plain work", [org.rootId]);
      const other = await make(org.root, "other work", [org.rootId]);
      for (const { id } of [job, other]) await org.root(delegateOutcome, { id, to: worker.id });
      const below = await make(worker.call, "part of it", [job.id]);
      const elsewhere = await sessionFor(worker.id, other.id);
      await worker.call(submitOutcome, { id: other.id });
      await org.root(reopenOutcome, { id: other.id, reason: "not yet" });
      await org.root(reclaimOutcome, { id: job.id, reason: "I do it myself" });
      for (const { id } of [job, below])
        assert.equal((await org.root(viewOutcome, { id })).responsible?.id, org.rootId);
      assert.equal((await org.board(viewAgent, { id: worker.id })).status, "running");
      assert.match(
        (await lastMail(worker.call)).at(-1)?.body ?? "",
        /reclaimed .*\n\nRoot's reason:\n> I do it myself/,
      );
      // This session works on another outcome and continues.
      await elsewhere.call(updateOutcome, { id: other.id, blocked: null });
      const session = await sessionFor(worker.id, other.id);
      await org.root(reclaimOutcome, { id: other.id, reason: "this too" });
      await refusal(session.call(myOutcomes, {}), "unauthenticated");
      assert.equal((await org.board(viewAgent, { id: worker.id })).status, "idle");
      await worker.call(myOutcomes, {});
    });

    // covers UNI-04, ORG-49, ORG-50, ORG-51
    test("firing moves reports, work and reviews to the manager, and the new reviewer is told of the reviews", async () => {
      const boss = await org.agent(`Stays ${++hired}`);
      const leaver = await org.agent(`Leaves ${++hired}`, boss.id);
      const report = await org.agent(`Report ${++hired}`, leaver.id);
      const fromBoss = await make(boss.call, "handed to the leaver", [boss.id]);
      const submitted = await make(boss.call, "submitted by the leaver", [boss.id]);
      for (const { id } of [fromBoss, submitted]) await boss.call(delegateOutcome, { id, to: leaver.id });
      await leaver.call(submitOutcome, { id: submitted.id });
      const review = await make(leaver.call, "to be verified", [fromBoss.id]);
      const running = await make(leaver.call, "still being done", [fromBoss.id]);
      for (const { id } of [review, running]) await leaver.call(delegateOutcome, { id, to: report.id });
      await report.call(submitOutcome, { id: review.id, note: "look at it" });
      const own = await make(leaver.call, "own work", [leaver.id]);
      await boss.call(sendMessage, { to: leaver.id, body: "unread" });
      const session = await sessionFor(leaver.id, own.id);
      await refusal(boss.call(terminateAgent, { id: leaver.id }), "forbidden");
      await org.board(terminateAgent, { id: leaver.id, reason: "shrinking" });

      await refusal(session.call(myOutcomes, {}), "unauthenticated");
      assert.equal((await org.board(viewAgent, { id: report.id })).boss?.id, boss.id);
      for (const { id } of [fromBoss, own]) {
        const outcome = await boss.call(viewOutcome, { id });
        assert.deepEqual(
          [outcome.responsible?.id, outcome.delegated, outcome.status],
          [boss.id, false, "open"],
        );
      }
      // Its boss reviews what the departed agent had submitted. No submission is left without a reviewer.
      const back = await boss.call(viewOutcome, { id: submitted.id });
      assert.deepEqual([back.responsible?.id, back.status], [boss.id, "open"]);
      const waiting = await boss.call(viewOutcome, { id: review.id });
      assert.deepEqual(
        [waiting.status, waiting.responsible?.id, waiting.delegatedBy?.id],
        ["submitted", report.id, boss.id],
      );
      assert.ok(
        (await lastMail(boss.call)).some(({ body }) => body?.includes(review.id) === true),
        "the boss was not told of the review it took over",
      );
      await boss.call(completeOutcome, { id: review.id });
      await report.call(submitOutcome, { id: running.id });
      await boss.call(completeOutcome, { id: running.id });
      await boss.call(sendMessage, { to: report.id, body: "I am your boss now" });
      await report.call(sendMessage, { to: "boss", body: "good" });
      const [inbox, ...more] = (await org.board(viewOutcome, { id: leaver.id })).children.filter(
        ({ title }) => title === "Process inbox",
      );
      assert.deepEqual([inbox?.status, more.length], ["closed", 0]);
    });

    test("agents stop waiting for the inbox or the mandate of an agent that left", async () => {
      const fired = await org.agent(`Fired ${++hired}`);
      const lead = await hireLead();
      const waiting = [];
      for (const { id } of [fired, lead]) {
        await org.board(sendMessage, { companyId: org.companyId, to: id, body: "unread" });
        const inbox = (await org.board(viewOutcome, { id })).children.find(
          ({ title }) => title === "Process inbox",
        );
        const dependsOn = [inbox?.id ?? "", ...(id === fired.id ? [id] : [])];
        waiting.push(
          await org.root(createOutcome, { title: "after that", parents: [org.rootId], dependsOn }),
        );
      }
      await org.board(terminateAgent, { id: fired.id });
      await org.root(closeOutcome, { id: lead.id, rationale: "not wanted" });
      for (const { id } of waiting) {
        const { dependsOn, workable } = await org.root(viewOutcome, { id });
        assert.deepEqual([dependsOn, workable], [[], true]);
      }
      const late = { title: "too late", parents: [org.rootId], dependsOn: [fired.id] };
      await refusal(org.root(createOutcome, late), "refused");
      // The retired agent's unread mail goes to its boss.
      assert.ok((await lastMail(org.root)).filter(({ body }) => body === "unread").length >= 2);
    });

    test("a pause stops the session and its processes, and a resume brings the agent back unchanged", async () => {
      const boss = await org.agent(`Pauser ${++hired}`);
      const worker = await org.agent(`Paused ${++hired}`, boss.id);
      const below = await org.agent(`Under ${++hired}`, worker.id);
      const job = await make(worker.call, "to do", [worker.id]);
      const session = await sessionFor(worker.id, job.id);
      await refusal(below.call(pauseAgent, { id: worker.id }), "forbidden");
      await refusal(org.root(pauseAgent, { id: worker.id }), "forbidden");
      await refusal(worker.call(pauseAgent, { id: worker.id }), "forbidden");
      await refusal(boss.call(resumeAgent, { id: worker.id }), "conflict");
      assert.equal((await boss.call(pauseAgent, { id: worker.id, reason: "wait" })).status, "paused");
      await refusal(boss.call(pauseAgent, { id: worker.id }), "conflict");
      await refusal(session.call(myOutcomes, {}), "forbidden");
      await refusal(worker.call(myOutcomes, {}), "forbidden");
      await refusal(org.board(wakeAgent, { id: worker.id }), "refused");
      assert.equal((await org.board(viewOutcome, { id: job.id })).workable, false);
      assert.equal((await org.board(viewSession, { id: session.id })).endReason, "the agent was paused");
      // The work of its reports continues, and their mail arrives.
      await below.call(sendMessage, { to: "boss", body: "when you are back" });
      assert.equal((await boss.call(resumeAgent, { id: worker.id })).status, "idle");
      await worker.call(myOutcomes, {});
      // The session from before is still refused.
      await refusal(session.call(myOutcomes, {}), "unauthenticated");
      assert.equal((await lastMail(worker.call)).length, 1);
      const elsewhere = await org.another();
      await refusal(elsewhere.root(pauseAgent, { id: worker.id }), "not_found");
    });

    test("only the board can resume an agent that it paused, even if the manager had paused the agent before", async () => {
      const boss = await org.agent(`Pauser ${++hired}`);
      const worker = await org.agent(`Paused ${++hired}`, boss.id);
      for (const before of [async () => undefined, () => boss.call(pauseAgent, { id: worker.id })]) {
        await before();
        await org.board(pauseAgent, { id: worker.id, reason: "It does harm." });
        const { message } = await refusal(boss.call(resumeAgent, { id: worker.id }), "forbidden");
        assert.match(message, /^The board paused Paused \d+, so only the board can resume it\.$/);
        await refusal(boss.call(pauseAgent, { id: worker.id }), "conflict");
        await refusal(org.board(pauseAgent, { id: worker.id }), "conflict");
        assert.equal((await org.board(resumeAgent, { id: worker.id })).status, "idle");
      }
      // An earlier pause of the board does not matter.
      await boss.call(pauseAgent, { id: worker.id });
      assert.equal((await boss.call(resumeAgent, { id: worker.id })).status, "idle");
    });

    test("a departed agent can't be paused, resumed, woken or given work or rights", async () => {
      const gone = await org.agent(`Gone ${++hired}`);
      const file = await org.root(createFile, { description: "x", content: "x" });
      const sent = await org.root(sendMessage, { to: gone.id, body: "unread" });
      await org.board(terminateAgent, { id: gone.id });
      for (const operation of [pauseAgent, resumeAgent, wakeAgent, terminateAgent])
        await refusal(org.board(operation, { id: gone.id }), "refused");
      const job = await make(org.root, "for nobody", [org.rootId]);
      await refusal(org.root(delegateOutcome, { id: job.id, to: gone.id }), "refused");
      await refusal(org.root(grantPermission, { to: gone.id, resource: `kb:${file.id}` }), "refused");
      const { allowed } = await org.board(explainAccess, { agent: gone.id, resource: `kb:${sent.file}` });
      assert.equal(allowed, false);
      assert.equal((await org.root(viewMessage, { id: sent.id })).acknowledgedAt, null);
    });
  });
