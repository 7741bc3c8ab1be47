import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hireAgent, createAgent } from "../contract/hiring.ts";
import {
  grantPermission,
  listAgentGrants,
  listPermissionRequests,
  requestPermission,
  revokePermission,
} from "../contract/capabilities.ts";
import { brains } from "../brains/registry.ts";
import * as contract from "../contract/hiring.ts";
import { listEvents } from "../contract/ledger.ts";
import { listRoster } from "../contract/roster.ts";
import { terminateAgent, setPermissions } from "../contract/agents.ts";
import { closeOutcome } from "../contract/outcomes.ts";
import { type TestCaller, refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`configurations on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind, { approvals: true });

    const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    const mayHire = async (id: string): Promise<boolean> =>
      (await org.board(listAgentGrants, { id })).grants.some(
        ({ resource, stands }) => resource === "org:hire" && stands,
      );

    // covers GOV-36, GOV-37, GOV-39, GOV-42, GOV-75, GOV-76
    test("only the board, the root agent and agents that may hire read configurations, redacted", async () => {
      const made = await org.board(createAgent, {
        companyId: org.companyId,
        name: "Keeper",
        role: "x",
        prompt: `Use ${secret} carefully.`,
        adapterType: "process",
        adapterConfig: { command: "true", args: ["--api-key", "hunter2hunter2"], env: { API_KEY: secret } },
      });
      const hirer = await org.agent("Hirer");
      await org.board(grantPermission, { companyId: org.companyId, to: hirer.id, resource: "org:hire" });
      const other = await org.agent("Other");
      const allowed: TestCaller[] = [org.board, org.root, hirer.call];
      for (const call of allowed) {
        const { configuration, redactedPaths, agent } = await call(contract.viewConfiguration, {
          id: made.id,
        });
        const text = JSON.stringify(configuration);
        assert.ok(!text.includes("abcdefghij") && !text.includes("hunter2"), text);
        assert.deepEqual(Object(configuration["adapterConfig"]).env, { API_KEY: "[redacted]" });
        for (const path of ["adapterConfig.env.API_KEY", "adapterConfig.args[1]", "prompt"])
          assert.ok(redactedPaths.includes(path), path);
        assert.deepEqual([agent.name, agent.boss?.id], ["Keeper", org.rootId]);
        const list = await call(contract.listConfigurations, { companyId: org.companyId });
        assert.equal(list.configurations.length, 4);
        assert.ok(!JSON.stringify(list).includes("abcdefghij"));
        const listed = (await call(contract.listBrains, {})).brains;
        assert.deepEqual(
          listed.map(({ type }) => type),
          brains.map(({ type }) => type),
        );
        const command = listed.find(({ type }) => type === "process");
        assert.deepEqual(Object(command?.schema)["required"], ["command"]);
        assert.match(command?.documentation ?? "", /- command \(string/);
        assert.equal(listed.find(({ type }) => type === "rehearsal")?.available, true);
        assert.match((await call(contract.brainIndex, {})).text, /\/llms\/agent-configuration\/process\.txt/);
        assert.match((await call(contract.brainPage, { adapterType: "process" })).text, /- command \(string/);
      }
      await refusal(other.call(contract.viewConfiguration, { id: made.id }), "forbidden");
      await refusal(other.call(contract.listConfigurations, {}), "forbidden");
      await refusal(other.call(contract.brainIndex, {}), "forbidden");
      await refusal(other.call(contract.listBrains, {}), "forbidden");
      // Every agent of the company sees the basic facts. Agents that may hire also see their own configuration.
      const seen = (await other.call(listRoster, {})).agents.find(({ id }) => id === made.id);
      assert.deepEqual([seen?.name, seen?.role, seen?.status], ["Keeper", "x", "idle"]);
      assert.ok(!JSON.stringify(seen).includes("adapterConfig"));
      assert.equal((await hirer.call(contract.viewConfiguration, { id: hirer.id })).agent.name, "Hirer");
      await refusal(other.call(contract.brainPage, { adapterType: "process" }), "forbidden");
      await refusal(org.board(contract.brainPage, { adapterType: "telepathy" }), "invalid");
      // The chief stays the chief without its own right to hire.
      const { grants } = await org.board(listAgentGrants, { id: org.rootId });
      assert.equal(grants.length, 1);
      const elsewhere = await org.another();
      await refusal(elsewhere.root(contract.viewConfiguration, { id: made.id }), "not_found");
    });

    test("the list has the employed agents only, page by page", async () => {
      const other = await org.another();
      const { companyId, board } = other;
      const names = ["Ada", "Ben", "Cleo", "Dora", "Emil"];
      const hired = [];
      for (const name of names) hired.push(await other.agent(name));
      for (const { id } of [hired[1], hired[4]].filter((one) => one !== undefined))
        await board(terminateAgent, { id });
      const listed = [];
      let cursor: string | undefined;
      do {
        const page = await board(contract.listConfigurations, { companyId, limit: 2, cursor });
        assert.ok(page.configurations.length === 2 || page.nextCursor === null);
        listed.push(...page.configurations.map((configuration) => configuration.agent.name));
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
      assert.deepEqual(listed.slice(1), ["Ada", "Cleo", "Dora"]);
    });

    // covers GOV-07, GOV-08, GOV-09, GOV-24, GOV-35
    test("the board and the root agent decide who may hire, and the right ends as any right does", async () => {
      const boss = await org.agent("Chief");
      const far = await org.agent("Far", boss.id);
      const set = (call: TestCaller, id: string, canCreateAgents: boolean) =>
        call(setPermissions, { id, canCreateAgents });
      assert.deepEqual((await set(org.board, boss.id, true)).permissions, { canCreateAgents: true });
      // The same call again changes nothing, and makes no second grant.
      await set(org.board, boss.id, true);
      assert.equal((await org.board(listAgentGrants, { id: boss.id })).grants.length, 1);
      const { approval } = await boss.call(hireAgent, { name: "Deep", role: "x" });
      assert.equal(approval?.status, "pending");
      assert.deepEqual((await set(org.root, far.id, true)).permissions, { canCreateAgents: true });
      await set(org.board, boss.id, false);
      assert.equal(await mayHire(boss.id), false);
      await refusal(boss.call(hireAgent, { name: "Deeper", role: "x" }), "forbidden");
      assert.equal(await mayHire(far.id), true);
      // The grants that the root agent made end with its own right.
      await set(org.board, org.rootId, false);
      assert.equal(await mayHire(far.id), false);
      await refusal(set(org.root, boss.id, true), "refused");
      await set(org.board, org.rootId, true);
      await refusal(set(boss.call, far.id, true), "forbidden");
      await refusal(set(org.board, approval?.agentId ?? "", true), "refused");
      await org.board(terminateAgent, { id: far.id });
      await refusal(set(org.board, far.id, true), "refused");
      const { events } = await org.board(listEvents, { companyId: org.companyId, limit: 1000 });
      assert.ok(events.some(({ operation }) => operation === "agent.set_permissions"));
    });

    test("the right to hire for one outcome is not the lasting right, and an agent can't give more than it has", async () => {
      const near = await org.agent("Near");
      const below = await org.agent("Below", near.id);
      const { companyId } = org;
      const set = (call: TestCaller, id: string) => call(setPermissions, { id, canCreateAgents: true });
      // A right for one outcome ends with the outcome. The permission lasts as long as the mandate.
      const job = await org.outcome("one job", [near.id]);
      await org.board(grantPermission, { companyId, to: near.id, resource: "org:hire", outcome: job });
      await near.call(requestPermission, { resource: "org:hire", reason: "for good" });
      await set(org.board, near.id);
      await org.board(closeOutcome, { id: job, rationale: "not needed" });
      assert.equal(await mayHire(near.id), true);
      // Setting the right also answers the agent's open request for it.
      await below.call(requestPermission, { resource: "org:hire", reason: "much to do" });
      const asked = async () =>
        (await org.board(listPermissionRequests, { companyId })).requests.filter(
          ({ agent }) => agent.id === below.id,
        );
      assert.equal((await asked()).length, 1);
      await set(org.root, below.id);
      assert.equal((await asked()).length, 0);
      // A root agent that may hire only for one outcome can pass on no more than that.
      for (const { id, stands } of (await org.board(listAgentGrants, { id: org.rootId })).grants)
        if (stands) await org.board(revokePermission, { id });
      const narrow = await org.outcome("narrow", [near.id]);
      await org.board(grantPermission, { companyId, to: org.rootId, resource: "org:hire", outcome: narrow });
      assert.equal(await mayHire(below.id), false);
      await refusal(set(org.root, below.id), "refused");
      await refusal(set(org.root, org.rootId), "refused");
      assert.equal((await org.root(contract.listConfigurations, {})).nextCursor, null);
    });
  });
