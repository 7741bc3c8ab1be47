import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { listAgents, terminateAgent } from "../contract/agents.ts";
import * as approvals from "../contract/approvals.ts";
import { updateCompany } from "../contract/companies.ts";
import { requestAgent } from "../contract/create-agent.ts";
import { createAgent, hireAgent } from "../contract/hiring.ts";
import { Refusal, refusalOf } from "../contract/refusal.ts";
import { Chance } from "../simulator/chance.ts";
import { bothStores, refusal, sharedOrganization } from "../testing/organization.ts";
import { byLength } from "../testing/run-length.ts";

for (const kind of bothStores)
  describe(`the limit of agents in a company on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind, { approvals: true, fast: true });
    let names = 0;
    const named = () => ({ name: `N ${++names}`, role: "worker" });

    test("agents can't hire beyond maxAgents, but the board can", async () => {
      const fresh = await org.another();
      const { companyId } = fresh;
      await fresh.board(updateCompany, { companyId, maxAgents: 2 });
      const { approval } = await fresh.root(hireAgent, named());
      await fresh.board(approvals.approve, { id: approval?.id ?? "" });
      await refusal(fresh.root(hireAgent, named()), "limited");
      await fresh.board(createAgent, { companyId, ...named() });
      for (const requireBoardApprovalForNewAgents of [true, false]) {
        // Null means the default limit, whether hires need an approval or not. Pending agents count.
        await fresh.board(updateCompany, { companyId, maxAgents: null, requireBoardApprovalForNewAgents });
        for (let count = requireBoardApprovalForNewAgents ? 3 : 15; count < 16; count++)
          await fresh.root(hireAgent, named());
        const { message, hint } = await refusal(fresh.root(hireAgent, named()), "limited");
        assert.equal(
          message,
          "The company has 16 agents, and agents can hire up to 16. Pending agents and requests count.",
        );
        assert.match(hint, /Only the board can raise the limit: agency companies update --max-agents 17/);
        const created = await fresh.root(requestAgent, { name: named().name, waitSeconds: 0 });
        assert.deepEqual([created.code, created.requestId], ["limit_reached", undefined]);
        const { approvals: open } = await fresh.board(approvals.listApprovals, {
          companyId,
          status: "pending",
        });
        for (const { id } of open.slice(0, 1)) await fresh.board(approvals.reject, { id });
      }
      await fresh.board(updateCompany, { companyId, maxAgents: 17 });
      await fresh.root(hireAgent, named());
    });

    test("an approval does not exceed the limit either, whatever happened since the request", async () => {
      const fresh = await org.another();
      const { companyId } = fresh;
      await fresh.board(updateCompany, { companyId, maxAgents: 4 });
      const [first, second] = [await fresh.root(hireAgent, named()), await fresh.root(hireAgent, named())];
      const { requestId = "" } = await fresh.root(requestAgent, { name: named().name, waitSeconds: 0 });
      await refusal(fresh.root(hireAgent, named()), "limited");
      // The board is not bound by the limit, but the agents it hires take the places of requested ones.
      await fresh.board(createAgent, { companyId, ...named() });
      const own = await fresh.board(hireAgent, { companyId, ...named() });
      await fresh.board(approvals.approve, { id: own.approval?.id ?? "" });
      const id = first.approval?.id ?? "";
      const { obstacles } = (await fresh.board(approvals.viewApproval, { id })).changes;
      assert.match(obstacles.join(), /has 6 agents, and agents can hire up to 4/);
      for (const one of [id, requestId]) {
        const { message, hint } = await refusal(fresh.board(approvals.approve, { id: one }), "limited");
        assert.match(message, /has [56] agents, and agents can hire up to 4/);
        assert.match(hint, /--max-agents 6\./, "with room for the agents that are counted already");
      }
      await fresh.board(approvals.reject, { id: second.approval?.id ?? "" });
      await refusal(fresh.board(approvals.approve, { id }), "limited");
      await fresh.board(updateCompany, { companyId, maxAgents: 5 });
      await fresh.board(approvals.approve, { id });
      await fresh.board(approvals.approve, { id: requestId });
      await refusal(fresh.root(hireAgent, named()), "limited");
    });

    test("whatever agents request and the board decides, the agents they add stay within the limit", async () => {
      const fresh = await org.another();
      const { companyId } = fresh;
      for (let seed = 1; seed <= byLength({ quick: 2, whole: 4 }); seed++) {
        const chance = new Chance(seed, "headcount");
        let most = 3;
        await fresh.board(updateCompany, { companyId, maxAgents: most });
        for (let step = 0; step < 60; step++) {
          const { approvals: open } = await fresh.board(approvals.listApprovals, {
            companyId,
            status: "pending",
          });
          const { agents } = await fresh.board(listAgents, { companyId, limit: 1000 });
          const employed = agents.filter(({ status }) => status !== "terminated");
          const id = chance.pick(open)?.id;
          const adds: (() => Promise<unknown>)[] = [
            () => fresh.root(hireAgent, named()),
            async () => {
              const { code } = await fresh.root(requestAgent, { name: named().name, waitSeconds: 0 });
              if (code !== undefined) throw new Refusal("limited", code, code);
            },
            () => fresh.board(approvals.approve, { id: id ?? "" }),
            () => fresh.board(approvals.approve, { id: id ?? "" }),
          ];
          const others: (() => Promise<unknown>)[] = [
            () => fresh.board(approvals.reject, { id: id ?? "" }),
            () => fresh.board(createAgent, { companyId, ...named() }),
            () => fresh.board(updateCompany, { companyId, maxAgents: (most = chance.between(1, 8)) }),
            () =>
              fresh.board(terminateAgent, {
                id:
                  chance.pick(employed.filter(({ boss, status }) => boss !== null && status === "idle"))
                    ?.id ?? "",
              }),
          ];
          const isAdding = chance.flip(0.6);
          const act = chance.pick(isAdding ? adds : others);
          if ((await refusalOf(act?.() ?? Promise.resolve())) !== undefined || !isAdding) continue;
          const after = (await fresh.board(listAgents, { companyId, limit: 1000 })).agents;
          const waiting = (await fresh.board(approvals.listApprovals, { companyId, status: "pending" }))
            .approvals;
          const count =
            after.filter(({ status }) => status !== "terminated").length +
            waiting.filter(({ type }) => type === "create_agent").length;
          assert.ok(count <= most, `seed ${seed}, step ${step}: ${count} agents, limit ${most}`);
        }
      }
    });
  });
