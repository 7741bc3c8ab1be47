// A brain asks for more of everything, without end and in every possible way. The organization stays within its limits, and the
// board is told once.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { commentOnApproval, listApprovals, requestApproval } from "../src/contract/approvals.ts";
import { hireAgent, createAgent } from "../src/contract/hiring.ts";
import { listCosts } from "../src/contract/budgets.ts";
import { requestPermission } from "../src/contract/capabilities.ts";
import { requestAgent } from "../src/contract/create-agent.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { acknowledgeMessage, readInbox, sendDeferredMessage, sendMessage } from "../src/contract/mail.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { listAgents, updateAgent } from "../src/contract/agents.ts";
import * as outcomes from "../src/contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../src/contract/delegation.ts";
import { planWork } from "../src/contract/delegation.ts";
import { Refusal } from "../src/contract/refusal.ts";
import type { Exit } from "../src/processes/runner.ts";
import { depthOf } from "../src/outcomes/limits.ts";
import { Chance } from "../src/simulator/chance.ts";
import { query } from "../src/store/query.ts";
import type { ScriptedSession } from "../src/testing/scripted-runner.ts";
import { storeKinds } from "../src/testing/organization.ts";
import { byLength } from "../src/testing/run-length.ts";
import { onStage, type Stage } from "../src/testing/stage.ts";

const turnsOf = {
  sqlite: {
    off: byLength({ quick: 500, whole: 2000, long: 4000 }),
    on: byLength({ quick: 300, whole: 800, long: 1500 }),
  },
  postgres: { off: 800, on: 400 },
};
const plain = { adapterType: "process", adapterConfig: { command: "/bin/true" } };

for (const kind of storeKinds)
  describe(`a runaway on ${kind}`, () => {
    for (const approval of ["off", "on"] as const)
      test(`${turnsOf[kind][approval]} turns, with approval ${approval}`, (t) =>
        onStage(kind, async (stage) => {
          const { org } = stage;
          const { companyId } = org;
          await org.board(updateAgent, { id: org.rootId, ...plain });
          // The defaults of a company whose settings the board has not changed.
          await org.board(updateCompany, {
            companyId,
            requireBoardApprovalForNewAgents: approval === "on",
            defaultAdapterType: "process",
            defaultAdapterConfig: plain.adapterConfig,
            maxAgents: null,
            maxDelegations: 3,
            maxDelegationDepth: 2,
            maxOpenOutcomes: 200,
          });
          const mia = await org.board(createAgent, {
            companyId,
            name: "Mia",
            role: "Manager",
            ...plain,
            grants: [{ resource: "org:hire" }],
          });
          await org.board(createAgent, {
            companyId,
            name: "Eve",
            role: "Engineer",
            reportsTo: mia.id,
            ...plain,
          });
          const greed = new Greed(turnsOf[kind][approval]);
          stage.runner.otherwise((session) => greed.play(session));
          await org.board(sendMessage, { companyId, body: "Grow." });
          // Starts the agents again that were told to wait.
          for (let minutes = 0; greed.left > 0 && minutes < 10_000; minutes++) {
            await stage.rest();
            stage.advance(60_000);
            if (minutes % 20 === 19)
              await org.board(sendMessage, { companyId, body: "Grow more." }).catch(() => undefined);
          }
          assert.equal(greed.left, 0, "the brain must play all its turns");
          await stage.rest();
          const found = await measure(stage);
          t.diagnostic(
            JSON.stringify({ ...found, sessions: stage.runner.started.length, refused: greed.refused }),
          );
          assert.ok(found.agents <= (approval === "on" ? 3 : 16), `${found.agents} agents`);
          assert.ok(found.waiting <= 16 + 1000 * 3, `${found.waiting} approvals wait`);
          assert.ok(found.depth <= 2, `depth ${found.depth}`);
          // Work that returns to the agent that delegated it is never refused, so this limit is higher.
          assert.ok(found.mostOpen <= 16 * 200, `${found.mostOpen} live outcomes of one agent`);
          assert.ok(found.mostMail <= 100, `${found.mostMail} messages wait from one to another`);
          assert.ok(found.mostInbox <= 1000 + 100 * 17, `${found.mostInbox} messages in one inbox`);
          assert.equal(found.toldOfLimits, 1, "the board must be told once");
          assert.ok(found.asked <= 50, `the board was asked for ${found.asked} rights`);
          assert.ok(found.toldBoard <= 20, `the system wrote ${found.toldBoard} times to the board`);
          assert.ok(greed.refused > 100, "the run must reach the limits");
        }));

    test("a brain with a budget stops when it is spent, and the board is asked once", () =>
      onStage(kind, async (stage) => {
        const { org } = stage;
        const { companyId } = org;
        await org.board(updateAgent, { id: org.rootId, ...plain });
        await org.board(updateCompany, {
          companyId,
          defaultAdapterType: "process",
          defaultAdapterConfig: plain.adapterConfig,
          monthlyBudget: { tokens: 20_000, sessions: 40 },
          sessionBudget: { tokens: 1000 },
        });
        const greed = new Greed(10_000);
        stage.runner.otherwise((session) => greed.play(session));
        await org.board(sendMessage, { companyId, body: "Grow." });
        for (let minutes = 0; minutes < 45; minutes++) {
          await stage.rest();
          stage.advance(60_000);
          await org.board(sendMessage, { companyId, body: "Grow more." }).catch(() => undefined);
        }
        assert.ok(greed.left > 0, "the brain must be stopped before its last turn");
        const { total } = await org.board(listCosts, { companyId });
        assert.ok(
          total.sessions <= 40 && stage.runner.started.length === total.sessions,
          JSON.stringify(total),
        );
        assert.ok(total.inputTokens + total.outputTokens <= 20_000, JSON.stringify(total));
        const { approvals } = await org.board(listApprovals, { companyId, limit: 1000 });
        const asked = approvals.filter(({ type }) => type === "budget_override");
        assert.equal(asked.length, 1, JSON.stringify(asked.map(({ payload }) => payload)));
      }));
  });

/** Plays the sessions of every agent for a given number of turns in all. Later sessions end at once. */
class Greed {
  left: number;
  refused = 0;
  readonly #chance = new Chance(1, "runaway");
  #made = 0;

  constructor(turns: number) {
    this.left = turns;
  }

  async play({ call, agent }: ScriptedSession): Promise<Partial<Exit>> {
    const chance = this.#chance;
    const name = (): string => `Agent ${++this.#made}`;
    const mine = (await call(outcomes.myOutcomes, { status: "open", limit: 100 })).outcomes;
    const one = (): string =>
      chance.pick(mine.filter(({ kind }) => kind !== "inbox"))?.id ?? agent.mandate_id;
    const deeds: (() => Promise<unknown>)[] = [
      async () => call(outcomes.createOutcome, { title: name(), parents: [one()] }),
      async () => call(outcomes.createOutcome, { title: name(), parents: [one()] }),
      async () =>
        call(delegateOutcome, {
          id: one(),
          hire: { name: name(), role: name() },
          grants: [{ resource: "org:hire" }],
        }),
      async () =>
        call(delegateOutcome, {
          id: one(),
          to: chance.pick(["Engineer", "Manager", "agent-1"]) ?? "",
        }),
      async () => call(reclaimOutcome, { id: one(), reason: "mine" }),
      async () => call(outcomes.submitOutcome, { id: one(), note: "done" }),
      async () => call(outcomes.completeOutcome, { id: one(), note: "done" }),
      async () => call(hireAgent, { name: name(), role: "Engineer", grants: [{ resource: "org:hire" }] }),
      async () =>
        call(planWork, {
          outcome: one(),
          tasks: [1, 2, 3, 4, 5].map(() => ({ title: name(), assignee: name() })),
        }),
      async () => call(requestAgent, { name: name(), waitSeconds: 1 }),
      async () => call(requestApproval, { payload: { plan: name() } }),
      async () => call(requestPermission, { resource: "org:hire", reason: name() }),
      async () => call(requestPermission, { resource: `repo:${name().replace(" ", "")}`, reason: "all" }),
      async () => call(sendMessage, { to: chance.pick(["boss", "board", "mia", "eve"]) ?? "", body: name() }),
      async () =>
        call(sendDeferredMessage, {
          to: "self",
          body: name(),
          deliverAt: new Date(Date.UTC(2030, 0, 1, 13)).toISOString(),
        }),
      async () => call(sendMessage, { to: "self", body: name() }),
      async () =>
        call(sendDeferredMessage, {
          to: chance.pick(["self", "boss", "mia"]) ?? "",
          body: name(),
          deliverAt: new Date(Date.UTC(2030, 0, 1, 12, chance.int(600))).toISOString(),
        }),
      async () => call(createFile, { description: name(), content: name().repeat(100) }),
      async () => call(outcomes.updateOutcome, { id: one(), blocked: { reason: name() } }),
      async () => call(outcomes.updateOutcome, { id: one(), blocked: null }),
      async () => call(outcomes.closeOutcome, { id: one(), rationale: "not this one" }),
      async () => {
        const { outcomes: sent } = await call(outcomes.listOutcomes, { status: "submitted", limit: 100 });
        const id = chance.pick(sent)?.id ?? agent.mandate_id;
        return call(outcomes.reopenOutcome, { id, reason: "more" });
      },
      async () => {
        const { messages } = await call(readInbox, {});
        for (const { id } of messages.slice(0, 3)) await call(acknowledgeMessage, { id, result: "more" });
      },
      async () => {
        const { approvals } = await call(listApprovals, {});
        return call(commentOnApproval, { id: approvals[0]?.id ?? "", body: name() });
      },
    ];
    for (let turn = 0; turn < 20 && this.left > 0; turn++) {
      this.left -= 1;
      try {
        await chance.pick(deeds)?.();
      } catch (error) {
        if (!(error instanceof Refusal) && !(error instanceof z.ZodError)) throw error;
        this.refused += 1;
      }
    }
    const usage = { inputTokens: 300, outputTokens: 100, costUsd: 0.01 };
    if (this.left <= 0) return { output: "", usage };
    this.left -= 1;
    const lines = [1, 2, 3, 4, 5].flatMap(() => [
      `HIRE[${name()}]: More.`,
      `DELEGATE[${chance.pick(["Engineer", "Manager"]) ?? ""}]: More.`,
    ]);
    const plans = [
      "```plan",
      JSON.stringify([1, 2, 3].map(() => ({ title: name(), assignee: name() }))),
      "```",
    ];
    const verdicts = mine.map(({ id }) => `VERDICT[${id}]: REWORK more`);
    const said = chance.pick([
      [`@${chance.pick(["human", "nobody", "Mia", "boss"]) ?? ""}`, "More!"],
      lines,
      lines,
      [...plans, ...plans, ...lines],
      [...verdicts, ...lines.map((line) => `- ${line}`)],
      ["More!"],
    ]);
    return { usage, output: said?.join("\n") ?? "" };
  }
}

async function measure({ org, store }: Stage) {
  const { companyId } = org;
  const { agents } = await org.board(listAgents, { companyId, limit: 1000 });
  const employed = agents.filter(({ status }) => ["idle", "running", "paused"].includes(status));
  const rows = await store.read(async (tx) => {
    const all = await tx.all(outcomeIds, { companyId });
    let depth = 0;
    for (const { id } of all.slice(0, 3000)) depth = Math.max(depth, await depthOf(tx, id));
    return { depth, outcomes: all, messages: await tx.all(waitingMessages, { companyId }) };
  });
  const most = (groups: Map<unknown, unknown[]>): number =>
    Math.max(0, ...[...groups.values()].map((group) => group.length));
  const live = rows.outcomes.filter(({ status }) => status === "open" || status === "submitted");
  const byAgents = rows.messages.filter(({ from_system }) => from_system === 0);
  const toBoard = rows.messages.filter(({ to_id, from_system }) => to_id === null && from_system === 1);
  const unasked = toBoard.filter(({ description }) => !/ asks for \w+ on /.test(description));
  const { events } = await org.board(listEvents, { companyId, limit: 1 });
  return {
    agents: employed.length,
    waiting: agents.filter(({ status }) => status === "pending_approval").length,
    depth: rows.depth,
    outcomes: rows.outcomes.length,
    mostOpen: most(Map.groupBy(live, ({ responsible_id }) => responsible_id)),
    mostMail: most(Map.groupBy(byAgents, ({ from_id, to_id }) => `${from_id ?? ""} ${to_id ?? ""}`)),
    mostInbox: most(Map.groupBy(rows.messages, ({ to_id }) => to_id)),
    toldOfLimits: toBoard.filter(({ description }) => description.includes("has reached a limit")).length,
    asked: toBoard.length - unasked.length,
    toldBoard: unasked.length,
    firstEvent: events[0]?.seq ?? 0,
  };
}

const outcomeIds = query((db, p: { companyId: string }) =>
  db
    .selectFrom("outcomes")
    .select(["id", "status", "responsible_id"])
    .where("company_id", "=", p.companyId)
    .where("kind", "<>", "inbox"),
);

const waitingMessages = query((db, p: { companyId: string }) =>
  db
    .selectFrom("messages as m")
    .innerJoin("files as f", "f.id", "m.file_id")
    .select(["m.from_id", "m.to_id", "m.from_system", "f.description"])
    .where("m.company_id", "=", p.companyId)
    .where("m.acknowledged_at", "is", null)
    .where("m.failure", "is", null),
);
