import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pauseAgent, updateAgent } from "../contract/agents.ts";
import * as approvals from "../contract/approvals.ts";
import { freezeCompany, updateCompany } from "../contract/companies.ts";
import { putMcpServer } from "../contract/servers.ts";
import { requestAgent } from "../contract/create-agent.ts";
import { createAgent, hireAgent } from "../contract/hiring.ts";
import { createFile, readFile } from "../contract/knowledge.ts";
import type { Operation } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { Refusal } from "../contract/refusal.ts";
import { applyReorganization, type Change, planReorganization } from "../contract/reorganization.ts";
import { requestPermission } from "../contract/capabilities.ts";
import { createGoal } from "../contract/goals.ts";
import { createOutcome, updateOutcome } from "../contract/outcomes.ts";
import { sendMessage } from "../contract/mail.ts";
import { submitSummary } from "../contract/sessions.ts";
import { configurationOf } from "../hiring/drafting.ts";
import { agentById } from "../agents/table.ts";
import { rosterText } from "../roster/roster.ts";
import { ageEvents } from "../testing/old-events.ts";
import { sharedOrganization, storeKinds } from "../testing/organization.ts";

/** Secrets of several shapes, each with the word canary in it, where people write configurations, plans and reasons. */
const token = "ghp_canary0Tok3nCanary1";
const words = [
  `Use ${token}, or clone https://canary7tok3n@git.example.org/x.git.`,
  "curl -H 'X-Auth: canaryheader' 'https://example.com/?key=canary3key'",
  "DB_PASSWORD=canaryvariable acme --pat canaryflag",
  "password: canaryname",
].join("\n");
const adapterConfig = {
  command: "true",
  args: ["--pat", "canaryargument", "-H", "X-Auth: canaryheader", "https://me:canarypassword@example.com"],
  env: { PLAIN: "canary in plain words" },
};
const made = {
  role: `Clerk ${token}`,
  title: `Clerk with password=canarytitle`,
  capabilities: words,
  prompt: words,
  mandate: words,
  adapterType: "process",
  adapterConfig,
};

/** In these inputs, the text itself is the knowledge. */
const isContent = ({ name }: Operation): boolean =>
  /^(?:knowledge|outcome|mail)\.|^approval\.list_comments$|^repo\.diff$/.test(name);

const reads = operations.filter(({ effect }) => effect !== "write");

for (const kind of storeKinds)
  describe(`everything that leaves a company on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { approvals: true });
    const { board, root, companyId, rootId } = org;
    const heard: { from: string; text: string }[] = [];
    const answered = new Set<string>();
    const hear = async (from: string, call: Promise<unknown>): Promise<boolean> => {
      const answer = await call.catch((error: unknown) => {
        if (!(error instanceof Refusal)) throw error;
        return error;
      });
      heard.push({ from, text: JSON.stringify(answer instanceof Refusal ? answer.toBody() : answer) });
      if (!(answer instanceof Refusal)) answered.add(from);
      return !(answer instanceof Refusal);
    };

    test("has no secret in it, at any exit", async () => {
      const types = { allowedAdapterTypes: ["process", "rehearsal"], defaultAdapterType: "process" };
      const settings = { companyId, ...types, defaultAdapterConfig: adapterConfig };
      assert.ok(await hear("company.update", board(updateCompany, settings)));
      const { env: _, ...config } = adapterConfig;
      // A secret in the arguments is refused. The values of variables become secrets of the company.
      assert.ok(!(await hear("mcp_server.put", board(putMcpServer, { companyId, name: "post", config }))));
      const { command, env } = adapterConfig;
      assert.ok(
        await hear(
          "mcp_server.put",
          board(putMcpServer, { companyId, name: "post", config: { command, env } }),
        ),
      );
      const ada = await board(createAgent, { companyId, name: "Ada", ...made });
      const hired = await root(hireAgent, { name: "Bob", ...made });
      const id = hired.approval?.id ?? "";
      await board(approvals.requestRevision, { id, decisionNote: words });
      const { payload } = await root(approvals.viewApproval, { id });
      assert.ok(await hear("resubmit", root(approvals.resubmit, { id, payload })));
      await root(approvals.requestApproval, { type: "approve_ceo_strategy", payload: { plan: words } });
      const { requestId = "" } = await root(requestAgent, { name: "Cid", role: made.role });
      const change: Change = {
        kind: "insert_layer",
        boss: rootId,
        manager: { name: "Dot", ...made },
        reports: [ada.id],
      };
      assert.ok(await hear("reorganization.plan", board(planReorganization, { companyId, change })));
      const { id: reorganization } = await board(applyReorganization, { companyId, change });
      assert.ok(await hear("approve", board(approvals.approve, { id: requestId })));
      await board(pauseAgent, { id: ada.id, reason: words });
      const eve = await org.agent("Eve");
      assert.ok(
        await hear("request", eve.call(requestPermission, { resource: "org:consult", reason: words })),
      );
      const { id: goal } = await board(createGoal, {
        companyId,
        title: `Work with ${token} and password=canarytitle`,
        description: words,
      });
      const { id: outcome } = await root(createOutcome, {
        companyId,
        title: `Part with ${token}`,
        parents: [goal],
        description: words,
      });
      await root(updateOutcome, { id: outcome, blocked: { reason: words } });
      await root(createFile, { companyId, description: `Notes with ${token}`, content: words });
      await root(sendMessage, { companyId, to: "board", body: words });
      assert.ok(await hear("agent.update", board(updateAgent, { id: ada.id, title: `${made.title} again` })));
      const session = await org.session(rootId);
      const { logFileId } = await session.call(submitSummary, { summary: words });
      assert.ok(await hear("log", board(readFile, { id: logFileId })));
      assert.equal(await hear("refusal", board(pauseAgent, { id: token })), false);
      assert.equal(await hear("refusal", root(updateAgent, { id: ada.id, adapterType: token })), false);

      assert.ok(await hear("freeze", board(freezeCompany, { companyId, reason: words })));
      await ageEvents(store, companyId);
      const ids = [goal, outcome, ada.id, id, requestId, reorganization, rootId, session.id];
      const inputs = (operation: Operation): readonly Record<string, unknown>[] => {
        const { shape } = operation.input;
        const given = {
          adapterType: "process",
          query: "canary",
          resource: "org:hire",
          version: 1,
          change,
          ids,
          q: "canary",
          month: "2020-01",
        };
        const some = Object.fromEntries(
          Object.entries({ companyId, ...given }).filter(([key]) => key in shape),
        );
        const key = "id" in shape ? "id" : "requestId" in shape ? "requestId" : undefined;
        return key === undefined ? [some] : ids.map((one) => ({ ...some, [key]: one }));
      };
      for (const operation of reads)
        for (const input of inputs(operation))
          for (const call of [board, root, session.call]) await hear(operation.name, call(operation, input));
      const silent = reads
        .filter((operation) => !answered.has(operation.name) && !isContent(operation))
        .map(({ name }) => name);
      assert.deepEqual(silent, []);
      heard.push({ from: "roster.json", text: await store.read((tx) => rosterText(tx, companyId)) });

      const contents = new Set(operations.filter(isContent).map(({ name }) => name));
      const found = heard.filter(({ from, text }) => !contents.has(from) && /canary/i.test(text));
      assert.deepEqual(
        found.map(({ from, text }) => `${from}: ${/.{0,80}canary.{0,40}/i.exec(text)?.[0]}`),
        [],
      );

      // A value that was sent back as it was shown is still the secret.
      const bob = await store.read(async (tx) => configurationOf(tx, await agentById(tx, hired.agent.id)));
      const { env: secret, ...rest } = bob.adapterConfig;
      assert.deepEqual(rest, config);
      assert.match(JSON.stringify(secret), /^\{"PLAIN":\{"secret":"PLAIN-[0-9a-f]{12}"\}\}$/);
      assert.equal(bob.prompt, words);
    });
  });
