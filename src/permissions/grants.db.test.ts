import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  explainAccess,
  grantPermission,
  listAgentGrants,
  listPermissions,
  requestPermission,
  revokePermission,
} from "../contract/capabilities.ts";
import { createFile, readFile, writeFile } from "../contract/knowledge.ts";
import { closeOutcome, createOutcome, reopenOutcome, viewOutcome } from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import { terminateAgent } from "../contract/agents.ts";
import { refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`grants on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);

    // covers CAP-05, CAP-07, CAP-18, CAP-24, BND-02
    test("a right is passed down the reporting line, never with a higher level, and ends with any grant in its chain", async () => {
      const boss = await org.agent("Chief");
      const report = await org.agent("Report", boss.id);
      const file = await boss.call(createFile, { description: "plan", content: "one" });
      await refusal(report.call(readFile, { id: file.id }), "not_found");
      const grant = await boss.call(grantPermission, { to: report.id, resource: `kb:${file.id}` });
      assert.equal((await report.call(readFile, { id: file.id })).content, "one");
      const pair = { version: 1, hash: file.hash };
      await refusal(report.call(writeFile, { id: file.id, content: "two", ...pair }), "forbidden");
      const deep = await org.agent("Deep", report.id);
      await refusal(
        report.call(grantPermission, { to: deep.id, resource: `kb:${file.id}`, level: "write" }),
        "refused",
      );
      await report.call(grantPermission, { to: deep.id, resource: `kb:${file.id}` });
      assert.equal((await deep.call(readFile, { id: file.id })).content, "one");
      // The boss can't grant rights to its report's report.
      await refusal(boss.call(grantPermission, { to: deep.id, resource: `kb:${file.id}` }), "refused");
      await boss.call(revokePermission, { id: grant.id });
      await refusal(deep.call(readFile, { id: file.id }), "not_found");
      await refusal(report.call(readFile, { id: file.id }), "not_found");
    });

    test("the grants of an agent are listed by whether they are in force, however many have ended before", async () => {
      const worker = await org.agent("Granted");
      const work = await org.outcome("granted work");
      const grant = (resource: `net:${string}`, outcome?: string) =>
        org.board(grantPermission, {
          companyId: org.companyId,
          to: worker.id,
          resource,
          ...(outcome !== undefined && { outcome }),
        });
      for (const name of ["a", "b", "c"])
        await org.board(revokePermission, { id: (await grant(`net:${name}.example`)).id });
      await grant("net:d.example", work);
      await grant("net:e.example");
      await org.board(closeOutcome, { id: work, rationale: "no" });
      const listed = async (stands?: boolean) =>
        (
          await org.board(listAgentGrants, {
            id: worker.id,
            limit: 2,
            ...(stands !== undefined && { stands }),
          })
        ).grants.map(({ resource, stands: inForce }) => [resource, inForce]);
      assert.deepEqual(await listed(true), [["net:e.example", true]]);
      assert.deepEqual(await listed(false), [
        ["net:a.example", false],
        ["net:b.example", false],
      ]);
      assert.deepEqual(await listed(), await listed(false));
      const all = await org.board(listAgentGrants, { id: worker.id, stands: false });
      assert.deepEqual(all.grants.at(-1)?.resource, "net:d.example");
    });

    // covers CAP-06
    test("a right for an outcome ends when the outcome closes, and returns when it reopens", async () => {
      const worker = await org.agent("Scoped");
      const work = await org.outcome("scoped work");
      const file = await org.board(createFile, { companyId: org.companyId, description: "x", content: "x" });
      await org.board(grantPermission, {
        companyId: org.companyId,
        to: worker.id,
        resource: `kb:${file.id}`,
        outcome: work,
      });
      await worker.call(readFile, { id: file.id });
      await org.board(closeOutcome, { id: work, rationale: "no" });
      await refusal(worker.call(readFile, { id: file.id }), "not_found");
      await org.board(reopenOutcome, { id: work, reason: "yes" });
      await worker.call(readFile, { id: file.id });
    });

    // covers BND-01, BND-06
    test("delegation gives write below the outcome to the report, keeps write on the outcome, and reclaiming returns it", async () => {
      const boss = await org.agent("Delegator");
      const report = await org.agent("Delegate", boss.id);
      const top = await boss.call(createOutcome, { title: "top", parents: [boss.id] });
      const below = await boss.call(createOutcome, { title: "below", parents: [top.id] });
      const file = await boss.call(createFile, { description: "spec", content: "s" });
      await boss.call(delegateOutcome, {
        id: top.id,
        to: "delegate",
        grants: [{ resource: `kb:${file.id}` }],
      });
      await report.call(readFile, { id: file.id });
      await refusal(boss.call(createOutcome, { title: "meddling", parents: [top.id] }), "forbidden");
      await refusal(boss.call(closeOutcome, { id: below.id, rationale: "mine" }), "forbidden");
      await refusal(report.call(closeOutcome, { id: top.id, rationale: "not mine" }), "forbidden");
      const child = await report.call(createOutcome, { title: "how", parents: [below.id] });
      assert.equal((await boss.call(viewOutcome, { id: child.id })).title, "how");
      await boss.call(reclaimOutcome, { id: top.id, reason: "late" });
      await refusal(report.call(createOutcome, { title: "still", parents: [below.id] }), "not_found");
      await refusal(report.call(readFile, { id: file.id }), "not_found");
      assert.equal((await boss.call(viewOutcome, { id: child.id })).responsible?.id, boss.id);
    });

    // covers CAP-08, BND-01
    test("explain_access says who drives an outcome, with or without other rights on it", async () => {
      const boss = await org.agent("Planner");
      const report = await org.agent("Doer", boss.id);
      const { id } = await boss.call(createOutcome, { title: "Plan", parents: [boss.id] });
      const resource = `outcome:${id}`;
      const about = (agent: string) => org.board(explainAccess, { agent, resource, level: "drive" });
      const yes = await about(boss.id);
      assert.deepEqual([yes.allowed, yes.level, yes.held], [true, "drive", "write"]);
      await boss.call(grantPermission, { to: report.id, resource, level: "write" });
      const no = await about(report.id);
      assert.deepEqual([no.allowed, no.held, no.fix], [false, "write", []]);
      assert.match(no.because, /^Doer is not responsible for the outcome "Plan"/);
      await boss.call(delegateOutcome, { id, to: report.id });
      const after = [await about(boss.id), await about(report.id)];
      assert.deepEqual(
        after.map(({ allowed }) => allowed),
        [false, true],
      );
      // Nothing but an outcome is driven, and an outcome has no other levels.
      const file = await boss.call(createFile, { description: "Notes", content: "" });
      const wrong = { agent: boss.id, resource: `kb:${file.id}`, level: "drive" as const };
      await refusal(org.board(explainAccess, wrong), "invalid");
      await refusal(org.board(explainAccess, { agent: boss.id, resource, level: "push" }), "invalid");
    });

    // covers CAP-08, CAP-09
    test("explain_access names the chain and a fix that works", async () => {
      const boss = await org.agent("Explainer");
      const report = await org.agent("Explained", boss.id);
      const file = await boss.call(createFile, { description: "x", content: "x" });
      await report.call(requestPermission, { resource: `kb:${file.id}`, reason: "work" });
      assert.equal((await boss.call(listPermissions, {})).requests.length, 1);
      const no = await boss.call(explainAccess, { agent: report.id, resource: `kb:${file.id}` });
      assert.equal(no.allowed, false);
      assert.equal(no.fix[0]?.by, boss.id);
      await boss.call(grantPermission, grantPermission.input.parse(no.fix[0]?.input));
      const yes = await org.board(explainAccess, { agent: report.id, resource: `kb:${file.id}` });
      assert.equal(yes.allowed, true);
      assert.equal(yes.chain.length, 2);
      assert.equal((await boss.call(listPermissions, {})).requests.length, 0);
      await org.board(terminateAgent, { id: boss.id });
      await refusal(report.call(readFile, { id: file.id }), "not_found");
    });
  });
