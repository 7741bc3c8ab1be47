import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { grantPermission, listAgentGrants } from "../contract/capabilities.ts";
import { viewAgent } from "../contract/agents.ts";
import { createFile } from "../contract/knowledge.ts";
import { acknowledgeMessage, agentInbox, boardInbox, readInbox } from "../contract/mail.ts";
import {
  closeOutcome,
  createOutcome,
  reopenOutcome,
  submitOutcome,
  updateOutcome,
  viewOutcome,
} from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome, decideOutcome } from "../contract/delegation.ts";
import { noticesFor } from "../runtime/tool-notices.ts";
import { newId } from "../daemon/ids.ts";
import { type Organization, refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

/** Root › Lead › Boss › Worker, and work that Boss delegated to Worker. */
async function team(org: Organization, name: string) {
  const lead = await org.agent(`${name} Lead`);
  const boss = await org.agent(`${name} Boss`, lead.id);
  const worker = await org.agent(`${name} Worker`, boss.id);
  const job = async (): Promise<string> => {
    const { id } = await boss.call(createOutcome, { title: `${name} job`, parents: [boss.id] });
    await boss.call(delegateOutcome, { id, to: worker.id });
    return id;
  };
  const submitted = async (): Promise<string> => {
    const id = await job();
    await worker.call(submitOutcome, { id, note: "Here it is." });
    return id;
  };
  /** An outcome that was sent back twice, so it waits for Lead. */
  const escalated = async (): Promise<string> => {
    const id = await submitted();
    for (const note of ["Not yet.", "Still not."]) {
      await boss.call(decideOutcome, { id, verdict: "rework", note });
      if (note === "Not yet.") await worker.call(submitOutcome, { id, note: "Again." });
    }
    return id;
  };
  return { lead, boss, worker, job, submitted, escalated };
}

for (const kind of storeKinds)
  describe(`decisions on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { fast: true });
    const inbox = async (id: string) =>
      (await org.board(agentInbox, { id, limit: 1000 })).messages.map(({ body }) => body ?? "");
    const boardMail = async () =>
      (await org.board(boardInbox, { companyId: org.companyId, limit: 1000 })).messages.map(
        ({ body }) => body ?? "",
      );

    test("only the agent that delegated decides a submission, and its owner, strangers and the manager above can't", async () => {
      const { lead, boss, worker, submitted } = await team(org, "One");
      const stranger = await org.agent("One Stranger");
      const id = await submitted();
      await refusal(worker.call(decideOutcome, { id, verdict: "pass" }), "forbidden");
      await refusal(lead.call(decideOutcome, { id, verdict: "pass" }), "forbidden");
      await refusal(stranger.call(decideOutcome, { id, verdict: "pass" }), "not_found");
      for (const verdict of ["rework", "close"] as const)
        for (const note of [undefined, " \n", "\u200b"])
          await refusal(boss.call(decideOutcome, { id, verdict, note }), "invalid");
      assert.equal((await boss.call(decideOutcome, { id, verdict: "pass" })).status, "completed");
      // The refusal of the second decision says who decided first, and what.
      const late = await refusal(org.board(decideOutcome, { id, verdict: "rework", note: "no" }), "conflict");
      assert.match(late.message, /One Boss accepted it/);
    });

    test("of two decisions at the same time one wins, and the other caller is told", async () => {
      const { boss, submitted } = await team(org, "Two");
      const id = await submitted();
      const both = await Promise.allSettled([
        boss.call(decideOutcome, { id, verdict: "pass" }),
        org.board(decideOutcome, { id, verdict: "rework", note: "Not so." }),
      ]);
      const [lost] = both.filter((one) => one.status === "rejected");
      assert.equal(both.filter(({ status }) => status === "fulfilled").length, 1);
      assert.match(String(lost?.reason), /no longer waits for a decision: (Two Boss accepted|.+ sent) it/);
    });

    test("a decision about work that is not submitted is refused", async () => {
      const { boss, job } = await team(org, "Three");
      await refusal(boss.call(decideOutcome, { id: await job(), verdict: "pass" }), "refused");
    });

    test("an escalation is decided by the manager above, by each verdict; reviewer and owner can't undo it", async () => {
      const { lead, boss, worker, escalated } = await team(org, "Four");
      const id = await escalated();
      assert.ok((await inbox(lead.id)).some((body) => body.includes("needs your decision")));
      await refusal(boss.call(decideOutcome, { id, verdict: "pass" }), "forbidden");
      await refusal(boss.call(updateOutcome, { id, blocked: null }), "refused");
      await refusal(worker.call(updateOutcome, { id, blocked: null }), "refused");
      await refusal(worker.call(submitOutcome, { id, note: "Please." }), "refused");
      await refusal(org.root(decideOutcome, { id, verdict: "pass" }), "forbidden");
      const again = await lead.call(decideOutcome, { id, verdict: "rework", note: "Add the sources." });
      assert.deepEqual([again.status, again.blocked], ["open", null]);
      assert.ok((await inbox(worker.id)).some((body) => body.includes("Add the sources.")));
      assert.ok((await inbox(boss.id)).some((body) => body.includes("its owner continues with it")));
      const other = await escalated();
      assert.equal((await lead.call(decideOutcome, { id: other, verdict: "pass" })).status, "completed");
      const third = await escalated();
      const closed = await lead.call(decideOutcome, { id: third, verdict: "close", note: "Not wanted." });
      assert.deepEqual([closed.status, closed.rationale], ["closed", "Not wanted."]);
      // The board may decide every escalation.
      const fourth = await escalated();
      assert.equal((await org.board(decideOutcome, { id: fourth, verdict: "pass" })).status, "completed");
    });

    test("every escalation of the same outcome reaches its decider and finally the board, even on one day", async () => {
      const boss = org.root;
      const worker = await org.agent("Often");
      const { id } = await boss(createOutcome, { title: "Often disputed", parents: [org.rootId] });
      await boss(delegateOutcome, { id, to: worker.id });
      for (let round = 1; round <= 3; round++) {
        for (const note of ["Not yet.", `Round ${round} is not it.`]) {
          await worker.call(submitOutcome, { id, note: "Here." });
          await boss(decideOutcome, { id, verdict: "rework", note });
        }
        const asked = (await boardMail()).filter((body) => body.includes("Often disputed"));
        // There is one message, which always has the latest text.
        assert.equal(asked.length, 1);
        assert.match(asked[0] ?? "", new RegExp(`Round ${round} is not it`));
        await org.board(decideOutcome, { id, verdict: "rework", note: "Try again." });
      }
    });

    test("when a manager closes work its report delegated further, everything below ends, all owners are told, and rights end", async () => {
      const { lead, boss, worker } = await team(org, "Five");
      const file = await lead.call(createFile, { description: "Notes", content: "x" });
      const { id: top } = await lead.call(createOutcome, { title: "Five top", parents: [lead.id] });
      const grants = [{ resource: `kb:${file.id}` as const }];
      await lead.call(delegateOutcome, { id: top, to: boss.id, grants });
      const { id: part } = await boss.call(createOutcome, { title: "Five part", parents: [top] });
      await boss.call(delegateOutcome, { id: part, to: worker.id, grants });
      const { id: own } = await worker.call(createOutcome, { title: "Five step", parents: [part] });
      // This outcome also serves another one, so it stays.
      const { id: shared } = await worker.call(createOutcome, {
        title: "Five shared",
        parents: [part, worker.id],
      });
      await refusal(org.root(closeOutcome, { id: part, rationale: "skip" }), "forbidden");
      await lead.call(closeOutcome, { id: top, rationale: "The customer left." });
      const status = async (id: string) => (await org.board(viewOutcome, { id })).status;
      assert.deepEqual(
        [await status(top), await status(part), await status(own), await status(shared)],
        ["closed", "closed", "closed", "open"],
      );
      for (const id of [boss.id, worker.id]) {
        assert.ok((await inbox(id)).some((body) => body.includes("> The customer left.")));
        const held = (await org.board(listAgentGrants, { id })).grants;
        assert.ok(!held.some(({ resource, stands }) => stands && resource === `kb:${file.id}`));
      }
      assert.deepEqual(await inbox(lead.id), []);
    });

    test("an agent hired for a part of closed work retires, and its pending parts end", async () => {
      const { lead, boss } = await team(org, "Six");
      await org.board(grantPermission, { to: boss.id, resource: "org:hire" });
      const { id: top } = await lead.call(createOutcome, { title: "Six top", parents: [lead.id] });
      await lead.call(delegateOutcome, { id: top, to: boss.id });
      const { id: part } = await boss.call(createOutcome, { title: "Six part", parents: [top] });
      await boss.call(delegateOutcome, { id: part, hire: { name: "Six Hire", role: "helper" } });
      await lead.call(closeOutcome, { id: top, rationale: "No." });
      const seen = await org.board(viewOutcome, { id: part });
      assert.equal(seen.status, "closed");
      assert.equal((await org.board(viewAgent, { id: part })).status, "terminated");
    });

    test("an owner is told what a manager or the board changed, once however many changes there were", async () => {
      const { boss, worker, job } = await team(org, "Seven");
      const id = await job();
      for (let edit = 1; edit <= 30; edit++)
        await org.board(updateOutcome, { id, title: `Seven job, edit ${edit}`, urgent: edit % 2 === 0 });
      await boss.call(updateOutcome, { id, acceptance: "- three pages" });
      const [told, ...more] = await inbox(worker.id);
      assert.equal(more.length, 0);
      assert.match(told ?? "", /title, before:\n> Seven job\ntitle, now:\n> Seven job, edit 30/);
      assert.match(told ?? "", /acceptance, now:\n> - three pages/);
      // An agent gets no notice of changes that it made itself.
      await worker.call(updateOutcome, { id, blocked: { reason: "Waiting for figures" } });
      assert.equal((await inbox(worker.id)).length, 1);
      const history = (await org.board(viewOutcome, { id })).history;
      const update = history.find(({ changes }) => "acceptance" in changes);
      assert.deepEqual(update?.changes["acceptance"], { before: null, after: "- three pages" });
      assert.equal(update?.by.agentId, boss.id);
    });

    test("a notice that changed after it was read can't be acknowledged before it is read again", async () => {
      const { worker, job } = await team(org, "Eight");
      const id = await job();
      await org.board(updateOutcome, { id, title: "First" });
      const [first] = (await worker.call(readInbox, {})).messages;
      await org.board(updateOutcome, { id, title: "Second" });
      await refusal(worker.call(acknowledgeMessage, { id: first?.id ?? "" }), "conflict");
      const [second, ...others] = (await worker.call(readInbox, {})).messages;
      assert.equal(others.length, 0);
      assert.match(second?.body ?? "", /title, before:\n> First\ntitle, now:\n> Second/);
      await worker.call(acknowledgeMessage, { id: second?.id ?? "" });
    });

    test("a change comes with the next tool result, in full and once", async () => {
      const { worker, job } = await team(org, "Nine");
      const id = await job();
      const session = await org.session(worker.id);
      assert.deepEqual(await noticesFor(store, newId, session.token), []);
      await org.board(updateOutcome, { id, title: "Nine, changed" });
      const [told = ""] = await noticesFor(store, newId, session.token);
      assert.match(told, /^The board changed "Nine, changed"[\s\S]*> Nine job/);
      assert.deepEqual(await noticesFor(store, newId, session.token), []);
      // The notice stays in the inbox until it is acknowledged.
      assert.equal((await inbox(worker.id)).length, 1);
      await org.board(closeOutcome, { id, rationale: "Over." });
      const [stop = "", closed = ""] = await noticesFor(store, newId, session.token);
      assert.match(stop, /^This session is stopped at /);
      assert.match(closed, /> Over\./);
    });

    test("reclaiming tells every owner whose work was taken back", async () => {
      const { lead, boss, worker } = await team(org, "Ten");
      const { id: top } = await lead.call(createOutcome, { title: "Ten top", parents: [lead.id] });
      await lead.call(delegateOutcome, { id: top, to: boss.id });
      const { id: part } = await boss.call(createOutcome, { title: "Ten part", parents: [top] });
      await boss.call(delegateOutcome, { id: part, to: worker.id });
      await org.board(reclaimOutcome, { id: top, reason: "The plan changed." });
      for (const id of [lead.id, boss.id, worker.id])
        assert.ok((await inbox(id)).some((body) => body.includes("> The plan changed.")));
    });

    test("reasons of spaces or invisible characters are refused", async () => {
      const { boss, job } = await team(org, "Eleven");
      const id = await job();
      for (const blank of [" ", "\n\t", "\u200b\u2060", "\u2800"]) {
        await refusal(boss.call(closeOutcome, { id, rationale: blank }), "invalid");
        await refusal(boss.call(reopenOutcome, { id, reason: blank }), "invalid");
        await refusal(boss.call(reclaimOutcome, { id, reason: blank }), "invalid");
        await refusal(boss.call(updateOutcome, { id, blocked: { reason: blank } }), "invalid");
      }
    });
  });
