import assert from "node:assert/strict";
import { describe } from "node:test";
import { boardInbox, agentInbox, sendMessage } from "../contract/mail.ts";
import { listEvents } from "../contract/ledger.ts";
import { updateCompany, viewCompany } from "../contract/companies.ts";
import { listAgents, pauseAgent } from "../contract/agents.ts";
import { closeOutcome, listOutcomes } from "../contract/outcomes.ts";
import { exportCompany } from "../contract/roster.ts";
import { storeKinds } from "../testing/organization.ts";
import { type Stage, stagedOn } from "../testing/stage.ts";

const minute = 60_000;

/** Allows no sessions at all: no agent is started, and all work waits. */
const quiet = ({ org }: Stage, settings: Record<string, number | null> = {}) =>
  org.board(updateCompany, { companyId: org.companyId, maxSessions: 0, ...settings });

async function suggestions({ org }: Stage): Promise<Record<string, unknown>[]> {
  const { events } = await org.board(listEvents, { companyId: org.companyId, limit: 1000 });
  return events.filter(({ operation }) => operation === "growth.suggest").map(({ data }) => data);
}

const toBoard = async ({ org }: Stage): Promise<string[]> =>
  (await org.board(boardInbox, { companyId: org.companyId })).messages.map(({ body }) => body ?? "");
const inboxOf = async ({ org }: Stage, id: string): Promise<string[]> =>
  (await org.board(agentInbox, { id, limit: 1000 })).messages.map(({ body }) => body ?? "");

/** All rows that a suggestion could change, apart from those of the message itself. */
async function everything({ org }: Stage): Promise<string> {
  const { companyId, board } = org;
  const { outcomes } = await board(listOutcomes, { companyId, limit: 1000 });
  return JSON.stringify([
    await board(viewCompany, { companyId }),
    (await board(listAgents, { companyId, limit: 1000 })).agents,
    outcomes
      .filter(({ kind }) => kind !== "inbox")
      .map(({ id, status, responsible, blocked }) => [id, status, responsible, blocked]),
    (await board(exportCompany, { companyId })).files,
  ]);
}

for (const kind of storeKinds)
  describe(`signs that help is needed (${kind})`, () => {
    const staged = stagedOn(kind);

    // covers NOTE-02
    staged(
      "the manager and the board are told of waiting work once a day, and nothing is changed",
      async (stage) => {
        const { org } = stage;
        await quiet(stage, { growthWaitingOutcomes: 3 });
        const lead = await org.agent("Lead");
        const ann = await org.agent("Ann", lead.id);
        const work = [];
        for (const title of ["one", "two", "three"]) work.push(await org.outcome(title, [ann.id]));
        const before = await everything(stage);
        stage.advance(59 * minute);
        await stage.rest();
        assert.deepEqual(await suggestions(stage), []);

        for (let sweep = 0; sweep < 10; sweep++) {
          stage.advance(minute);
          await stage.rest();
        }
        assert.deepEqual(await suggestions(stage), [
          { kind: "waiting_work", outcomes: 3, minutes: 60, liveSessions: 0, maxSessions: 0 },
        ]);
        const [letter = "", ...others] = await toBoard(stage);
        assert.deepEqual(others, []);
        assert.match(letter, /^Ann \(worker\) may be overloaded\. It has 3 workable outcomes/);
        assert.match(letter, /You could: hire a report for it/);
        assert.match(letter, /raise the setting maxSessions/);
        assert.match(letter, /Nothing was changed/);
        assert.deepEqual(await inboxOf(stage, lead.id), [letter]);
        assert.deepEqual(await inboxOf(stage, ann.id), []);
        assert.equal(await everything(stage), before);

        // The suggestion comes again the next day, as long as it is true.
        stage.advance(24 * 60 * minute);
        await stage.rest();
        assert.equal((await suggestions(stage)).length, 2);
        await org.board(closeOutcome, { id: work[0] ?? "", rationale: "not needed" });
        stage.advance(48 * 60 * minute);
        await stage.rest();
        assert.equal((await suggestions(stage)).length, 2);
      },
    );

    staged(
      "the manager is told of a full inbox, and the board is told once about the root agent's",
      async (stage) => {
        const { org } = stage;
        await quiet(stage, { growthInboxMessages: 5 });
        for (let count = 0; count < 4; count++)
          await org.board(sendMessage, { companyId: org.companyId, body: `message ${count}` });
        stage.advance(2 * 60 * minute);
        await stage.rest();
        assert.deepEqual(await suggestions(stage), []);
        await org.board(sendMessage, { companyId: org.companyId, body: "one more" });
        stage.advance(minute);
        await stage.rest();
        assert.deepEqual(await suggestions(stage), [{ kind: "full_inbox", messages: 5, minutes: 121 }]);
        assert.equal((await toBoard(stage)).length, 1);
        assert.equal((await inboxOf(stage, org.rootId)).length, 5);
      },
    );

    staged("long sessions are reported, including the running one", async (stage) => {
      const { org } = stage;
      await quiet(stage, { growthSessionMinutes: 10 });
      const ann = await org.agent("Ann");
      await org.session(ann.id);
      stage.advance(29 * minute);
      await stage.rest();
      assert.deepEqual(await suggestions(stage), []);
      stage.advance(minute);
      await stage.rest();
      assert.deepEqual(await suggestions(stage), [{ kind: "long_sessions", sessions: 1, minutes: 30 }]);
      assert.match((await toBoard(stage))[0] ?? "", /Its last session took 30 minutes/);
    });

    staged(
      "each sign is reported by itself, but not with a threshold of null or for a paused agent",
      async (stage) => {
        const { org } = stage;
        await quiet(stage, { growthWaitingOutcomes: 1, growthInboxMessages: 1, growthSessionMinutes: null });
        const ann = await org.agent("Ann");
        const bob = await org.agent("Bob");
        for (const { id } of [ann, bob]) {
          await org.outcome("work", [id]);
          await org.board(sendMessage, { companyId: org.companyId, to: id, body: "hello" });
          await org.session(id);
        }
        await org.board(pauseAgent, { id: bob.id });
        stage.advance(500 * minute);
        await stage.rest();
        const kinds = (await suggestions(stage)).map((data) => String(data["kind"]));
        assert.deepEqual(kinds.toSorted(), ["full_inbox", "waiting_work"]);
        assert.equal(
          (await toBoard(stage)).every((body) => body.startsWith("Ann")),
          true,
        );
      },
    );

    staged("two nodes that check the same agent report a sign once", async (stage) => {
      const { org } = stage;
      await quiet(stage, { growthWaitingOutcomes: 1 });
      const ann = await org.agent("Ann");
      await org.outcome("work", [ann.id]);
      const other = stage.node("node-2");
      await other.scheduler.start();
      stage.advance(2 * 60 * minute);
      await Promise.all([stage.scheduler.tick(), other.scheduler.tick()]);
      await stage.rest();
      assert.equal((await suggestions(stage)).length, 1);
      assert.equal((await toBoard(stage)).length, 1);
    });
  });
