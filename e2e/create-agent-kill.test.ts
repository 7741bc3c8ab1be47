// A daemon that dies at any step of create_agent, or of the answer to it, leaves either nothing or everything. An agent that
// asks again, or a person who answers again, finds the one request.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createClient } from "../src/client/client.ts";
import { approve, listApprovals, reject } from "../src/contract/approvals.ts";
import { requestAgent, waitForApproval } from "../src/contract/create-agent.ts";
import { viewCompany } from "../src/contract/companies.ts";
import { createKey, listAgents, updateAgent, viewAgent } from "../src/contract/agents.ts";
import { verifyLedger } from "../src/contract/ledger.ts";
import { viewOutcome } from "../src/contract/outcomes.ts";
import { Refusal } from "../src/contract/refusal.ts";
import { bothStores, type StoreKind } from "../src/testing/organization.ts";
import { sampleOf } from "../src/testing/seeds.ts";
import { type BuiltDaemon, startDaemon } from "./support/daemon.ts";
import { onNewHome } from "./support/home.ts";
import { endOf } from "./support/steps.ts";

const wanted = { name: "Helper", role: "helps", nextAgent: "@human", waitSeconds: 0 };
const events = ["approval.create", "agent.create", "permission.grant", "approval.approve", "approval.reject"];

const ways = bothStores.flatMap((store) =>
  events.flatMap((event) => [false, true].map((committed) => ({ store, event, committed }))),
);

describe("a daemon that dies while an agent is asked for", { concurrency: 2 }, () => {
  for (const { store, event, committed } of sampleOf(ways, 5))
    test(`on ${store} ${committed ? "after" : "before"} "${event}" has done nothing or everything`, () =>
      die(store, event, committed));
});

// covers CRA-22, CRA-32, CRA-45
async function die(store: StoreKind, event: string, committed: boolean): Promise<void> {
  await onNewHome(store, async (options) => {
    const isAsking = event === "approval.create";
    const decide = event === "approval.reject" ? reject : approve;
    const step = `${committed ? "after" : "before"} ${event}`;
    const first = await startDaemon(options).ready;
    const { companyId } = first;
    const { rootAgentId } = await first.board.call(viewCompany, { companyId });
    await first.board.call(updateAgent, { id: rootAgentId, adapterType: "human" });
    const { key } = await first.board.call(createKey, { id: rootAgentId });
    const askOf = ({ url }: BuiltDaemon) => createClient({ url, token: key }).call(requestAgent, wanted);
    const { requestId = "" } = isAsking ? {} : await askOf(first);
    await first.stop();

    const starting = startDaemon({ ...options, env: { ...options.env, AGENCY_FAIL_AT: step } });
    const dying = await starting.ready;
    // The daemon dies before it answers.
    await assert.rejects(isAsking ? askOf(dying) : dying.board.call(decide, { id: requestId }));
    assert.deepEqual(await endOf(starting, step), { code: null, signal: "SIGKILL" });

    const next = await startDaemon(options).ready;
    const { board } = next;
    const approvals = async () => (await board.call(listApprovals, { companyId })).approvals;
    const helpers = async () =>
      (await board.call(listAgents, { companyId })).agents.filter(({ name }) => name === "Helper");
    try {
      const left = await approvals();
      const isOpen = isAsking || !committed;
      const decided = event === "approval.reject" ? "rejected" : "approved";
      assert.deepEqual(
        left.map(({ status }) => status),
        isAsking && !committed ? [] : [isOpen ? "pending" : decided],
      );
      assert.equal((await helpers()).length, !isOpen && decided === "approved" ? 1 : 0);
      // The agent asks again and finds its request, answered or not.
      const again = await askOf(next);
      assert.equal(again.status, isOpen ? "pending" : decided === "approved" ? "created" : "denied");
      const [{ id } = { id: "" }, ...others] = await approvals();
      assert.deepEqual(others, []);
      if (left[0] !== undefined) assert.equal(id, left[0].id);
      // The person decides again. The decision takes effect now, or already did.
      const second = board.call(decide, { id });
      if (isOpen) assert.equal((await second).status, decided);
      else await assert.rejects(second, (error) => error instanceof Refusal && error.code === "conflict");
      const client = createClient({ url: next.url, token: key });
      const { status, agent } = await client.call(waitForApproval, { requestId: id, waitSeconds: 0 });
      assert.equal(status, decided === "approved" ? "created" : "denied");
      const [helper, ...more] = await helpers();
      assert.deepEqual([helper?.id, more], [agent?.id, []]);
      if (agent !== undefined) {
        const { mandateId, boss } = await board.call(viewAgent, { id: agent.id });
        assert.equal(boss?.id, rootAgentId);
        assert.equal((await board.call(viewOutcome, { id: mandateId })).responsible?.id, agent.id);
      }
      assert.equal((await board.call(verifyLedger, {})).ok, true);
      assert.equal(next.log(), "");
    } finally {
      assert.deepEqual(await next.stop(), { code: 0, signal: null });
    }
  });
}
