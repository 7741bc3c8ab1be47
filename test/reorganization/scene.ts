import { hireAgent, createAgent } from "../../src/contract/hiring.ts";
import { grantPermission, requestPermission } from "../../src/contract/capabilities.ts";
import { createFile } from "../../src/contract/knowledge.ts";
import { sendDeferredMessage, sendMessage } from "../../src/contract/mail.ts";
import { updateCompany } from "../../src/contract/companies.ts";
import { putMcpServer } from "../../src/contract/servers.ts";
import { createKey } from "../../src/contract/agents.ts";
import { completeOutcome, createOutcome, submitOutcome } from "../../src/contract/outcomes.ts";
import { delegateOutcome } from "../../src/contract/delegation.ts";
import type { TestCaller, Organization } from "../../src/testing/organization.ts";

/**
 * An organization with an example of everything that can move:
 *
 *   root ─┬─ lead ─┬─ ann ── deep
 *         │        ├─ bob
 *         │        └─ waits (pending)
 *         ├─ other ── olga
 *         └─ made (for an outcome)
 */
export type Scene = Awaited<ReturnType<typeof buildScene>>;

let scenes = 0;

export async function buildScene(org: Organization) {
  const { companyId, rootId } = org;
  const n = ++scenes;
  const member = async (
    name: string,
    boss: string,
  ): Promise<{ id: string; name: string; call: TestCaller }> => {
    const full = `${name} ${n}`;
    // Ann's budget is part of lead's.
    const budget = { lead: { usd: 2 }, ann: { usd: 2 } }[name] ?? {};
    const { id } = await org.board(createAgent, {
      companyId,
      name: full,
      role: "worker",
      reportsTo: boss,
      budget,
    });
    return { id, name: full, call: org.as((await org.board(createKey, { id })).key) };
  };
  const lead = await member("lead", rootId);
  const other = await member("other", rootId);
  const ann = await member("ann", lead.id);
  const bob = await member("bob", lead.id);
  const deep = await member("deep", ann.id);
  const olga = await member("olga", other.id);

  const make = async (call: TestCaller, title: string, parents: string[], dependsOn: string[] = []) =>
    (await call(createOutcome, { title: `${title} ${n}`, parents, dependsOn })).id;
  // Lead has root's goal, and ann has a part of it. Ann has submitted one outcome and works on another.
  const goal = await make(org.root, "goal", [rootId]);
  await org.root(delegateOutcome, { id: goal, to: lead.id });
  const part = await make(lead.call, "part", [goal]);
  const submitted = await make(lead.call, "submitted", [goal]);
  const direct = await make(lead.call, "direct", [lead.id]);
  const own = await make(lead.call, "own", [lead.id]);
  const below = await make(lead.call, "below own", [own]);
  await lead.call(completeOutcome, { id: await make(lead.call, "done below own", [own]) });
  await lead.call(delegateOutcome, { id: part, to: ann.id });
  await lead.call(delegateOutcome, { id: submitted, to: ann.id });
  await lead.call(delegateOutcome, { id: direct, to: bob.id });
  await ann.call(submitOutcome, { id: submitted });
  const annOwn = await make(ann.call, "of ann", [part]);
  const deepWork = await make(ann.call, "for deep", [part]);
  await ann.call(delegateOutcome, { id: deepWork, to: deep.id });

  // Rights: a file of root is passed down to deep, and a file of lead to ann. Lead shows bob an outcome by its position.
  const shared = (await org.root(createFile, { description: `shared ${n}`, content: "x" })).id;
  const ours = (await lead.call(createFile, { description: `ours ${n}`, content: "x" })).id;
  const give = (
    call: TestCaller,
    to: string,
    resource: string,
    more: { level?: "read" | "write"; outcome?: string } = {},
  ) => call(grantPermission, { to, resource, ...more });
  await give(org.root, lead.id, `kb:${shared}`, { level: "write" });
  await give(lead.call, ann.id, `kb:${shared}`, { level: "write" });
  await give(ann.call, deep.id, `kb:${shared}`);
  await give(lead.call, ann.id, `kb:${ours}`, { level: "write" });
  await give(lead.call, bob.id, `kb:${shared}`, { outcome: direct });
  await give(lead.call, bob.id, `outcome:${own}`);
  await org.board(putMcpServer, { companyId, name: "files", config: { command: "files-mcp" } });
  await org.board(grantPermission, { companyId, to: ann.id, resource: "mcp:files" });
  await bob.call(requestPermission, { resource: "org:hire", reason: "to grow" });

  // Unread mail and deferred mail.
  await org.board(sendMessage, { companyId, to: lead.id, body: "read me" });
  await ann.call(sendMessage, { to: lead.id, body: "a question" });
  const later = new Date(Date.now() + 3_600_000).toISOString();
  await lead.call(sendDeferredMessage, { to: "self", body: "remember", deliverAt: later });
  await lead.call(sendDeferredMessage, { to: ann.id, body: "later", deliverAt: later });

  // One outcome depends on lead's mandate, and lead has requested a hire.
  const waiter = await make(org.root, "waiter", [rootId], [lead.id]);
  await org.board(grantPermission, { companyId, to: lead.id, resource: "org:hire" });
  await org.board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
  const { agent: waits } = await lead.call(hireAgent, { name: `waits ${n}`, role: "worker" });
  await org.board(updateCompany, { companyId, requireBoardApprovalForNewAgents: false });

  // One agent was hired for an outcome that another outcome depends on.
  const job = await make(org.root, "job", [rootId]);
  const hire = { name: `made ${n}`, role: "worker" };
  const made = { id: job, name: hire.name };
  await org.root(delegateOutcome, { id: job, hire });
  await make(org.root, "after the job", [rootId], [job]);

  const outcomes = { goal, part, submitted, direct, own, below, annOwn, deepWork, waiter };
  return { n, lead, other, ann, bob, deep, olga, made, waits, outcomes, files: { shared, ours } };
}
