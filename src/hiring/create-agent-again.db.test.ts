import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { approve, cancelApproval, listApprovals, reject } from "../contract/approvals.ts";
import { hireAgent, createAgent } from "../contract/hiring.ts";
import { requestAgent, waitForApproval } from "../contract/create-agent.ts";
import { readInbox } from "../contract/mail.ts";
import { updateCompany } from "../contract/companies.ts";
import { listAgents } from "../contract/agents.ts";
import { newId, newSecret } from "../daemon/ids.ts";
import { createScheduler } from "../runtime/scheduler.ts";
import { query } from "../store/query.ts";
import type { Store } from "../store/store.ts";
import {
  createOrganization,
  openTestStore,
  type Organization,
  refusal,
  storeKinds,
} from "../testing/organization.ts";
import { byLength } from "../testing/run-length.ts";
import { scriptedRunner } from "../testing/scripted-runner.ts";
import { withClock } from "../testing/stage.ts";

/** Tests repeated requests, requests without an answer, and many requests at once. */
const day = 86_400_000;
const rounds = byLength({ quick: 100, whole: 500 });

interface Scene {
  readonly org: Organization;
  readonly store: Store;
  readonly advance: (milliseconds: number) => void;
}

async function onScene(
  kind: (typeof storeKinds)[number],
  play: (scene: Scene) => Promise<void>,
): Promise<void> {
  // A fast store is enough: these races don't depend on the disk.
  const opened = await openTestStore(kind, { fast: true });
  try {
    let time = Date.UTC(2030, 0, 1);
    const store = withClock(opened.store, () => time);
    const org = await createOrganization(store, { approvals: true });
    await play({ org, store, advance: (milliseconds) => void (time += milliseconds) });
  } finally {
    await opened.close();
  }
}

for (const kind of storeKinds)
  describe(`repeated calls of create_agent on ${kind}`, () => {
    const staged = (name: string, play: (scene: Scene) => Promise<void>): void => {
      test(name, () => onScene(kind, play));
    };
    const approvalsOf = async (org: Organization) =>
      (await org.board(listApprovals, { companyId: org.companyId, limit: 1000 })).approvals;
    const named = async (org: Organization, name: string) =>
      (await org.board(listAgents, { companyId: org.companyId, limit: 1000 })).agents.filter(
        (a) => a.name === name,
      );

    // covers CRA-32
    staged("a repeated call is the same request until its answer was returned", async ({ org }) => {
      const ask = (more: Record<string, unknown> = {}) =>
        org.root(requestAgent, { name: "Ann", role: "writes", ...more });
      const { requestId = "" } = await ask();
      for (const again of [
        {},
        { autoReply: true },
        { role: " writes\n" },
        { "next agent": "@human" },
        { waitSeconds: 1 },
      ])
        assert.equal((await ask(again)).requestId, requestId);
      assert.equal((await approvalsOf(org)).length, 1);
      await org.board(approve, { id: requestId });
      // The board reads the answer first. The agent has not heard it yet.
      assert.equal((await org.board(waitForApproval, { requestId })).status, "created");
      const told = await ask();
      assert.deepEqual([told.status, told.agent?.name], ["created", "Ann"]);
      assert.equal((await ask()).code, "agent_exists");
      // An agent that knows the request may ask for its answer any number of times.
      for (let times = 0; times < 3; times++)
        assert.deepEqual(await org.root(waitForApproval, { requestId }), told);
      assert.equal((await named(org, "Ann")).length, 1);
      assert.equal((await approvalsOf(org)).length, 1);
    });

    staged(
      "a denial that was not returned yet is returned once, and the next call makes another request",
      async ({ org }) => {
        const { requestId = "" } = await org.root(requestAgent, { name: "Ann" });
        await org.board(reject, { id: requestId });
        assert.equal((await org.root(requestAgent, { name: "Ann" })).reason, "user_denied");
        const next = await org.root(requestAgent, { name: "Ann" });
        assert.equal(next.status, "pending");
        assert.notEqual(next.requestId, requestId);
        // A call with other arguments is another request, even though the first answer was not heard.
        await org.root(cancelApproval, { id: next.requestId ?? "" });
        assert.equal((await org.root(requestAgent, { name: "Ann", role: "x" })).status, "pending");
      },
    );

    staged("a call repeated under its key finds its request, also after the answer", async ({ org }) => {
      const ask = () => org.root(requestAgent, { name: "Ann" }, { key: "call-1" });
      const { requestId = "" } = await ask();
      await org.board(approve, { id: requestId });
      await org.root(waitForApproval, { requestId });
      assert.equal((await ask()).requestId, requestId);
      assert.equal((await approvalsOf(org)).length, 1);
    });

    // covers CRA-12, TOOL-39
    staged(
      "a request that isn't decided in time is denied by the scheduler",
      async ({ org, store, advance }) => {
        await org.board(updateCompany, { companyId: org.companyId, maxSessions: 0 });
        const { requestId = "" } = await org.root(requestAgent, { name: "Ann" });
        const runner = scriptedRunner(org.core.dispatch);
        const bugs: unknown[] = [];
        const reportBug = (error: unknown): void => void bugs.push(error);
        const scheduler = createScheduler({ store, nodeId: "n", runner, newId, newSecret, reportBug });
        await scheduler.start();
        advance(day - 1);
        const wakes = await scheduler.tick();
        assert.equal((await org.root(waitForApproval, { requestId })).status, "pending");
        advance(1);
        assert.ok((wakes ?? 0) <= Date.UTC(2030, 0, 2), "it wakes by itself");
        await scheduler.tick();
        const [approval] = await approvalsOf(org);
        assert.deepEqual([approval?.status, approval?.decisionNote], ["rejected", "timeout"]);
        const { messages } = await org.root(readInbox, {});
        assert.ok(
          messages.some(({ body }) => body?.includes(requestId) === true && body.includes("in time")),
        );
        assert.deepEqual(await org.root(waitForApproval, { requestId }), {
          ok: false,
          status: "denied",
          created: false,
          reason: "timeout",
          name: "Ann",
        });
        assert.equal((await org.root(requestAgent, { name: "Ann" })).status, "pending");
        await scheduler.stop();
        assert.deepEqual(bugs, []);
      },
    );

    staged(
      "without a scheduler the request expires too: the name is free, and the answer is a denial",
      async ({ org, advance }) => {
        await org.board(updateCompany, { companyId: org.companyId, approvalExpirySeconds: 60 });
        const other = await org.agent("Other");
        const ids = [];
        for (const name of ["Ann", "Ben", "Cleo", "Dan"])
          ids.push((await org.root(requestAgent, { name })).requestId ?? "");
        advance(60_000);
        for (const id of ids)
          for (const decide of [approve, reject, cancelApproval])
            assert.match(
              (await refusal(org.board(decide, { id }), "conflict")).message,
              /approval has expired and counts as rejected/,
            );
        assert.equal((await org.root(waitForApproval, { requestId: ids[0] ?? "" })).reason, "timeout");
        // The name is free for the next hire, in either way of hiring.
        assert.equal((await other.call(requestAgent, { name: "Ann" })).status, "pending");
        assert.equal(
          (await org.root(hireAgent, { name: "Ben", role: "x" })).agent.status,
          "pending_approval",
        );
        await org.board(createAgent, { companyId: org.companyId, name: "Cleo", role: "x" });
        assert.equal((await org.root(requestAgent, { name: "Dan" })).reason, "timeout");
        assert.equal((await org.root(requestAgent, { name: "Dan" })).status, "pending");
      },
    );

    staged(`three calls at once, ${rounds} times: one request and one agent`, async ({ org, store }) => {
      const callers = [org.root, (await org.agent("Second")).call, (await org.agent("Third")).call];
      let refused = 0;
      for (let round = 0; round < rounds; round++) {
        const input = { name: `Racer ${round}`, role: "runs" };
        const isOne = round % 2 === 0;
        const answers = await Promise.all(
          callers.map((caller) => (isOne ? org.root : caller)(requestAgent, input)),
        );
        const pending = answers.filter(({ status }) => status === "pending");
        const [requestId = "", ...others] = new Set(pending.map((answer) => answer.requestId ?? ""));
        assert.equal(others.length, 0, "two requests for one name");
        assert.equal(pending.length, isOne ? 3 : 1);
        for (const { status, code } of answers)
          if (status !== "pending") assert.deepEqual([status, code], ["error", "agent_exists"]);
        // Two people answer at once while the agent asks again.
        const asker = callers[answers.findIndex(({ status }) => status === "pending")] ?? org.root;
        const decided = await Promise.allSettled([
          org.board(approve, { id: requestId }),
          asker(requestAgent, input),
          org.board(round % 4 < 2 ? approve : reject, { id: requestId }),
        ]);
        refused += decided.filter(({ status }) => status === "rejected").length;
        assert.ok([decided[0], decided[2]].filter((one) => one?.status === "fulfilled").length === 1);
      }
      assert.equal(refused, rounds, "exactly one of two answers must be refused");
      const counts = await store.read((tx) => tx.all(racers, { companyId: org.companyId }));
      const { agents } = await org.board(listAgents, { companyId: org.companyId, limit: 1000 });
      const made = agents.filter(({ name }) => name.startsWith("Racer "));
      assert.equal(new Set(made.map(({ name }) => name)).size, made.length, "two agents of one name");
      const approved = counts.flatMap(({ status, agent_id: id }) =>
        status === "approved" ? [id ?? ""] : [],
      );
      assert.deepEqual(made.map(({ id }) => id).toSorted(), approved.toSorted());
      assert.ok(counts.every(({ status }) => status !== "pending"));
      assert.equal(counts.length, rounds);
    });
  });

const racers = query((db, p: { companyId: string }) =>
  db
    .selectFrom("approvals")
    .select(["status", "agent_id"])
    .where("company_id", "=", p.companyId)
    .where("name_key", "like", "racer %"),
);
