import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { grantPermission, revokePermission } from "../contract/capabilities.ts";
import { readFile } from "../contract/knowledge.ts";
import {
  acknowledgeMessage,
  boardInbox,
  cancelMessage,
  listSent,
  readInbox,
  sendDeferredMessage,
  sendMessage,
  viewMessage,
} from "../contract/mail.ts";
import { updateCompany } from "../contract/companies.ts";
import { pauseAgent, terminateAgent } from "../contract/agents.ts";
import { myOutcomes } from "../contract/outcomes.ts";
import { type TestCaller, refusal, storeKinds } from "../testing/organization.ts";
import { onStage, type Stage } from "../testing/stage.ts";

const minute = 60_000;

for (const kind of storeKinds)
  describe(`deferred mail on ${kind}`, () => {
    /** A stage on which no agent is started. Only the mail moves. */
    const staged = (name: string, play: (stage: Stage) => Promise<void>): void => {
      test(name, () =>
        onStage(kind, async (stage) => {
          await stage.org.board(updateCompany, { companyId: stage.org.companyId, maxSessions: 0 });
          await play(stage);
        }),
      );
    };
    const waiting = async (call: TestCaller) => (await call(readInbox, {})).messages.map(({ body }) => body);
    const at = (time: number) => new Date(time).toISOString();

    staged("scheduled messages are listed among all sent messages", async (stage) => {
      const ann = await stage.org.agent("Ann");
      const deliverAt = at(stage.now() + 10 * minute);
      const later = async (body: string) =>
        (await ann.call(sendDeferredMessage, { to: "self", body, deliverAt })).id;
      const first = await later("first");
      const second = await later("second");
      const cancelled = await later("cancelled");
      await ann.call(cancelMessage, { id: cancelled });
      for (let count = 0; count < 3; count++) await ann.call(sendMessage, { to: "boss", body: "now" });
      const page = await ann.call(listSent, { deferred: true, limit: 1 });
      assert.deepEqual(
        page.messages.map(({ id }) => id),
        [second],
      );
      const next = await ann.call(listSent, { deferred: true, limit: 1, cursor: page.nextCursor ?? "" });
      assert.deepEqual([next.messages.map(({ id }) => id), next.nextCursor], [[first], null]);
      assert.equal((await ann.call(listSent, {})).messages.length, 6);
      stage.advance(10 * minute);
      await stage.rest();
      assert.deepEqual((await ann.call(listSent, { deferred: true })).messages, []);
    });

    // covers MSG-05, MSG-06
    staged("a reminder to oneself comes on time and never early", async ({ org, ...stage }) => {
      const ann = await org.agent("Ann");
      const deliverAt = stage.now() + 10 * minute;
      const sent = await ann.call(sendDeferredMessage, {
        to: "self",
        body: "look again",
        deliverAt: at(deliverAt),
      });
      assert.equal(sent.deliveredAt, null);
      await stage.rest();
      // Before delivery, even its receiver does not know of it.
      assert.deepEqual(await waiting(ann.call), []);
      stage.advance(10 * minute - 1);
      await stage.rest();
      assert.deepEqual(await waiting(ann.call), []);
      assert.equal(
        (await ann.call(myOutcomes, {})).outcomes.some((outcome) => outcome.kind === "inbox"),
        false,
      );
      stage.advance(1);
      await stage.rest();
      assert.deepEqual(await waiting(ann.call), ["look again"]);
      assert.equal((await ann.call(viewMessage, { id: sent.id })).deliveredAt, at(deliverAt));
      // The message is delivered only once.
      stage.advance(minute);
      await stage.rest();
      assert.deepEqual(await waiting(ann.call), ["look again"]);
    });

    staged("the scheduler asks to be woken when the next message is due", async (stage) => {
      const ann = await stage.org.agent("Ann");
      await stage.rest();
      await ann.call(sendDeferredMessage, { to: "self", body: "soon", deliverAt: at(stage.now() + 700) });
      await ann.call(sendDeferredMessage, { to: "self", body: "sooner", deliverAt: at(stage.now() + 500) });
      assert.equal(await stage.scheduler.tick(), stage.now() + 500);
      stage.advance(500);
      assert.equal(await stage.scheduler.tick(), stage.now() + 200);
      assert.deepEqual(await waiting(ann.call), ["sooner"]);
    });

    staged(
      "only its sender sees a deferred message before delivery, its text included",
      async ({ org, ...stage }) => {
        const boss = await org.agent("Chief");
        const ann = await org.agent("Ann", boss.id);
        const sent = await boss.call(sendDeferredMessage, {
          to: ann.id,
          body: "a surprise",
          deliverAt: at(stage.now() + minute),
        });
        await refusal(ann.call(viewMessage, { id: sent.id }), "not_found");
        await refusal(ann.call(readFile, { id: sent.file }), "not_found");
        await refusal(ann.call(acknowledgeMessage, { id: sent.id }), "not_found");
        assert.equal((await boss.call(listSent, {})).messages[0]?.deliveredAt, null);
        stage.advance(minute);
        await stage.rest();
        assert.equal((await ann.call(readFile, { id: sent.file })).content, "a surprise");
      },
    );

    staged("a delivery time in the past means immediate delivery", async (stage) => {
      const ann = await stage.org.agent("Ann");
      const sent = await ann.call(sendDeferredMessage, {
        to: "self",
        body: "x",
        deliverAt: at(stage.now() - minute),
      });
      assert.equal(sent.deliveredAt, at(stage.now()));
      await refusal(ann.call(sendDeferredMessage, { to: "self", body: "x", deliverAt: "soon" }), "invalid");
    });

    // covers MSG-05
    staged(
      "after a restart, a deferred message is delivered on time, or at once if it is late",
      async ({ org, ...stage }) => {
        const ann = await org.agent("Ann");
        for (const [body, delay] of [
          ["while nobody ran", 2],
          ["earlier still", 1],
          ["later", 30],
        ] as const)
          await ann.call(sendDeferredMessage, {
            to: "self",
            body,
            deliverAt: at(stage.now() + delay * minute),
          });
        await stage.rest();
        stage.crash(stage);
        stage.advance(10 * minute);
        assert.deepEqual(await waiting(ann.call), []);
        const next = stage.node("node-1");
        await next.scheduler.start();
        assert.deepEqual(await waiting(ann.call), ["while nobody ran", "earlier still"]);
        stage.advance(19 * minute);
        await stage.rest();
        assert.equal((await waiting(ann.call)).length, 2);
        stage.advance(minute);
        await stage.rest();
        assert.equal((await waiting(ann.call)).length, 3);
      },
    );

    staged("two nodes deliver a deferred message once", async (stage) => {
      const ann = await stage.org.agent("Ann");
      const other = stage.node("node-2");
      await other.scheduler.start();
      for (let index = 0; index < 20; index++)
        await ann.call(sendDeferredMessage, {
          to: "self",
          body: `${index}`,
          deliverAt: at(stage.now() + minute),
        });
      stage.advance(minute);
      await Promise.all([stage.scheduler.tick(), other.scheduler.tick()]);
      assert.equal((await waiting(ann.call)).length, 20);
      const inboxes = (await ann.call(myOutcomes, {})).outcomes.filter((outcome) => outcome.kind === "inbox");
      assert.equal(inboxes.length, 1);
    });

    staged("a deferred message fails if its mail route has ended, and the sender sees why", async (stage) => {
      const { org } = stage;
      const ann = await org.agent("Ann");
      const ben = await org.agent("Ben");
      const cleo = await org.agent("Cleo");
      const grant = await org.board(grantPermission, {
        companyId: org.companyId,
        to: ann.id,
        resource: `mail:${ben.id}`,
      });
      const deliverAt = at(stage.now() + minute);
      const lost = await ann.call(sendDeferredMessage, { to: ben.id, body: "too late", deliverAt });
      const toLeaver = await org.root(sendDeferredMessage, { to: cleo.id, body: "too late", deliverAt });
      const fromLeaver = await cleo.call(sendDeferredMessage, {
        to: "boss",
        body: "from the grave",
        deliverAt,
      });
      const byBoard = await org.board(sendDeferredMessage, {
        companyId: org.companyId,
        to: cleo.id,
        body: "too late",
        deliverAt,
      });
      await org.board(revokePermission, { id: grant.id });
      await org.board(terminateAgent, { id: cleo.id });
      stage.advance(minute);
      await stage.rest();
      assert.deepEqual(await waiting(ben.call), []);
      // The message is not delivered. Its sender is told, unless the sender has left.
      const told = /^Your deferred message .* was not delivered: (.*)\.\n\nYour text:\n> (?:too late)$/;
      const reasons = async (call: TestCaller) =>
        (await waiting(call)).map((body) => told.exec(body ?? "")?.[1]);
      assert.deepEqual(await reasons(org.root), ["Cleo is terminated"]);
      assert.deepEqual(await reasons(ann.call), ["Ann has no mail route to Ben any more"]);
      const seen = await ann.call(viewMessage, { id: lost.id });
      assert.equal(seen.deliveredAt, null);
      assert.match(seen.failure ?? "", /Ann has no mail route to Ben any more/);
      assert.match((await org.root(viewMessage, { id: toLeaver.id })).failure ?? "", /Cleo is terminated/);
      assert.match((await org.board(viewMessage, { id: byBoard.id })).failure ?? "", /Cleo is terminated/);
      assert.match(
        (await org.board(viewMessage, { id: fromLeaver.id })).failure ?? "",
        /the sender is terminated/,
      );
      // A failed message never comes back.
      stage.advance(minute);
      await stage.rest();
      assert.deepEqual(await waiting(ben.call), []);
      await refusal(ben.call(readFile, { id: lost.file }), "not_found");
      // The board is told once that Cleo left, and once that its own message failed.
      const { messages } = await org.board(boardInbox, { companyId: org.companyId });
      assert.deepEqual(
        messages.map(({ body }) => told.exec(body ?? "")?.[1] ?? body?.split("\n")[0]),
        ["Reorganized: Cleo leaves.", "Cleo is terminated"],
      );
    });

    staged("a paused agent gets its mail, and reads it when it is back", async ({ org, ...stage }) => {
      const ann = await org.agent("Ann");
      await org.root(pauseAgent, { id: ann.id });
      const sent = await org.root(sendDeferredMessage, {
        to: ann.id,
        body: "for later",
        deliverAt: at(stage.now() + minute),
      });
      stage.advance(minute);
      await stage.rest();
      assert.notEqual((await org.root(viewMessage, { id: sent.id })).deliveredAt, null);
    });
  });
