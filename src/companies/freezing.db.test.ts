import assert from "node:assert/strict";
import { describe } from "node:test";
import { createKey, pauseAgent, setPermissions, updateAgent } from "../contract/agents.ts";
import { viewAttention } from "../contract/attention.ts";
import { grantPermission } from "../contract/capabilities.ts";
import {
  archiveCompany,
  freezeCompany,
  listCompanies,
  thawCompany,
  unarchiveCompany,
  updateCompany,
  viewCompany,
} from "../contract/companies.ts";
import { viewApproval } from "../contract/approvals.ts";
import { requestAgent, waitForApproval } from "../contract/create-agent.ts";
import { createFile, listFiles } from "../contract/knowledge.ts";
import { listEvents } from "../contract/ledger.ts";
import { readInbox, sendDeferredMessage, sendMessage, viewMessage } from "../contract/mail.ts";
import { createOutcome, myOutcomes, viewOutcome } from "../contract/outcomes.ts";
import { why } from "../contract/why.ts";
import { viewOrg } from "../contract/roster.ts";
import { listAgentSessions } from "../contract/sessions.ts";
import { refusal, storeKinds } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { hang } from "../testing/scripts.ts";
import { stagedOn } from "../testing/stage.ts";

const minute = 60_000;

for (const kind of storeKinds)
  describe(`a frozen company on ${kind}`, () => {
    const staged = stagedOn(kind);

    staged(
      "stops its sessions, starts none, keeps its mail, and continues after the thaw",
      async ({ org, runner, ...stage }) => {
        const { companyId } = org;
        const ann = await org.agent("Ann");
        const key = org.as((await org.board(createKey, { id: ann.id })).key);
        await org.board(sendMessage, { companyId, to: ann.id, body: "work" });
        const never = Promise.withResolvers<void>();
        let late: string | undefined;
        runner.plan(ann.id, async ({ call, hold }) => {
          await hold(never.promise).catch(() => undefined);
          late = await call(myOutcomes, {}).then(
            () => "accepted",
            () => "refused",
          );
          return {};
        });
        await stage.rest();
        assert.equal(runner.alive(), 1);
        const frozen = await org.board(freezeCompany, { companyId, reason: "too expensive" });
        assert.deepEqual([frozen.state, frozen.frozenReason], ["frozen", "too expensive"]);
        await refusal(org.board(freezeCompany, { companyId }), "conflict");
        await stage.rest();
        never.resolve();
        await stage.rest();
        assert.equal(runner.alive(), 0);
        assert.equal(late, "refused");
        const { sessions } = await org.board(listAgentSessions, { id: ann.id });
        assert.deepEqual(
          sessions.map(({ endReason }) => endReason),
          ["the company was frozen"],
        );
        // Agents can read, but change nothing. The board can decide.
        const { message, hint } = await refusal(
          key(createFile, { description: "x", content: "x" }),
          "refused",
        );
        assert.match(message, /is frozen \(too expensive\), so nothing can be changed now\.$/);
        assert.match(hint, /agency thaw/);
        await refusal(key(sendMessage, { to: "boss", body: "x" }), "refused");
        await key(listFiles, {});
        await key(readInbox, {});
        await org.board(updateAgent, { id: ann.id, role: "other" });
        const deliverAt = new Date(stage.now() + minute).toISOString();
        const later = await org.board(sendDeferredMessage, {
          companyId,
          to: ann.id,
          body: "later",
          deliverAt,
        });
        stage.advance(10 * minute);
        await stage.rest();
        assert.equal((await org.board(viewMessage, { id: later.id })).deliveredAt !== null, true);
        assert.equal(runner.started.length, 1);
        const says = /is frozen \(too expensive\)\. No agent works until the board thaws it: agency thaw\.$/;
        const reason = await org.board(why, { id: ann.id });
        assert.equal(reason.moves, false);
        assert.match(reason.says, says);
        assert.match((await org.board(viewOrg, { companyId })).stopped ?? "", says);
        const { items, health } = await org.board(viewAttention, { companyId });
        const item = items.find(({ subject }) => subject.id === companyId);
        assert.deepEqual(
          [item?.kind, item?.abilities.map(({ name }) => name), health.moving, health.stuck],
          ["stall", ["company.thaw"], 0, 0],
        );
        // A daemon that starts now starts no session.
        stage.crash(stage);
        const next = stage.node("node-2");
        await next.scheduler.start();
        stage.advance(minute);
        await next.scheduler.tick();
        assert.equal(next.runner.started.length, 0);
        assert.equal((await org.board(thawCompany, { companyId })).state, "active");
        await refusal(org.board(thawCompany, { companyId }), "conflict");
        next.runner.otherwise(async () => ({}));
        await next.scheduler.tick();
        assert.deepEqual(
          next.runner.started.map(({ agent }) => agent.name),
          ["Ann"],
        );
        assert.equal((await org.board(viewOrg, { companyId })).stopped, null);
        await key(createFile, { description: "x", content: "x" });
      },
    );

    staged("freezing many times does not count as a lack of progress", async ({ org, runner, ...stage }) => {
      const { companyId } = org;
      const ann = await org.agent("Ann");
      await org.board(sendMessage, { companyId, to: ann.id, body: "work" });
      runner.otherwise(async ({ hold }) => {
        await hold(new Promise(() => undefined)).catch(() => undefined);
      });
      for (let round = 0; round < 5; round++) {
        await stage.rest();
        assert.equal(runner.started.length, round + 1);
        await org.board(freezeCompany, { companyId });
        await stage.rest();
        assert.equal(runner.alive(), 0);
        await org.board(thawCompany, { companyId });
      }
      await org.board(freezeCompany, { companyId });
      await stage.rest();
    });

    staged(
      "after the thaw, any node starts an agent whose node has not recorded the end yet",
      async ({ org, ...stage }) => {
        const { companyId } = org;
        const ann = await org.agent("Ann");
        await org.board(sendMessage, { companyId, to: ann.id, body: "work" });
        const never = Promise.withResolvers<void>();
        stage.runner.plan(ann.id, async ({ hold }) => {
          await hold(never.promise).catch(() => undefined);
          return {};
        });
        await stage.rest();
        const other = stage.node("node-2");
        other.runner.otherwise(async () => ({}));
        await other.scheduler.start();
        await org.board(freezeCompany, { companyId });
        await org.board(thawCompany, { companyId });
        await other.scheduler.tick();
        assert.equal(other.runner.started.length, 1);
        never.resolve();
        await stage.rest();
      },
    );

    staged(
      "mail that a node is about to deliver waits if the company is archived first",
      async ({ org, ...stage }) => {
        const { companyId } = org;
        const deliverAt = new Date(stage.now() + minute).toISOString();
        const later = await org.board(sendDeferredMessage, {
          companyId,
          to: org.rootId,
          body: "later",
          deliverAt,
        });
        const slow = stage.node("node-2", {
          at: async (step) => {
            if (step === "delivery") await org.board(archiveCompany, { companyId });
          },
        });
        stage.advance(2 * minute);
        await slow.scheduler.tick();
        assert.equal((await org.board(viewMessage, { id: later.id })).deliveredAt, null);
      },
    );

    staged(
      "a session that ended before the archive and is settled after it blocks nothing",
      async ({ org, runner, ...stage }) => {
        const { companyId } = org;
        const ann = await org.agent("Ann");
        const hard = await org.board(createOutcome, { companyId, title: "hard", parents: [ann.id] });
        const idle: Script = async () => ({});
        runner.plan(ann.id, idle, idle, hang);
        for (let step = 0; step < 3; step++) {
          await stage.rest();
          stage.advance(minute);
        }
        assert.deepEqual([runner.started.length, runner.alive()], [3, 1]);
        await org.board(pauseAgent, { id: ann.id });
        await org.board(archiveCompany, { companyId });
        await stage.rest();
        const { sessions } = await org.board(listAgentSessions, { id: ann.id });
        assert.deepEqual([sessions.length, runner.alive()], [3, 0]);
        assert.equal((await org.board(viewOutcome, { id: hard.id })).blocked, null);
        const { events } = await org.board(listEvents, { companyId, limit: 1000 });
        const operations = events.map(({ operation }) => operation);
        assert.deepEqual(operations.slice(operations.indexOf("company.archive") + 1), ["session.end"]);
      },
    );

    staged(
      "an archived company is hidden, read only and silent until it is taken out of the archive",
      async ({ org, ...stage }) => {
        const { companyId } = org;
        const ann = await org.agent("Ann");
        const deliverAt = new Date(stage.now() + minute).toISOString();
        const later = await org.board(sendDeferredMessage, {
          companyId,
          to: ann.id,
          body: "later",
          deliverAt,
        });
        await org.board(updateCompany, { companyId, approvalExpirySeconds: 60 });
        const { requestId = "" } = await ann.call(requestAgent, { name: "Helper", waitSeconds: 0 });
        const request = async () => (await org.board(viewApproval, { id: requestId })).status;
        await refusal(org.board(unarchiveCompany, { companyId }), "conflict");
        assert.equal((await org.board(archiveCompany, { companyId })).state, "archived");
        const listed = async (input: { archived?: boolean }) =>
          (await org.board(listCompanies, { limit: 1000, ...input })).companies.some(
            ({ id }) => id === companyId,
          );
        assert.deepEqual([await listed({}), await listed({ archived: true })], [false, true]);
        assert.equal((await org.board(viewCompany, { companyId })).state, "archived");
        for (const call of [
          () => org.board(updateCompany, { companyId, maxSessions: 1 }),
          () => org.board(sendMessage, { companyId, body: "x" }),
          () => org.board(freezeCompany, { companyId }),
          () => org.board(thawCompany, { companyId }),
          () => org.board(archiveCompany, { companyId }),
          () => ann.call(createFile, { description: "x", content: "x" }),
        ])
          assert.match((await refusal(call(), "refused")).message, /is archived, so it can only be read/);
        stage.advance(10 * minute);
        await stage.rest();
        assert.equal((await org.board(viewMessage, { id: later.id })).deliveredAt, null);
        await ann.call(waitForApproval, { requestId, waitSeconds: 0 });
        assert.equal(await request(), "pending", "a request expires only once the company is back");
        assert.equal((await org.board(unarchiveCompany, { companyId })).state, "frozen");
        await stage.rest();
        assert.notEqual((await org.board(viewMessage, { id: later.id })).deliveredAt, null);
        assert.equal(await request(), "rejected");
        assert.equal(stage.runner.started.length, 0);
        stage.runner.otherwise(async () => ({}));
        await org.board(thawCompany, { companyId });
        await stage.rest();
        assert.equal(stage.runner.started.length > 0, true);
      },
    );

    staged("an agent that loses the right to hire through a link above is told", async ({ org }) => {
      const { companyId } = org;
      await org.board(updateCompany, { companyId, maxSessions: 0 });
      const boss = await org.agent("Chief");
      const ann = await org.agent("Ann", boss.id);
      const deep = await org.agent("Deep", ann.id);
      const ben = await org.agent("Ben", boss.id);
      await org.board(setPermissions, { id: boss.id, canCreateAgents: true });
      for (const to of [ann, ben]) await boss.call(grantPermission, { to: to.id, resource: "org:hire" });
      await ann.call(grantPermission, { to: deep.id, resource: "org:hire" });
      // Ben has the right from the board too, so he keeps it and gets no notice.
      await org.board(setPermissions, { id: ben.id, canCreateAgents: true });
      await org.board(grantPermission, { companyId, to: ben.id, resource: "org:hire" });
      await org.board(setPermissions, { id: boss.id, canCreateAgents: false });
      const told = async ({ call }: typeof ann) =>
        (await call(readInbox, {})).messages.map(({ body }) => body);
      const rest =
        'Your team stays as it is. If your work needs another agent, ask your manager: request_permission {"resource":"org:hire","reason":"…"}.';
      const above = `You can no longer hire agents: the board revoked Chief's right to hire, from which yours came. ${rest}`;
      assert.deepEqual(await told(boss), [
        `You can no longer hire agents: the board revoked your right to hire. ${rest}`,
      ]);
      assert.deepEqual([await told(ann), await told(deep), await told(ben)], [[above], [above], []]);
    });
  });
