// Two callers act on one approval at the same time. One wins, the other is refused with the reason, and agent and approval
// agree.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hireAgent } from "../contract/hiring.ts";
import * as contract from "../contract/approvals.ts";
import { Refusal, type RefusalCode } from "../contract/refusal.ts";
import { dynamic } from "../store/query.ts";
import { type Organization, sharedOrganization, bothStores } from "../testing/organization.ts";
import { byLength } from "../testing/run-length.ts";

const rounds = byLength({ quick: 50, whole: 100, long: 200 });
/** The number of rounds under way at once. They are about different agents, and share the store. */
const atOnce = 10;

type Answer = contract.ApprovalStatus | RefusalCode;

/** The possible answers to the two racers, whichever is first, and the final status of the approval. */
interface Race {
  readonly sentBack?: true;
  readonly racers: readonly ((org: Organization, id: string) => Promise<contract.Approval>)[];
  readonly outcomes: readonly { readonly answers: readonly Answer[]; readonly ends: Answer }[];
}

/** The approval that is still open after a round. */
interface Left {
  readonly id: string;
  readonly agentId: string;
  readonly status: string;
}

const approve = (org: Organization, id: string) => org.board(contract.approve, { id });
const reject = (org: Organization, id: string) => org.board(contract.reject, { id });
const sendBack = (org: Organization, id: string) => org.board(contract.requestRevision, { id });
const resubmit = (org: Organization, id: string) =>
  org.root(contract.resubmit, { id, payload: { title: "Better" } });

const races: Readonly<Record<string, Race>> = {
  "approve and request-revision": {
    racers: [approve, sendBack],
    outcomes: [
      { answers: ["approved", "conflict"], ends: "approved" },
      { answers: ["conflict", "revision_requested"], ends: "revision_requested" },
    ],
  },
  "approve and reject": {
    racers: [approve, reject],
    outcomes: [
      { answers: ["approved", "conflict"], ends: "approved" },
      { answers: ["conflict", "rejected"], ends: "rejected" },
    ],
  },
  "two approves": {
    racers: [approve, approve],
    outcomes: [
      { answers: ["approved", "conflict"], ends: "approved" },
      { answers: ["conflict", "approved"], ends: "approved" },
    ],
  },
  // Approving after the resubmit names no version, so it approves the current one.
  "resubmit and approve": {
    sentBack: true,
    racers: [resubmit, approve],
    outcomes: [
      { answers: ["pending", "conflict"], ends: "pending" },
      { answers: ["pending", "approved"], ends: "approved" },
    ],
  },
};

/** The status of an agent for each status of its approval. */
const statusAt: Readonly<Record<string, string>> = {
  pending: "pending_approval",
  revision_requested: "pending_approval",
  approved: "idle",
  rejected: "terminated",
  cancelled: "terminated",
};

for (const kind of bothStores)
  describe(`races about approvals on ${kind}`, async () => {
    let number = 0;
    const { org, store } = await sharedOrganization(kind, { fast: true, approvals: true });

    const ask = (key?: string) => {
      const hire = { name: `Agent ${++number}`, role: "worker" };
      return { hire, send: () => org.root(hireAgent, hire, key === undefined ? {} : { key }) };
    };

    /** Runs rounds side by side. An approval that a round leaves open goes into the next round of its lane. */
    async function play(
      round: (turn: number, left: Left | undefined) => Promise<Left | void>,
    ): Promise<void> {
      let next = 0;
      const lane = async (): Promise<void> => {
        let left: Left | void = undefined;
        while (next < rounds) left = await round(next++, left ?? undefined);
        // An agent can have 20 pending requests, so an open one is decided before the next race.
        if (left !== undefined) await reject(org, left.id);
      };
      await Promise.all(Array.from({ length: atOnce }, lane));
    }

    /** An approval in the state in which a race begins: one that is already open, or a new hire. */
    async function ready(race: Race, left: Left | undefined): Promise<Left> {
      const { agent, approval } = left === undefined ? await ask().send() : { agent: null, approval: null };
      const start = left ?? { id: approval?.id ?? "", agentId: agent?.id ?? "", status: "pending" };
      if (race.sentBack === true && start.status === "pending") await sendBack(org, start.id);
      if (race.sentBack !== true && start.status !== "pending") await resubmit(org, start.id);
      return start;
    }

    for (const [name, race] of Object.entries(races))
      // covers GOV-62
      test(`${name}: ${rounds} times one wins and the other is told`, async (t) => {
        const seen = new Map<string, number>();
        await play(async (turn, left) => {
          const { id, agentId } = await ready(race, left);
          const answers: Answer[] = [];
          // The racers take turns at starting first. Otherwise the first in the list would nearly always win.
          const starters = race.racers.map((racer, which) => async () => {
            answers[which] = await answerOf(racer(org, id));
          });
          if (turn % 2 === 1) starters.reverse();
          // The first two rounds are not races: each of the two comes first once. Otherwise chance would decide whether both
          // can win.
          if (turn < 2) for (const start of starters) await start();
          else await Promise.all(starters.map((start) => start()));
          const match = race.outcomes.find(({ answers: told }) => told.join() === answers.join());
          assert.ok(match !== undefined, `told ${answers.join()}`);
          assert.equal(await agreedStatus(agentId), match.ends);
          seen.set(answers.join(" / "), (seen.get(answers.join(" / ")) ?? 0) + 1);
          const isOpen = match.ends === "pending" || match.ends === "revision_requested";
          return isOpen ? { id, agentId, status: match.ends } : undefined;
        });
        t.diagnostic([...seen].map(([told, times]) => `${times} × ${told}`).join(", "));
        if (race.sentBack !== true) assert.equal(seen.size, race.outcomes.length, "either one can win");
      });

    test(`two identical hires with one key, ${rounds} times: one agent, one approval, the same answer`, () =>
      play(async (turn) => {
        const { hire, send } = ask(`hire-${turn}`);
        const [one, two] = await Promise.all([send(), send()]);
        assert.deepEqual(one, two);
        assert.equal(await agentsNamed(hire.name), 1);
        assert.equal(await agreedStatus(one.agent.id), "pending");
        // An agent can have 20 pending requests, so each one is decided before the next.
        await reject(org, one.approval?.id ?? "");
      }));

    test("at the end every agent and its approvals agree", async () => {
      const rows = await store.read((tx) =>
        tx.all(
          dynamic((db) =>
            db
              .selectFrom("agents as a")
              .leftJoin("approvals as p", "p.agent_id", "a.id")
              .select(["a.id", "a.status", "p.status as approval"])
              .where("a.boss_id", "is not", null),
          ),
          {},
        ),
      );
      assert.ok(rows.length >= rounds * 3);
      assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length, "one approval each");
      for (const { status, approval } of rows) assert.equal(status, statusAt[approval ?? ""]);
    });

    /** The status of the agent's one approval, after checking that it agrees with the agent's status. */
    async function agreedStatus(agentId: string): Promise<string> {
      const rows = await store.read((tx) =>
        tx.all(
          dynamic((db) =>
            db
              .selectFrom("agents as a")
              .innerJoin("approvals as p", "p.agent_id", "a.id")
              .select(["a.status", "p.status as approval"])
              .where("a.id", "=", agentId),
          ),
          {},
        ),
      );
      assert.equal(rows.length, 1, "exactly one approval");
      assert.equal(rows[0]?.status, statusAt[rows[0]?.approval ?? ""]);
      return rows[0]?.approval ?? "";
    }

    async function agentsNamed(name: string): Promise<number> {
      const rows = await store.read((tx) =>
        tx.all(
          dynamic((db) => db.selectFrom("agents").select("id").where("name", "=", name)),
          {},
        ),
      );
      return rows.length;
    }
  });

async function answerOf(call: Promise<contract.Approval>): Promise<Answer> {
  try {
    return (await call).status;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}
