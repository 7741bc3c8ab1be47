import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { updateCompany } from "../contract/companies.ts";
import { createAgent } from "../contract/hiring.ts";
import { updateAgent, viewAgent } from "../contract/agents.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`the choice of a brain on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);

    test("an agent hires with the brains the company allows; the board with any", async () => {
      const job = await org.root(createOutcome, { title: "needs a brain", parents: [org.rootId] });
      const hire = (more: Record<string, unknown>) =>
        org.root(delegateOutcome, { id: job.id, hire: { name: "Brainy", role: "worker", ...more } });
      const shell = { command: "/bin/sh", args: ["-c", "id"] };
      await refusal(hire({ adapterType: "process", adapterConfig: shell }), "refused");
      await refusal(hire({ adapterType: "telepathy" }), "invalid");
      await refusal(hire({ adapterType: "rehearsal", adapterConfig: { command: "/bin/sh" } }), "invalid");
      await refusal(hire({ adapterConfig: { delayMs: "soon" } }), "invalid");
      // Leaving out the type does not help either, if the company's default brain runs commands.
      await org.board(updateCompany, {
        companyId: org.companyId,
        defaultAdapterType: "process",
        defaultAdapterConfig: { command: "true" },
      });
      await refusal(hire({ adapterConfig: shell }), "refused");
      await org.board(updateCompany, {
        companyId: org.companyId,
        defaultAdapterType: "rehearsal",
        defaultAdapterConfig: {},
      });
      await org.board(updateCompany, {
        companyId: org.companyId,
        allowedAdapterTypes: ["rehearsal", "human", "process"],
      });
      // A sandbox shows the files that a configuration names. So an agent can't name files that it is not shown itself.
      for (const adapterConfig of [
        { command: "/srv/keys/id" },
        { command: "/usr/../srv/keys/id" },
        { command: "cat", args: ["/srv/keys/id"] },
        { command: "cat", args: ["/usr/lib/../../srv/keys/id"] },
      ])
        await refusal(hire({ adapterType: "process", adapterConfig }), "refused");
      await hire({ adapterType: "process", adapterConfig: { command: "/bin/true" } });
      assert.equal((await org.board(viewAgent, { id: job.id })).adapterType, "process");
      await org.board(updateCompany, { companyId: org.companyId, allowedAdapterTypes: ["rehearsal"] });
      const byBoard = await org.board(createAgent, {
        companyId: org.companyId,
        name: "By the board",
        role: "x",
        adapterType: "process",
        adapterConfig: { command: "true" },
      });
      assert.equal(byBoard.adapterType, "process");
      for (const wrong of [
        { adapterType: "nothing" },
        { adapterType: "process", adapterConfig: {} },
        { adapterType: "process", adapterConfig: { command: "true", shell: true } },
        { adapterConfig: { unknown: 1 } },
      ])
        await refusal(org.board(updateAgent, { id: byBoard.id, ...wrong }), "invalid");
    });
  });
