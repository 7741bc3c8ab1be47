import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { approve, requestRevision, resubmit } from "../contract/approvals.ts";
import {
  explainAccess,
  grantPermission,
  listAgentGrants,
  requestPermission,
} from "../contract/capabilities.ts";
import { listCompanies } from "../contract/companies.ts";
import { putMcpServer, removeMcpServer } from "../contract/servers.ts";
import { createAgent, hireAgent } from "../contract/hiring.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { importCompany } from "../contract/roster.ts";
import { definition, manifest } from "../testing/company-files.ts";
import { storeKinds, refusal, sharedOrganization } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`grants of MCP servers that the company does not have, on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind, { approvals: true });
    const { companyId } = org;
    const lead = await org.agent("Lead");
    const ann = await org.agent("Ann", lead.id);
    await org.board(grantPermission, { companyId, to: lead.id, resource: "org:hire" });
    const config = { command: "some-mcp" };
    let names = 0;
    const hire = (resource: string) => ({
      name: `Hand ${++names}`,
      role: "Hand",
      grants: [{ resource }],
    });

    test("no such server can be granted in any way, and each refusal names the existing servers", async () => {
      const [one, two] = [await work("one"), await work("two")];
      const ways = {
        "the board": () => org.board(grantPermission, { companyId, to: ann.id, resource: "mcp:chta" }),
        "a manager": () => lead.call(grantPermission, { to: ann.id, resource: "mcp:chta" }),
        "a request": () => ann.call(requestPermission, { resource: "mcp:chta", reason: "work" }),
        "a hire": () => lead.call(hireAgent, hire("mcp:chta")),
        "a hire by the board": () => org.board(hireAgent, { companyId, ...hire("mcp:chta") }),
        "an agent made by the board": () => org.board(createAgent, { companyId, ...hire("mcp:chta") }),
        "a delegation": () =>
          lead.call(delegateOutcome, { id: one, to: ann.id, grants: [{ resource: "mcp:chta" }] }),
        "a delegation to a hire": () => {
          const { grants, ...input } = hire("mcp:chta");
          return lead.call(delegateOutcome, { id: two, hire: input, grants });
        },
      };
      for (const [way, call] of Object.entries(ways)) {
        const { message, hint } = await refusal(call(), "refused");
        assert.equal(message, 'The company has no MCP server called "chta". It has none yet.', way);
        assert.match(hint, /agency servers add/);
      }
      for (const name of ["wiki", "chat"]) await org.board(putMcpServer, { companyId, name, config });
      for (const [way, call] of Object.entries(ways)) {
        const { message } = await refusal(call(), "refused");
        assert.equal(
          message,
          'The company has no MCP server called "chta". Its MCP servers: chat, wiki.',
          way,
        );
      }
      // Names are compared with their case.
      await refusal(org.board(grantPermission, { companyId, to: ann.id, resource: "mcp:Chat" }), "refused");
      assert.deepEqual((await org.board(listAgentGrants, { id: ann.id })).grants, []);
      const { allowed, fix } = await org.board(explainAccess, { agent: ann.id, resource: "mcp:chta" });
      assert.deepEqual([allowed, fix], [false, []]);
    });

    test("a server that was removed can't come with an approval or a revision either", async () => {
      await org.board(putMcpServer, { companyId, name: "temp", config });
      await org.board(grantPermission, { companyId, to: lead.id, resource: "mcp:temp" });
      const { approval, agent } = await lead.call(hireAgent, hire("mcp:temp"));
      const id = approval?.id ?? "";
      await org.board(removeMcpServer, { companyId, name: "temp" });
      const { message } = await refusal(org.board(approve, { id }), "conflict");
      assert.match(message, /The company has no MCP server called "temp"/);
      await org.board(requestRevision, { id, decisionNote: "without it" });
      await refusal(lead.call(resubmit, { id, payload: { title: "Hand" } }), "refused");
      await lead.call(resubmit, { id, payload: { grants: [] } });
      await org.board(approve, { id });
      assert.deepEqual((await org.board(listAgentGrants, { id: agent.id })).grants, []);
      const held = (await org.board(listAgentGrants, { id: lead.id })).grants;
      assert.deepEqual(
        held.filter(({ resource }) => resource === "mcp:temp").map(({ stands }) => stands),
        [false],
      );
    });

    test("such a server can't come with the files of a company, and a tool of Claude Code is left out with a notice", async () => {
      const wants = definition("Ada", "grants: [{resource: mcp:wiki}]\n");
      const server = { name: "docs", config: { type: "http" as const, url: "https://docs.example/mcp" } };
      const files = [manifest({ mcpServers: [server] })];
      const before = (await org.board(listCompanies, { limit: 1000 })).companies.length;
      const { message } = await refusal(
        org.board(importCompany, { name: "Wiki", files: [...files, wants] }),
        "refused",
      );
      assert.equal(
        message,
        'agents/ada.md: The company has no MCP server called "wiki". Its MCP servers: docs.',
      );
      assert.equal((await org.board(listCompanies, { limit: 1000 })).companies.length, before);
      const claude = {
        path: "agents/bea.md",
        content: "---\nname: Bea\ntools: mcp__wiki__read, mcp__docs__read\n---\n\nReads.\n",
      };
      const made = await org.board(importCompany, { name: "Wiki", files: [...files, claude] });
      assert.match(
        made.notices.join("\n"),
        /The tools of Bea name the MCP server wiki, which the company does not/,
      );
      assert.doesNotMatch(made.notices.join("\n"), /server docs/);
    });

    async function work(title: string): Promise<string> {
      return (await lead.call(createOutcome, { title, parents: [lead.id] })).id;
    }
  });
