// Who can use a resource: the list must name exactly the agents that explain_access says yes for, whatever the right follows from.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { listAgents, terminateAgent } from "../contract/agents.ts";
import { explainAccess, grantPermission, listHolders, listPermissions } from "../contract/capabilities.ts";
import { createFile, listFiles, searchFiles, writeFile } from "../contract/knowledge.ts";
import { sendMessage } from "../contract/mail.ts";
import {
  completeOutcome,
  createOutcome,
  listOutcomes,
  submitOutcome,
  updateOutcome,
} from "../contract/outcomes.ts";
import { delegateOutcome, decideOutcome } from "../contract/delegation.ts";
import { isResource, type Resource } from "../contract/resources.ts";
import { storeKinds, refusal, sharedOrganization } from "../testing/organization.ts";
import { buildScene } from "../../test/reorganization/scene.ts";

for (const kind of storeKinds)
  describe(`holders on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind, { fast: true });
    const { board, companyId } = org;

    test("the list equals the answers about each agent, for files, outcomes, mail and servers", async () => {
      const { lead, ann, bob, olga, outcomes } = await buildScene(org);
      const { id: file } = await ann.call(createFile, { description: "Report", content: "x" });
      const { id: job } = await lead.call(createOutcome, { title: "Job", parents: [outcomes.goal] });
      await lead.call(delegateOutcome, { id: job, to: ann.id });
      await ann.call(submitOutcome, { id: job, files: [file], note: "Done" });
      await lead.call(completeOutcome, { id: job });
      // By a decision of the board, Olga's work depends on it.
      const { id: waits } = await olga.call(createOutcome, { title: "Waits", parents: [olga.id] });
      await board(updateOutcome, { id: waits, dependsOn: [job] });
      const { id: sent } = await lead.call(createFile, { description: "Sent", content: "x" });
      await lead.call(sendMessage, { to: bob.id, body: "See it", files: [sent] });
      await board(grantPermission, { companyId, to: olga.id, resource: `kb:${sent}`, level: "write" });
      await board(grantPermission, { companyId, to: ann.id, resource: "org:hire" });
      await board(grantPermission, { companyId, to: olga.id, resource: "net:*" });
      const { id: left } = await bob.call(createFile, { description: "Left", content: "x" });
      await board(terminateAgent, { id: bob.id });

      const { agents } = await board(listAgents, { companyId });
      const active = agents.filter(({ status }) => ["idle", "running", "paused"].includes(status));
      const { files } = await board(listFiles, { companyId, limit: 1000 });
      const all = await board(listOutcomes, { companyId, limit: 1000 });
      const resources = [
        // The file of an outcome is read like the outcome, so a few of them are enough.
        ...files
          .filter((one, index) => one.kind !== "outcome" || index % 5 === 0)
          .map(({ id }) => `kb:${id}`),
        ...all.outcomes.map(({ id }) => `outcome:${id}`),
        ...active.map(({ id }) => `mail:${id}`),
        "mail:board",
        "org:hire",
        "mcp:some",
        "net:example.org",
        `kb:${left}`,
      ].filter((one): one is Resource => isResource(one));
      let found = 0;
      for (const resource of resources) {
        const { holders } = await board(listHolders, { companyId, resource });
        const expected = [];
        for (const { id } of active) {
          const { allowed, held, because, chain } = await board(explainAccess, { agent: id, resource });
          if (allowed) expected.push({ id, held, because, chain });
        }
        assert.deepEqual(
          holders
            .map(({ agent, held, because, chain }) => ({ id: agent.id, held, because, chain }))
            .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
          expected.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
          resource,
        );
        found += holders.length;
      }
      assert.ok(found > resources.length, "most resources have several holders");
    });

    test("while a verdict is escalated, the managers above the verifier hold the deliverables and find them", async () => {
      const lead = await org.agent("Escalation lead");
      const verifier = await org.agent("Verifier", lead.id);
      const worker = await org.agent("Author", verifier.id);
      const sibling = await org.agent("Sibling", lead.id);
      const { id: job } = await verifier.call(createOutcome, { title: "Disputed", parents: [verifier.id] });
      await verifier.call(delegateOutcome, { id: job, to: worker.id });
      // No outcome of the lead is above the disputed one, and the file was created outside the lead's team. So the lead's right
      // follows only from managing the verifier.
      await board(updateOutcome, { id: job, parents: [org.rootId] });
      const other = await org.agent("Other team");
      const { id: file, ...first } = await other.call(createFile, {
        description: "Disputed draft",
        content: "x",
      });
      const resource = `kb:${file}` as const;
      await board(grantPermission, { companyId, to: worker.id, resource, level: "write" });
      await worker.call(writeFile, { id: file, version: first.version, hash: first.hash, content: "xx" });
      const holders = async () =>
        (await board(listHolders, { companyId, resource })).holders.map(({ agent }) => agent.name);
      const finds = async ({ call }: typeof lead) => [
        (await call(listFiles, {})).files.some(({ id }) => id === file),
        (await call(searchFiles, { query: "disputed" })).files.some(({ id }) => id === file),
        (await call(listPermissions, {})).structural.some((right) => right.resource === resource),
      ];
      await worker.call(submitOutcome, { id: job, files: [file], note: "Done" });
      assert.deepEqual(await holders(), ["Author", "Other team", "Verifier"]);
      assert.deepEqual(await finds(lead), [false, false, false]);
      await verifier.call(decideOutcome, { id: job, verdict: "rework", note: "Shorter." });
      await worker.call(submitOutcome, { id: job, files: [file], note: "Shorter" });
      await verifier.call(decideOutcome, { id: job, verdict: "rework", note: "Not short enough." });
      assert.deepEqual(await holders(), ["Author", "Escalation lead", "Other team", "Root", "Verifier"]);
      for (const manager of [lead, verifier]) assert.deepEqual(await finds(manager), [true, true, true]);
      assert.deepEqual(await finds(sibling), [false, false, false]);
      await lead.call(decideOutcome, { id: job, verdict: "close", note: "No longer needed." });
      assert.deepEqual(await finds(lead), [false, false, false]);
    });

    test("a page continues where the last one ended, and a thing of another company is not found", async () => {
      const ids = [];
      const { id: file } = await org.root(createFile, { description: "Shared", content: "x" });
      for (const name of ["Cy", "Di", "Ed", "Flo"]) {
        const agent = await org.agent(name);
        ids.push(agent.id);
        await org.root(grantPermission, { to: agent.id, resource: `kb:${file}` });
      }
      const resource = `kb:${file}` as const;
      const names: string[] = [];
      for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
        const page = await board(listHolders, { companyId, resource, limit: 2, ...(cursor && { cursor }) });
        names.push(...page.holders.map(({ agent }) => agent.name));
        cursor = page.nextCursor ?? undefined;
        for (const { because, references } of page.holders) {
          assert.doesNotMatch(because, /[0-9a-f]{8}-/);
          assert.ok(references.some(({ id, title }) => id === file && title === "Shared"));
        }
      }
      assert.deepEqual(names, ["Cy", "Di", "Ed", "Flo", "Root"]);
      const writers = await board(listHolders, { companyId, resource, level: "write" });
      assert.deepEqual(
        writers.holders.map(({ agent }) => agent.name),
        ["Root"],
      );
      const other = await org.another();
      await refusal(other.board(listHolders, { companyId: other.companyId, resource }), "not_found");
      const [cy = ""] = ids;
      await refusal(
        other.board(listHolders, { companyId: other.companyId, resource: "org:hire", cursor: cy }),
        "invalid",
      );
      await board(createOutcome, { companyId, title: "x", parents: [org.rootId] });
    });
  });
