import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sql } from "kysely";
import { approve, listApprovals, reject, viewApproval } from "../contract/approvals.ts";
import { listCosts, setBudget } from "../contract/budgets.ts";
import { agentInbox } from "../contract/mail.ts";
import { pauseAgent, resumeAgent, terminateAgent, updateAgent, updateCompany, viewAgent } from "../contract/organization.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { listAgentSessions, listSessions, why } from "../contract/sessions.ts";
import type { Runner } from "../runtime/runner.ts";
import { overdrawn } from "../simulator/row-rules.ts";
import { query } from "../store/query.ts";
import type { Store } from "../store/store.ts";
import { type Organization, storeKinds } from "../testing/organization.ts";
import { type Script, type ScriptedSession, scriptedRunner } from "../testing/scripted-runner.ts";
import { onStage, type Stage } from "../testing/stage.ts";

const day = 24 * 3600 * 1000;
const tokens = (inputTokens: number) => ({ inputTokens, outputTokens: 0, costUsd: 0 });

/** Says what it used, one report after the other, and waits until the test lets it go on. */
const uses =
  (gate: Promise<unknown>, ...reports: number[]): Script =>
  async (session) => {
    for (const amount of reports) await says(session, amount);
    await session.hold(gate);
  };

async function says(session: ScriptedSession, amount: number): Promise<void> {
  // So that it gets somewhere, and is not held up for that.
  await session.call(createOutcome, { title: `at ${amount}`, parents: [session.agent.id] });
  session.onUsage(tokens(amount));
}


async function work(org: Organization, agentId: string, title = "a job"): Promise<string> {
  return (await org.board(createOutcome, { companyId: org.companyId, title, parents: [agentId] })).id;
}

const find = query((db, _: Record<never, never>) => ({
  compile: () => sql.raw<{ id: string }>(overdrawn).compile(db),
}));

async function demandConserved(store: Store): Promise<void> {
  assert.deepEqual(await store.read((tx) => tx.all(find, {})), []);
}

async function budgetOf({ org }: Stage, measure: "usd" | "tokens" | "sessions") {
  const { budget } = await org.board(listCosts, { companyId: org.companyId });
  const line = budget.find((candidate) => candidate.measure === measure);
  assert.ok(line !== undefined);
  return line;
}

const overrides = async ({ org }: Stage) =>
  (await org.board(listApprovals, { companyId: org.companyId })).approvals.filter(
    ({ type }) => type === "budget_override",
  );

for (const kind of storeKinds)
  describe(`budgets on ${kind}`, () => {
    const staged = (name: string, play: (stage: Stage) => Promise<void>): void => {
      test(name, () =>
        onStage(kind, async (stage) => {
          // A person, whom no message starts.
          await stage.org.board(updateAgent, { id: stage.org.rootId, adapterType: "human" });
          await play(stage);
          await demandConserved(stage.store);
        }),
      );
    };

    staged("a session has its share set aside before it starts, and gives back what it did not use", async (stage) => {
      const { org, runner } = stage;
      const { companyId } = org;
      await org.board(updateCompany, { companyId, monthlyBudget: { tokens: 1000 }, sessionBudget: { tokens: 300 } });
      const ann = await org.agent("Ann");
      await work(org, ann.id);
      const gate = Promise.withResolvers<void>();
      runner.plan(ann.id, uses(gate.promise, 100));
      await stage.rest();
      assert.deepEqual(await budgetOf(stage, "tokens"), {
        measure: "tokens", limit: 1000, spent: 100, reserved: 200, handedDown: 0, left: 700,
      });
      // Beyond its share it gets as much again.
      const [{ onUsage } = { onUsage: () => undefined }] = runner.started;
      onUsage(tokens(350));
      await stage.rest();
      assert.deepEqual(
        [(await budgetOf(stage, "tokens")).spent, (await budgetOf(stage, "tokens")).reserved],
        [350, 300],
      );
      runner.plan(ann.id, async () => undefined);
      gate.resolve();
      await stage.rest();
      const after = await budgetOf(stage, "tokens");
      assert.deepEqual([after.spent, after.reserved, after.left], [350, 0, 650]);
      assert.equal((await budgetOf(stage, "sessions")).spent, runner.started.length);
      for (const id of runner.started.slice(1)) assert.equal(id.agent.id, ann.id);
    });

    staged("at the limit the session is stopped, its agent paused and the board asked, once; a yes lets it go on", async (stage) => {
      const { org, runner } = stage;
      const { companyId } = org;
      await org.board(updateCompany, { companyId, sessionBudget: { tokens: 60 } });
      const ann = await org.agent("Ann");
      await org.board(setBudget, { id: ann.id, tokens: 100 });
      const job = await work(org, ann.id);
      const gate = Promise.withResolvers<void>();
      runner.plan(ann.id, uses(gate.promise, 50, 99));
      await stage.rest();
      assert.equal((await org.board(viewAgent, { id: ann.id })).status, "running");
      const [started] = runner.started;
      assert.ok(started !== undefined);
      started.onUsage(tokens(100));
      await stage.rest();
      assert.ok(runner.killed.has(started.id));
      assert.equal((await org.board(viewAgent, { id: ann.id })).status, "paused");
      const [session] = (await org.board(listAgentSessions, { id: ann.id })).sessions;
      assert.match(session?.endReason ?? "", /The token budget of Ann is used up/);
      await work(org, ann.id, "another job");
      await stage.rest();
      const [asked, more] = await overrides(stage);
      assert.ok(asked !== undefined && more === undefined);
      assert.deepEqual(asked.payload["raiseBy"], 60);
      assert.equal(asked.requestedBy?.id, ann.id);
      const seen = await org.board(why, { id: job });
      assert.ok(seen.moves && seen.says.includes(asked.id), seen.says);
      const { changes } = await org.board(viewApproval, { id: asked.id });
      assert.match(changes.join("\n"), /100 tokens a month now, 160 tokens after[^]*Resumed: Ann/);
      const end = Promise.withResolvers<void>();
      runner.plan(ann.id, uses(end.promise, 10));
      await org.board(approve, { id: asked.id });
      await stage.rest();
      assert.equal((await org.board(viewAgent, { id: ann.id })).status, "running");
      // Used up again, it asks again.
      runner.started.at(-1)?.onUsage(tokens(75));
      await stage.rest();
      const all = await overrides(stage);
      assert.deepEqual(all.map(({ status }) => status), ["pending", "approved"]);
      gate.resolve();
      end.resolve();
    });

    staged("a no leaves it paused, and nobody is asked again before the next month, which brings as much again", async (stage) => {
      const { org, runner } = stage;
      const ann = await org.agent("Ann");
      await org.board(setBudget, { id: ann.id, tokens: 100 });
      await work(org, ann.id);
      const gate = Promise.withResolvers<void>();
      runner.plan(ann.id, uses(gate.promise, 130));
      await stage.rest();
      const [asked] = await overrides(stage);
      await org.board(reject, { id: asked?.id ?? "" });
      await stage.rest();
      assert.equal((await org.board(viewAgent, { id: ann.id })).status, "paused");
      assert.match((await org.board(why, { id: ann.id })).says, /was rejected; the next month begins at 2030-02-01/);
      // Resumed by hand, it is not started all the same.
      await org.board(resumeAgent, { id: ann.id });
      await stage.rest();
      assert.equal(runner.started.length, 1);
      assert.match((await org.board(why, { id: ann.id })).says, /is not started: the token budget of ann is used up/);
      assert.equal((await overrides(stage)).length, 1);
      stage.advance(31 * day);
      const next = Promise.withResolvers<void>();
      runner.plan(ann.id, uses(next.promise, 10));
      await stage.rest();
      assert.equal((await org.board(viewAgent, { id: ann.id })).status, "running");
      const before = await org.board(listCosts, { companyId: org.companyId, month: "2030-01" });
      const now = await org.board(listCosts, { companyId: org.companyId });
      assert.deepEqual([before.total.inputTokens, now.total.inputTokens, now.month], [130, 10, "2030-02"]);
      next.resolve();
      gate.resolve();
    });

    staged("whom a budget paused, and whose request nobody decided, goes on in the next month by itself", async (stage) => {
      const { org, runner } = stage;
      const ann = await org.agent("Ann");
      await org.board(setBudget, { id: ann.id, tokens: 100 });
      await work(org, ann.id);
      const gate = Promise.withResolvers<void>();
      runner.plan(ann.id, uses(gate.promise, 100), uses(gate.promise, 1));
      await stage.rest();
      assert.equal((await org.board(viewAgent, { id: ann.id })).status, "paused");
      stage.advance(31 * day);
      await stage.rest();
      assert.equal((await org.board(viewAgent, { id: ann.id })).status, "running");
      assert.deepEqual((await overrides(stage)).map(({ status }) => status), ["rejected"]);
      gate.resolve();
    });

    staged("at four fifths the owner and its boss are told, once in a month", async (stage) => {
      const { org, runner } = stage;
      const ann = await org.agent("Ann");
      await org.board(setBudget, { id: ann.id, tokens: 100 });
      await work(org, ann.id);
      const gate = Promise.withResolvers<void>();
      runner.plan(ann.id, uses(gate.promise, 79));
      runner.otherwise(async ({ hold }) => hold(gate.promise));
      await stage.rest();
      const notices = async (agentId: string): Promise<number> => {
        const { messages } = await org.board(agentInbox, { id: agentId });
        return messages.filter(({ body }) => body?.includes("nearly used up") === true).length;
      };
      assert.deepEqual([await notices(ann.id), await notices(org.rootId)], [0, 0]);
      const [started] = runner.started;
      for (const amount of [80, 85, 90, 99]) {
        started?.onUsage(tokens(amount));
        await stage.rest();
      }
      assert.deepEqual([await notices(ann.id), await notices(org.rootId)], [1, 1]);
      gate.resolve();
    });

    staged("0 is nothing at all: nobody is started, and the board is asked once for all of them", async (stage) => {
      const { org, runner } = stage;
      const { companyId } = org;
      for (const part of ["usd", "tokens", "sessions"] as const) {
        await org.board(updateCompany, { companyId, monthlyBudget: { [part]: 0 } });
        const agents = [await org.agent(`Ann ${part}`), await org.agent(`Ben ${part}`)];
        for (const { id } of agents) await work(org, id);
        await stage.rest();
        assert.equal(runner.started.length, 0);
        const [asked, ...others] = (await overrides(stage)).filter(({ status }) => status === "pending");
        assert.equal(others.length, 0);
        assert.deepEqual([asked?.payload["measure"], asked?.payload["limit"]], [part, 0]);
        const { says, moves } = await org.board(why, { id: agents[0]?.id ?? "" });
        assert.ok(moves && says.includes(asked?.id ?? "none"), says);
        await org.board(updateCompany, { companyId, maxSessions: 0, monthlyBudget: { [part]: 1000 } });
        // Nobody need decide any more.
        assert.deepEqual((await overrides(stage)).filter(({ status }) => status === "pending"), []);
        for (const { id } of agents) await org.board(terminateAgent, { id });
        await org.board(updateCompany, { companyId, maxSessions: 4 });
      }
    });

    staged("without a limit only where the board says so", async (stage) => {
      const { org, runner } = stage;
      const { companyId } = org;
      for (const { limit } of (await org.board(listCosts, { companyId })).budget) assert.ok((limit ?? 0) > 0);
      await org.board(updateCompany, { companyId, monthlyBudget: { tokens: null } });
      assert.equal((await budgetOf(stage, "tokens")).limit, null);
      assert.equal((await budgetOf(stage, "usd")).limit, 1000);
      const ann = await org.agent("Ann");
      await work(org, ann.id);
      const gate = Promise.withResolvers<void>();
      runner.plan(ann.id, uses(gate.promise, 5_000_000_000));
      await stage.rest();
      assert.equal((await org.board(viewAgent, { id: ann.id })).status, "running");
      // Of money it has a limit, and no report is too great to be held against it.
      runner.started[0]?.onUsage({ inputTokens: 0, outputTokens: 0, costUsd: Number.POSITIVE_INFINITY });
      await stage.rest();
      assert.equal((await org.board(viewAgent, { id: ann.id })).status, "paused");
      gate.resolve();
    });

    staged("what others hold is waited for: nobody is paused, nobody is asked", async (stage) => {
      const { org, runner } = stage;
      const { companyId } = org;
      await org.board(updateCompany, { companyId, monthlyBudget: { tokens: 100 }, sessionBudget: { tokens: 80 } });
      const [ann, ben, cid] = [await org.agent("Ann"), await org.agent("Ben"), await org.agent("Cid")];
      const first = Promise.withResolvers<void>();
      runner.plan(ann.id, uses(first.promise));
      await work(org, ann.id);
      await stage.rest();
      const second = Promise.withResolvers<void>();
      runner.plan(ben.id, uses(second.promise, 15));
      await work(org, ben.id);
      await work(org, cid.id);
      await stage.rest();
      assert.deepEqual(runner.started.map(({ agent }) => agent.name), ["Ann", "Ben"]);
      assert.match((await org.board(why, { id: cid.id })).says, /set aside for sessions that run/);
      // Its share is used and no other is free: it ends, and starts again when Ann gives back.
      runner.started[1]?.onUsage(tokens(20));
      await stage.rest();
      assert.equal((await org.board(viewAgent, { id: ben.id })).status, "idle");
      assert.deepEqual(await overrides(stage), []);
      runner.otherwise(async () => undefined);
      first.resolve();
      await stage.rest();
      assert.ok(new Set(runner.started.slice(2).map(({ agent }) => agent.name)).has("Cid"));
      second.resolve();
    });

    staged("what a session used beyond every limit is paid above, and no budget below gives out more than it has", async (stage) => {
      const { org, runner } = stage;
      const { companyId } = org;
      await org.board(updateCompany, { companyId, monthlyBudget: { tokens: 1000 } });
      const ann = await org.agent("Ann");
      const ben = await org.agent("Ben", ann.id);
      await org.board(setBudget, { id: ann.id, tokens: 100 });
      await ann.call(setBudget, { id: ben.id, tokens: 40 });
      await work(org, ben.id);
      const gate = Promise.withResolvers<void>();
      runner.plan(ben.id, uses(gate.promise, 30));
      await stage.rest();
      runner.started[0]?.onUsage(tokens(140));
      await stage.rest();
      await demandConserved(stage.store);
      const spentOf = async (agent: string) =>
        (await org.board(listCosts, { companyId, agent })).budget[0]?.spent;
      // 40 are Ben's, 60 are all Ann had left, 40 remain for the company.
      assert.deepEqual([await spentOf(ben.id), await spentOf(ann.id)], [40, 60]);
      assert.equal((await budgetOf(stage, "tokens")).spent, 40);
      assert.equal((await org.board(listCosts, { companyId })).total.inputTokens, 140);
      gate.resolve();
    });

    staged("kill -9 loses nothing that was reported, and gives back what was set aside", async (stage) => {
      const { org, runner } = stage;
      const { companyId } = org;
      await org.board(updateCompany, { companyId, sessionBudget: { tokens: 500 } });
      const ann = await org.agent("Ann");
      await org.board(setBudget, { id: ann.id, tokens: 1000 });
      await work(org, ann.id);
      const gate = Promise.withResolvers<void>();
      runner.plan(ann.id, uses(gate.promise, 10, 200));
      await stage.rest();
      stage.crash(stage);
      const next = stage.node("node-1");
      const again = Promise.withResolvers<void>();
      next.runner.plan(ann.id, uses(again.promise, 300));
      await next.scheduler.start();
      await stage.rest();
      const [line] = (await ann.call(listCosts, {})).budget;
      assert.deepEqual([line?.spent, line?.reserved], [500, 200]);
      const { sessions } = await org.board(listSessions, { companyId });
      assert.deepEqual(sessions.map(({ usage }) => usage.inputTokens), [300, 200]);
      again.resolve();
      gate.resolve();
    });

    staged("a share is held until the process of an ended session is gone, and its last words count", async (stage) => {
      const { org, runner } = stage;
      const ann = await org.agent("Ann");
      await org.board(setBudget, { id: ann.id, tokens: 1000 });
      await work(org, ann.id);
      stage.crash(stage);
      // Its processes take their time to die.
      const slow = scriptedRunner(org.core.dispatch);
      const gate = Promise.withResolvers<void>();
      slow.plan(ann.id, async () => {
        await gate.promise;
        return { usage: tokens(700) };
      });
      const runsOn: Runner = { ...slow, start: async (spec) => ({ ...(await slow.start(spec)), kill: () => undefined }) };
      const { scheduler } = stage.node("node-2", { runner: runsOn });
      await scheduler.start();
      await org.board(pauseAgent, { id: ann.id });
      await scheduler.tick();
      const figures = async () => {
        const [line] = (await org.board(listCosts, { companyId: org.companyId, agent: ann.id })).budget;
        return [line?.spent, line?.reserved];
      };
      assert.deepEqual(await figures(), [0, 1000]);
      gate.resolve();
      await stage.rest();
      while (scheduler.running() > 0) await scheduler.tick();
      assert.deepEqual(await figures(), [700, 0]);
      slow.verify();
    });
  });
