import assert from "node:assert/strict";
import { describe } from "node:test";
import { listBudgets, listCosts, setBudget } from "../contract/budgets.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { createOutcome, viewOutcome } from "../contract/outcomes.ts";
import { applyReorganization } from "../contract/reorganization.ts";
import { terminateAgent } from "../contract/agents.ts";
import { listRoster } from "../contract/roster.ts";
import { listAgentSessions } from "../contract/sessions.ts";
import { noteUsage } from "../runtime/usage.ts";
import { openSession } from "../runtime/sessions.ts";
import { newId, newSecret } from "../daemon/ids.ts";
import { type Organization, organizedOn, refusal, storeKinds } from "../testing/organization.ts";
import type { Usage } from "../contract/budgets.ts";

/** A session of the agent with this outcome as its first, and its reports of usage in turn. */
async function used(
  { core }: Organization,
  agentId: string,
  firstOutcomeId: string | null,
  ...said: Usage[]
): Promise<void> {
  const id = newId();
  await core.store.write((tx) =>
    openSession(tx, {
      id,
      agentId,
      credentialId: newId(),
      token: newSecret(),
      workspace: null,
      firstOutcomeId,
    }),
  );
  for (const usage of said) await core.store.write((tx) => noteUsage(tx, id, usage, newId));
}

const use = (inputTokens: number, outputTokens: number, costUsd: number): Usage => ({
  inputTokens,
  outputTokens,
  costUsd,
});

for (const kind of storeKinds)
  describe(`costs on ${kind}`, () => {
    const organized = organizedOn(kind, { fast: true });

    // covers ORG-47, ORG-48
    organized("by agent, its own and with everybody below; consultants are a part of it", async (org) => {
      const { board, companyId } = org;
      const ann = await org.agent("Ann");
      const ben = await org.agent("Ben", ann.id);
      const eve = await org.agent("Eve");
      await used(org, ann.id, null, use(10, 1, 0.01), use(100, 10, 0.1));
      await used(org, ben.id, null, {
        ...use(50, 5, 0.25),
        consultants: { inputTokens: 30, outputTokens: 3, costUsd: 0.2 },
      });
      await used(org, eve.id, null, use(7, 0, 0));
      const { costs, total } = await board(listCosts, { companyId });
      const of = (id: string) => costs.find((row) => row.id === id);
      assert.deepEqual(
        [of(ann.id)?.name, of(ann.id)?.own.inputTokens, of(ann.id)?.own.costUsd],
        ["Ann", 100, 0.1],
      );
      assert.deepEqual(of(ann.id)?.total, {
        inputTokens: 150,
        outputTokens: 15,
        costUsd: 0.35,
        sessions: 0,
        consultants: { inputTokens: 30, outputTokens: 3, costUsd: 0.2 },
      });
      assert.deepEqual([total.inputTokens, total.costUsd], [157, 0.35]);
      assert.equal(of(org.rootId)?.own.inputTokens, 0);
      const { sessions } = await board(listAgentSessions, { id: ben.id });
      assert.deepEqual(sessions[0]?.usage.consultants, { inputTokens: 30, outputTokens: 3, costUsd: 0.2 });
      // Consultants are not hired, so the roster does not grow.
      assert.equal((await board(listRoster, { companyId })).agents.length, 4);
      // The costs of an agent that left stay counted.
      await board(terminateAgent, { id: ben.id });
      const after = await board(listCosts, { companyId });
      assert.deepEqual(after.costs, costs);
    });

    organized("an agent learns of no outcome from its costs that it may not read", async (org) => {
      const { board, companyId, root } = org;
      const [lead, top] = [await org.agent("Lead"), await org.agent("Top")];
      const [ann, sub] = [await org.agent("Ann", lead.id), await org.agent("Sub", top.id)];
      const { id: goal } = await root(createOutcome, { title: "goal", parents: [org.rootId] });
      await root(delegateOutcome, { id: goal, to: lead.id });
      const made = [];
      for (const title of ["hidden 1", "hidden 2"]) {
        const { id } = await lead.call(createOutcome, { title, parents: [goal] });
        await lead.call(delegateOutcome, { id, to: ann.id });
        made.push(id);
      }
      const { id: seen } = await ann.call(createOutcome, { title: "seen", parents: [ann.id] });
      // Ann's work for Lead's goal stays below that goal, which Top can't read.
      const change = { kind: "move_report" as const, agent: ann.id, to: sub.id };
      await board(applyReorganization, { companyId, change });
      for (const [index, id] of [...made, seen].entries()) await used(org, ann.id, id, use(1, 0, 3 - index));
      for (const id of made) await refusal(top.call(viewOutcome, { id }), "not_found");
      const { costs } = await top.call(listCosts, { by: "outcome" });
      assert.deepEqual(new Set(costs.map(({ id }) => id)), new Set([seen, ann.id, sub.id, top.id]));
      const paged = [];
      for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
        const one = await top.call(listCosts, { by: "outcome", limit: 1, ...(cursor && { cursor }) });
        paged.push(...one.costs);
        cursor = one.nextCursor ?? undefined;
      }
      assert.deepEqual(paged, costs);
      const ofBoard = await board(listCosts, { companyId, by: "outcome" });
      assert.ok(made.every((id) => ofBoard.costs.some((row) => row.id === id)));
    });

    organized(
      "the highest come first, page by page, with the days, the months and the budgets",
      async (org) => {
        const { board, companyId } = org;
        const ann = await org.agent("Ann");
        const ben = await org.agent("Ben", ann.id);
        const eve = await org.agent("Eve");
        await used(org, ann.id, null, use(1, 0, 0.5));
        await used(org, ben.id, null, use(1, 0, 2));
        await used(org, eve.id, null, use(1, 0, 1));
        const spent = async (): Promise<string[]> => {
          const names = [];
          for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
            const page = await board(listCosts, { companyId, limit: 2, ...(cursor && { cursor }) });
            names.push(...page.costs.map(({ name, total }) => `${name} ${total.costUsd}`));
            cursor = page.nextCursor ?? undefined;
          }
          return names;
        };
        assert.deepEqual(await spent(), ["Root 3.5", "Ann 2.5", "Ben 2", "Eve 1"]);
        const { days, months, month } = await board(listCosts, { companyId, days: true });
        assert.deepEqual(
          months.map((one) => [one.month, one.total.costUsd]),
          [[month, 3.5]],
        );
        assert.equal(days?.length, 1);
        assert.ok(days[0]?.day.startsWith(`${month}-`));
        assert.equal(days[0]?.total.costUsd, 3.5);
        assert.deepEqual(
          days[0]?.agents.map(({ name, costUsd }) => `${name} ${costUsd}`),
          ["Ben 2", "Eve 1", "Ann 0.5"],
        );
        // The days of a manager's costs include the agents below it.
        const own = await ann.call(listCosts, { days: true });
        assert.deepEqual([own.days?.[0]?.total.costUsd, own.total.costUsd], [2.5, 2.5]);
        assert.equal((await ben.call(listCosts, {})).days, undefined);

        await board(setBudget, { id: ann.id, usd: 10 });
        await board(setBudget, { id: ben.id, usd: 4 });
        await board(setBudget, { id: eve.id, tokens: 100 });
        const named = async (call: typeof board) =>
          (await call(listBudgets, { companyId })).budgets.map(({ of, budget }) => [
            of.title,
            budget.map(({ measure, limit, left }) => [measure, limit, left]),
          ]);
        assert.deepEqual((await named(board)).slice(1), [
          ["Ann", [["usd", 10, 6]]],
          ["Ben", [["usd", 4, 4]]],
          ["Eve", [["tokens", 100, 100]]],
        ]);
        assert.deepEqual(await named(ben.call), [["Ben", [["usd", 4, 4]]]]);
      },
    );

    organized("by outcome, with all that it was for, each once however many ways lead there", async (org) => {
      const { board, companyId } = org;
      const ann = await org.agent("Ann");
      const make = async (title: string, parents: string[]): Promise<string> =>
        (await board(createOutcome, { companyId, title, parents })).id;
      const top = await make("top", [ann.id]);
      const [left, right] = [await make("left", [top]), await make("right", [top])];
      const leaf = await make("leaf", [left, right]);
      await used(org, ann.id, leaf, use(100, 0, 1));
      await used(org, ann.id, left, use(10, 0, 0.5));
      const { costs, by } = await board(listCosts, { companyId, by: "outcome" });
      assert.equal(by, "outcome");
      const of = (id: string) => {
        const row = costs.find((cost) => cost.id === id);
        return [row?.name, row?.own.inputTokens, row?.total.inputTokens, row?.total.costUsd];
      };
      assert.deepEqual(of(leaf), ["leaf", 100, 100, 1]);
      assert.deepEqual(of(left), ["left", 10, 110, 1.5]);
      assert.deepEqual(of(right), ["right", 0, 100, 1]);
      assert.deepEqual(of(top), ["top", 0, 110, 1.5]);
      assert.deepEqual(of(org.rootId).slice(1), [0, 110, 1.5]);
    });

    organized("an agent sees only its own part of the costs; the board sees every part", async (org) => {
      const { board, companyId } = org;
      const ann = await org.agent("Ann");
      const ben = await org.agent("Ben", ann.id);
      const eve = await org.agent("Eve");
      const jobs = new Map<string, string>();
      for (const { id } of [ann, ben, eve]) {
        const { id: job } = await board(createOutcome, { companyId, title: "job", parents: [id] });
        jobs.set(id, job);
        await used(org, id, job, use(5, 0, 0));
      }
      const mine = await ann.call(listCosts, {});
      assert.deepEqual(mine.costs.map(({ name }) => name).toSorted(), ["Ann", "Ben"]);
      assert.equal(mine.total.inputTokens, 10);
      const outcomes = await ann.call(listCosts, { by: "outcome" });
      const seen = new Set(outcomes.costs.map(({ id }) => id));
      assert.deepEqual([seen.has(jobs.get(ben.id) ?? ""), seen.has(jobs.get(eve.id) ?? "")], [true, false]);
      assert.deepEqual((await board(listCosts, { companyId, agent: ann.id })).costs, mine.costs);
      assert.equal((await ann.call(listCosts, { agent: ben.id })).total.inputTokens, 5);
      await refusal(ben.call(listCosts, { agent: ann.id }), "not_found");
      await refusal(ann.call(listCosts, { agent: eve.id }), "not_found");
      const other = await org.another();
      await refusal(other.root(listCosts, { agent: ann.id }), "not_found");
    });

    organized(
      "in pages, month by month; a report that says less again, or nothing true, changes nothing",
      async (org) => {
        const { board, companyId } = org;
        const agents = [];
        for (let number = 0; number < 5; number++) agents.push(await org.agent(`Agent ${number}`));
        for (const { id } of agents)
          await used(org, id, null, use(10, 0, 0.1), use(4, 0, 0), use(Number.NaN, -7, -1));
        const ids: string[] = [];
        for (let cursor: string | undefined; ;) {
          const page = await board(listCosts, {
            companyId,
            limit: 2,
            ...(cursor === undefined ? {} : { cursor }),
          });
          ids.push(...page.costs.map(({ id }) => id));
          if (page.nextCursor === null) break;
          cursor = page.nextCursor;
        }
        assert.deepEqual(new Set(ids), new Set([org.rootId, ...agents.map(({ id }) => id)]));
        assert.equal(ids.length, 6);
        const { total } = await board(listCosts, { companyId });
        assert.deepEqual([total.inputTokens, total.costUsd], [50, 0.5]);
        const before = await board(listCosts, { companyId, month: "2020-02" });
        assert.deepEqual([before.month, before.costs, before.total.inputTokens], ["2020-02", [], 0]);
        await refusal(board(listCosts, { companyId, month: "2020-13" }), "invalid");
      },
    );
  });
