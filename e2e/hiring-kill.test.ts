// A daemon dies between two steps of a hire, or of a decision about a hire, and another one starts. Either nothing happened or
// all of it. A caller without an answer repeats the call with the same key, and gets one agent and one decision.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Client, createClient, NoDaemon } from "../src/client/client.ts";
import { hireAgent } from "../src/contract/hiring.ts";
import * as approvals from "../src/contract/approvals.ts";
import { listAgentGrants } from "../src/contract/capabilities.ts";
import { viewCompany } from "../src/contract/companies.ts";
import { createKey, listAgents } from "../src/contract/agents.ts";
import { createOutcome, listOutcomes } from "../src/contract/outcomes.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { bothStores, type StoreKind } from "../src/testing/organization.ts";
import { sampleOf } from "../src/testing/seeds.ts";
import { startDaemon } from "./support/daemon.ts";
import { onNewHome } from "./support/home.ts";
import { endOf } from "./support/steps.ts";

interface Scene {
  readonly board: Client;
  readonly root: Client;
  readonly companyId: string;
  readonly rootId: string;
}

/** What an observer sees: the agents of this name with their granted rights, the approvals, and the job's owner. */
type Sight = string;

interface Deed {
  /** The events that the act records. The daemon dies before and after each. */
  readonly events: readonly string[];
  /** Creates the things that the act needs. Returns the id that the act is about. */
  readonly prepare: (scene: Scene) => Promise<string>;
  readonly act: (scene: Scene, id: string) => Promise<unknown>;
  readonly before: Sight;
  readonly after: Sight;
}

const options = { key: "the-one-key" };
const hire = { name: "Ada", role: "worker" };
const grants = [{ resource: "org:hire" }];

const hired = async ({ root, companyId }: Scene): Promise<string> =>
  (await root.call(hireAgent, { companyId, ...hire, grants })).approval?.id ?? "";

async function sentBack(scene: Scene): Promise<string> {
  const id = await hired(scene);
  await scene.board.call(approvals.requestRevision, { id });
  return id;
}

const job = async ({ root, rootId, companyId }: Scene): Promise<string> =>
  (await root.call(createOutcome, { companyId, title: "Job", parents: [rootId] })).id;

const delegate = ({ root }: Scene, id: string) =>
  root.call(delegateOutcome, { id, hire, grants, message: "Please." }, options);

async function delegated(scene: Scene): Promise<string> {
  await delegate(scene, await job(scene));
  const { approvals: open } = await scene.board.call(approvals.listApprovals, { companyId: scene.companyId });
  return open[0]?.id ?? "";
}

const approve = ({ board }: Scene, id: string) => board.call(approvals.approve, { id }, options);
const reject = ({ board }: Scene, id: string) => board.call(approvals.reject, { id }, options);

const waiting = "Ada pending_approval 0, pending, no job";
const waitingForJob = "Ada pending_approval 0, pending, job of Ada";

const deeds: Readonly<Record<string, Deed>> = {
  "a hire": {
    events: ["agent.create", "approval.create"],
    prepare: async () => "",
    act: ({ root, companyId }) => root.call(hireAgent, { companyId, ...hire, grants }, options),
    before: "nobody, nothing, no job",
    after: waiting,
  },
  "an approval": {
    events: ["permission.grant", "approval.approve"],
    prepare: hired,
    act: approve,
    before: waiting,
    after: "Ada idle 1, approved, no job",
  },
  "a rejection": {
    events: ["outcome.close", "agent.terminate", "approval.reject"],
    prepare: hired,
    act: reject,
    before: waiting,
    after: "Ada terminated 0, rejected, no job",
  },
  "a request for revision": {
    events: ["approval.request_revision"],
    prepare: hired,
    act: ({ board }, id) => board.call(approvals.requestRevision, { id, decisionNote: "why?" }, options),
    before: waiting,
    after: "Ada pending_approval 0, revision_requested, no job",
  },
  "a resubmission": {
    events: ["approval.resubmit"],
    prepare: sentBack,
    act: ({ root }, id) => root.call(approvals.resubmit, { id, payload: { title: "Lead" } }, options),
    before: "Ada pending_approval 0, revision_requested, no job",
    after: waiting,
  },
  "a delegation with a hire": {
    events: ["agent.create", "approval.create", "outcome.delegate"],
    prepare: job,
    act: delegate,
    before: "nobody, nothing, job of the root",
    after: waitingForJob,
  },
  "the approval of a hire that has work": {
    events: ["permission.grant", "mail.deliver", "approval.approve"],
    prepare: delegated,
    act: approve,
    before: waitingForJob,
    after: "Ada idle 1, approved, job of Ada",
  },
  "the rejection of a hire that has work": {
    events: ["agent.reclaim", "approval.reject"],
    prepare: delegated,
    act: reject,
    before: waitingForJob,
    after: "Ada terminated 0, rejected, job of the root",
  },
};

const ways = bothStores.flatMap((store) =>
  Object.entries(deeds).flatMap(([name, deed]) =>
    deed.events.flatMap((event) =>
      [false, true].map((committed) => ({ store, name, deed, event, committed })),
    ),
  ),
);

describe("a daemon that is killed in the middle of", { concurrency: 2 }, () => {
  for (const { store, name, deed, event, committed } of sampleOf(ways, 8)) {
    const step = `${committed ? "after" : "before"} ${event}`;
    test(`${name} on ${store}, ${step}`, () => dieWhile(store, deed, step, committed));
  }
});

async function dieWhile(store: StoreKind, deed: Deed, step: string, committed: boolean): Promise<void> {
  await onNewHome(store, async (home) => {
    const place = { ...home, env: { AGENCY_AGENTS: "off" } };
    const starting = startDaemon({ ...place, env: { ...place.env, AGENCY_FAIL_AT: step } });
    const { board, companyId, url } = await starting.ready;
    const { rootAgentId: rootId } = await board.call(viewCompany, { companyId });
    const { key: token } = await board.call(createKey, { id: rootId });
    const scene = { board, root: createClient({ url, token }), companyId, rootId };
    const id = await deed.prepare(scene);
    assert.equal(await sight(scene), deed.before);
    await assert.rejects(deed.act(scene, id), NoDaemon);
    assert.deepEqual(await endOf(starting, step), { code: null, signal: "SIGKILL" });

    const next = await startDaemon(place).ready;
    try {
      const later = { ...scene, board: next.board, root: createClient({ url: next.url, token }) };
      assert.equal(await sight(later), committed ? deed.after : deed.before, "all of it or nothing");
      const answer = await deed.act(later, id);
      assert.equal(await sight(later), deed.after, "asked again, it is done once");
      assert.deepEqual(await deed.act(later, id), answer);
      assert.equal(await sight(later), deed.after);
      assert.equal(next.log(), "");
    } finally {
      assert.deepEqual(await next.stop(), { code: 0, signal: null });
    }
  });
}

async function sight({ board, companyId, rootId }: Scene): Promise<Sight> {
  const { agents } = await board.call(listAgents, { companyId });
  const seen: string[] = [];
  for (const { id, name, status } of agents.filter((agent) => agent.id !== rootId)) {
    const { grants: held } = await board.call(listAgentGrants, { id });
    seen.push(`${name} ${status} ${held.length}`);
  }
  const { approvals: all } = await board.call(approvals.listApprovals, { companyId });
  const { outcomes } = await board.call(listOutcomes, { companyId });
  const work = outcomes.find(({ title }) => title === "Job");
  const owner = work?.responsible?.id === rootId ? "the root" : (work?.responsible?.name ?? "nobody");
  return [
    seen.join() || "nobody",
    all.map(({ status }) => status).join() || "nothing",
    work === undefined ? "no job" : `job of ${owner}`,
  ].join(", ");
}
