import assert from "node:assert/strict";
import { describe } from "node:test";
import { terminateAgent, updateAgent } from "../contract/agents.ts";
import { type AttentionNote, viewAttention } from "../contract/attention.ts";
import { setBudget } from "../contract/budgets.ts";
import { listCompanies, updateCompany } from "../contract/companies.ts";
import { viewCounts } from "../contract/finding.ts";
import { sendMessage } from "../contract/mail.ts";
import { createOutcome, updateOutcome } from "../contract/outcomes.ts";
import { createPerson, signIn } from "../contract/people.ts";
import { query } from "../store/query.ts";
import { type Organization, refusal, storeKinds } from "../testing/organization.ts";
import { clearInbox } from "../testing/scripts.ts";
import { type Stage, stagedOn } from "../testing/stage.ts";

const minute = 60_000;
const day = 24 * 60 * minute;

for (const kind of storeKinds)
  describe(`the notes of the attention list (${kind})`, () => {
    const staged = stagedOn(kind);
    const look = ({ board, companyId }: Organization) => board(viewAttention, { companyId });
    const said = (notes: readonly AttentionNote[]): string[] => notes.map(({ says }) => says).toSorted();

    /** A person who works as Mill, whose report is Ann. Otto works in another team. */
    async function positions({ org }: Stage) {
      const { id: person, signIn: link } = await org.board(createPerson, { name: "Pia", role: "member" });
      const { token = "" } = await org.as(link.code)(signIn, { code: link.code, kind: "program" });
      const mill = await org.agent("Mill");
      await org.board(updateAgent, { id: mill.id, adapterType: "human", person });
      const ann = await org.agent("Ann", mill.id);
      const otto = await org.agent("Otto");
      const see = () => org.as(token)(viewAttention, { companyId: org.companyId });
      return { mill, ann, otto, see };
    }

    const spend = ({ store }: Stage, id: string, amount: number) =>
      store.write((tx) =>
        tx.run(spendSessions, { id, month: new Date(tx.now).toISOString().slice(0, 7), amount }),
      );

    staged("`next` is the earliest time that a scheduled outcome waits for", async (stage) => {
      const { org } = stage;
      const { mill, ann, otto, see } = await positions(stage);
      const at = (days: number): string => new Date(stage.now() + days * day).toISOString();
      assert.equal((await look(org)).next, null);
      const block = async (agent: typeof ann, title: string, until: string): Promise<string> => {
        const { id } = await agent.call(createOutcome, { title, parents: [agent.id] });
        await agent.call(updateOutcome, { id, blocked: { reason: "a holiday", until } });
        return id;
      };
      const late = await block(otto, "late", at(9));
      assert.equal((await look(org)).next, at(9));
      const early = await block(otto, "early", at(3));
      assert.deepEqual([(await look(org)).next, (await look(org)).health.scheduled], [at(3), 3]);
      // Mill does not see Otto's dates.
      assert.equal((await see()).next, null);
      await block(mill, "hers", at(5));
      assert.equal((await see()).next, at(5));
      assert.equal((await look(org)).next, at(3));
      for (const id of [early, late]) await otto.call(updateOutcome, { id, blocked: null });
      assert.equal((await look(org)).next, at(5));
      // The time of an agent that starts later is shown too.
      await ann.call(createOutcome, { title: "soon", parents: [ann.id] });
      const later = stage.now() + minute;
      await stage.store.write((tx) => tx.run(startLater, { id: ann.id, at: later }));
      assert.equal((await look(org)).next, new Date(later).toISOString());
      await refusal(ann.call(viewAttention, { companyId: org.companyId }), "forbidden");
    });

    staged("the beginning of the next month counts as such a time", async (stage) => {
      const { org } = stage;
      const ann = await org.agent("Ann");
      await ann.call(createOutcome, { title: "job", parents: [ann.id] });
      await org.board(setBudget, { id: ann.id, sessions: 10 });
      await spend(stage, ann.id, 10);
      const { next, pressing, total, notes } = await look(org);
      assert.deepEqual([next, pressing, total], ["2030-02-01T00:00:00.000Z", 1, 1]);
      assert.deepEqual(notes, []);
    });

    staged("a budget that is nearly used up is a note and is not counted", async (stage) => {
      const { org } = stage;
      const { companyId } = org;
      const { mill, ann, otto, see } = await positions(stage);
      assert.deepEqual((await look(org)).notes, []);
      for (const { id } of [mill, ann, otto]) {
        await org.board(setBudget, { id, sessions: id === mill.id ? 20 : 10 });
        await spend(stage, id, id === ann.id ? 9 : 8);
      }
      const ofMill = "80 % of the session budget of Mill is spent: 8 sessions of 10 sessions.";
      const ofAnn = "90 % of the session budget of Ann is spent: 9 sessions of 10 sessions.";
      const ofOtto = "80 % of the session budget of Otto is spent: 8 sessions of 10 sessions.";
      const board = await look(org);
      assert.deepEqual(said(board.notes), [ofMill, ofOtto, ofAnn]);
      assert.deepEqual([board.total, board.counts.budget, board.pressing], [3, 3, 0]);
      assert.equal((await org.board(viewCounts, { companyId })).attention, 0);
      const { companies } = await org.board(listCompanies, { health: true });
      assert.equal(companies.find(({ id }) => id === companyId)?.attention, 0);
      const own = await see();
      assert.deepEqual(said(own.notes), [ofMill, ofAnn]);
      assert.deepEqual(own.notes.find(({ says }) => says === ofAnn)?.subject, {
        kind: "agent",
        id: ann.id,
        title: "Ann",
      });
      // A used-up budget stops work, so it needs a person.
      await spend(stage, otto.id, 10);
      const stopped = await look(org);
      assert.deepEqual([said(stopped.notes), stopped.pressing], [[ofMill, ofAnn], 1]);
    });

    staged("signs of overload from the last day are notes", async (stage) => {
      const { org } = stage;
      const { ann, otto, see } = await positions(stage);
      await org.board(updateCompany, {
        companyId: org.companyId,
        maxSessions: 0,
        growthWaitingOutcomes: 2,
      });
      const work = ["one", "two"];
      for (const { id } of [ann, otto]) for (const title of work) await org.outcome(title, [id]);
      const growth = ({ notes }: { notes: AttentionNote[] }) =>
        said(notes.filter((note) => note.kind === "growth"));
      assert.deepEqual(growth(await look(org)), []);
      stage.advance(61 * minute);
      await stage.rest();
      const sign = (name: string): string => `${name} may be overloaded: its outcomes wait for long.`;
      assert.deepEqual(growth(await look(org)), [sign("Ann"), sign("Otto")]);
      assert.deepEqual(growth(await see()), [sign("Ann")]);
      await org.board(terminateAgent, { id: otto.id });
      assert.deepEqual(growth(await look(org)), [sign("Ann")]);
      stage.advance(day);
      assert.deepEqual(growth(await look(org)), []);
    });

    staged("limits that are nearly reached are notes", async (stage) => {
      const { org } = stage;
      const { companyId } = org;
      const { ann, otto, see } = await positions(stage);
      for (const { id } of [ann, otto]) for (const title of ["1", "2", "3"]) await org.outcome(title, [id]);
      await org.board(updateCompany, { companyId, maxOpenOutcomes: 5, maxAgents: 5, maxSessions: 1 });
      const of = (name: string): string =>
        `${name} has 4 open outcomes. The limit is 5 (setting maxOpenOutcomes).`;
      const heads = "The company has 4 agents. Agents can't hire above 5 (setting maxAgents).";
      assert.deepEqual(said((await look(org)).notes), [of("Ann"), of("Otto"), heads]);
      // Only the board sees the limits of the company.
      assert.deepEqual(said((await see()).notes), [of("Ann")]);
      await org.board(updateCompany, { companyId, maxOpenOutcomes: 6, maxAgents: 6 });
      assert.deepEqual((await look(org)).notes, []);
      await org.board(updateCompany, { companyId, maxSessions: 0 });
      assert.deepEqual(said((await look(org)).notes), ["No session starts: the setting maxSessions is 0."]);
      assert.deepEqual((await see()).notes, []);
      await refusal(otto.call(viewAttention, { companyId }), "forbidden");
    });

    staged("the maximum number of sessions is a note while they run", async ({ org, runner, ...stage }) => {
      const { companyId } = org;
      await org.board(updateCompany, { companyId, maxSessions: 1 });
      assert.deepEqual((await look(org)).notes, []);
      const gate = Promise.withResolvers<void>();
      runner.plan(org.rootId, async (session) => {
        await clearInbox(session);
        await session.hold(gate.promise);
      });
      await org.board(sendMessage, { companyId, body: "a goal" });
      await stage.rest();
      assert.deepEqual(said((await look(org)).notes), [
        "1 session runs. The limit is 1 (setting maxSessions), so the next starts when one ends.",
      ]);
      gate.resolve();
      await stage.rest();
      assert.deepEqual((await look(org)).notes, []);
    });
  });

const startLater = query((db, p: { id: string; at: number }) =>
  db.updateTable("agents").set({ not_before: p.at }).where("id", "=", p.id),
);
const spendSessions = query((db, p: { id: string; month: string; amount: number }) =>
  db
    .insertInto("charges")
    .values({ pool_id: p.id, month: p.month, measure: "sessions", amount: p.amount })
    .onConflict((conflict) =>
      conflict.columns(["pool_id", "month", "measure"]).doUpdateSet({ amount: p.amount }),
    ),
);
