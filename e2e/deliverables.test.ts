// An organization of three levels in which every result is a file, over MCP, on both stores. Every verifier, integrator,
// dependent and the board can open it, even after the authors have left. A sibling can't.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { createKey, terminateAgent, updateAgent } from "../src/contract/agents.ts";
import { viewCompany } from "../src/contract/companies.ts";
import { createGoal } from "../src/contract/goals.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { completeOutcome, viewOutcome } from "../src/contract/outcomes.ts";
import { testDatabase } from "../src/testing/postgres.ts";
import { bothStores } from "../src/testing/organization.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";

const Answer = z.object({
  result: z.object({ structuredContent: z.record(z.string(), z.unknown()), isError: z.boolean().optional() }),
});

/** Calls a tool. A refusal is returned as its code. */
async function tool(
  url: string,
  token: string,
  [server, name]: readonly [string, string],
  args: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown> & { refused?: string }> {
  const response = await fetch(`${url}/mcp/${server}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: args },
    }),
  });
  const text = await response.text();
  const line = text.startsWith("{") ? text : (/^data: ?(.*)$/m.exec(text)?.[1] ?? "{}");
  const { structuredContent, isError } = Answer.parse(JSON.parse(line)).result;
  if (isError !== true) return structuredContent;
  return { refused: z.object({ error: z.object({ code: z.string() }) }).parse(structuredContent).error.code };
}

class Member {
  readonly id: string;
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, id: string, token: string) {
    this.id = id;
    this.#url = url;
    this.#token = token;
  }

  async call(server: string, name: string, args: Readonly<Record<string, unknown>>) {
    const answer = await tool(this.#url, this.#token, [server, name], args);
    assert.equal(answer.refused, undefined, `${name} ${JSON.stringify(args)}`);
    return answer;
  }

  async writes(description: string): Promise<string> {
    return String(
      (await this.call("kb", "create_file", { description, content: `${description}, text` }))["id"],
    );
  }

  /** The content, or the code of the refusal. */
  async opens(id: string): Promise<string> {
    const answer = await tool(this.#url, this.#token, ["kb", "read_file"], { id });
    return answer.refused ?? `${String(answer["content"])}${answer["pinned"] === true ? " (pinned)" : ""}`;
  }
}

const Plan = z.object({ tasks: z.array(z.object({ id: z.string() })), integration: z.string() });

for (const kind of bothStores)
  describe(`deliverables through three levels on ${kind}`, () => {
    test("verifiers, integrators, owners of dependent work and the board can open every result, even after its author has left", async () => {
      const home = temporaryFolder("deliverables");
      const database = kind === "postgres" ? await testDatabase() : undefined;
      const daemon = await startDaemon({ home: home.path, databaseUrl: database?.url }).ready;
      try {
        await playThreeLevels(daemon);
        assert.equal(daemon.log(), "");
      } finally {
        await daemon.stop();
        await database?.drop();
        home.remove();
      }
    });
  });

async function playThreeLevels({ board, companyId, token, url }: BuiltDaemon): Promise<void> {
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  await board.call(updateAgent, { id: rootAgentId, adapterType: "human" });
  const root = new Member(url, rootAgentId, (await board.call(createKey, { id: rootAgentId })).key);
  const people = new Member(url, "board", token);
  const member = async (name: string, reportsTo: string): Promise<Member> => {
    const made = { companyId, name, role: "maker", reportsTo, adapterType: "human" };
    const { id } = await board.call(createAgent, made);
    return new Member(url, id, (await board.call(createKey, { id })).key);
  };
  const lead = await member("Lead", root.id);
  const other = await member("Other lead", root.id);
  const [ann, bob, sib] = [
    await member("Ann", lead.id),
    await member("Bob", lead.id),
    await member("Sib", lead.id),
  ];
  const divide = async (by: Member, outcome: string, tasks: readonly object[]) =>
    Plan.parse(await by.call("org", "plan_work", { outcome, tasks }));

  const goal = await board.call(createGoal, { companyId, title: "A book" });
  const top = await divide(root, goal.id, [
    { title: "Text", assignee: lead.id },
    { title: "Print", assignee: other.id, dependsOn: ["Text"] },
  ]);
  const [text = "", print = ""] = top.tasks.map(({ id }) => id);
  const low = await divide(lead, text, [
    { title: "Draft", assignee: ann.id },
    { title: "Check", assignee: bob.id, dependsOn: ["Draft"] },
    { title: "Cover", assignee: sib.id },
  ]);
  const [draft = "", check = "", cover = ""] = low.tasks.map(({ id }) => id);

  const file = await ann.writes("The draft");
  await ann.call("outcome", "submit_outcome", { id: draft, note: `See kb://${file}` });
  assert.equal(await lead.opens(file), "The draft, text (pinned)");
  assert.equal(await people.opens(file), "The draft, text");
  for (const one of [bob, sib, other, root]) assert.equal(await one.opens(file), "not_found");
  await lead.call("outcome", "complete_outcome", { id: draft });
  for (const one of [lead, bob, root]) assert.equal(await one.opens(file), "The draft, text (pinned)");
  for (const one of [sib, other]) assert.equal(await one.opens(file), "not_found");

  const checked = await bob.writes("The check");
  await bob.call("outcome", "submit_outcome", { id: check, files: [checked] });
  const painted = await sib.writes("The cover");
  await sib.call("outcome", "submit_outcome", { id: cover, files: [painted] });
  for (const id of [check, cover]) await lead.call("outcome", "complete_outcome", { id });
  const whole = await lead.writes("The text");
  const parts = [file, checked, painted];
  await lead.call("outcome", "complete_outcome", {
    id: low.integration,
    note: "Combined.",
    files: [whole, ...parts],
  });
  for (const id of [whole, ...parts]) assert.match(await root.opens(id), /\(pinned\)$/);
  // The next task waits for the integration of the divided one. It can start now, and its owner reads the results it builds on.
  for (const id of [whole, ...parts]) assert.match(await other.opens(id), /\(pinned\)$/);
  await root.call("outcome", "complete_outcome", { id: text });
  for (const one of [ann, bob, sib]) assert.equal(await one.opens(whole), "not_found");

  // The authors leave, and the work continues.
  for (const { id } of [ann, bob, lead])
    await board.call(terminateAgent, { id, reason: "The text is done." });
  for (const id of [whole, ...parts])
    for (const one of [root, other, people])
      assert.match(await one.opens(id), /^The (?:draft|check|cover|text), text/);
  for (const id of [whole, file, checked]) assert.equal(await sib.opens(id), "not_found");
  const printed = await other.writes("The print");
  await other.call("outcome", "submit_outcome", { id: print, files: [printed] });
  await root.call("outcome", "complete_outcome", { id: print });
  await root.call("outcome", "complete_outcome", {
    id: top.integration,
    note: "The book is done.",
    files: [whole, file, printed],
  });
  for (const one of [root, people]) assert.match(await one.opens(printed), /^The print, text/);
  const submitted = await board.call(viewOutcome, { id: goal.id });
  assert.equal(submitted.status, "submitted");
  assert.deepEqual(new Set(submitted.deliverables.map(({ id }) => id)), new Set([whole, file, printed]));
  assert.equal((await board.call(completeOutcome, { id: goal.id })).status, "completed");
  for (const { id, version } of submitted.deliverables) {
    assert.equal((await people.call("kb", "read_file", { id }))["version"], version);
    assert.match(await root.opens(id), /^The (?:draft|print|text), text/);
    assert.equal(await sib.opens(id), "not_found");
  }
}
