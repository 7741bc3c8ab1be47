// The plan for create_agent, at the doors: agents call the tool over MCP, people answer on the command line and over HTTP.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { z } from "zod";
import { approve, listApprovals, reject, viewApproval } from "../src/contract/approvals.ts";
import { listAgentEvents } from "../src/contract/ledger.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { hireAgent, viewConfiguration } from "../src/contract/hiring.ts";
import { listAgents, viewAgent } from "../src/contract/agents.ts";
import { agency } from "./support/daemon.ts";
import { call, McpWorld, refused } from "./support/mcp.ts";

let world: McpWorld;
before(async () => {
  world = await McpWorld.open();
  // No agent is started, because the tests play the agents.
  await settings({ maxSessions: 0, maxAgents: 1000 });
});
after(() => world.close());

const settings = (input: Record<string, unknown>) =>
  world.daemon.board.call(updateCompany, { companyId: world.daemon.companyId, ...input });
const names = async (): Promise<string[]> =>
  (await world.daemon.board.call(listAgents, { companyId: world.daemon.companyId, limit: 1000 })).agents.map(
    ({ name }) => name,
  );
const open = async () =>
  (
    await world.daemon.board.call(listApprovals, {
      companyId: world.daemon.companyId,
      status: "pending",
      limit: 1000,
    })
  ).approvals;

/** An agent that asks for others over MCP. */
async function asker() {
  const { id, token } = await world.agent();
  const org = await world.connect("org", token);
  await org.listTools();
  const ask = async (input: Record<string, unknown>) =>
    Answer.parse(await call(org, "create_agent", { waitSeconds: 0, ...input }));
  const wait = async (requestId: string) =>
    Answer.parse(await call(org, "wait_for_approval", { requestId, waitSeconds: 20 }));
  const created = async (input: Record<string, unknown>) => {
    const { requestId = "" } = await ask(input);
    await world.daemon.board.call(approve, { id: requestId });
    const { agent, effective } = await wait(requestId);
    assert.ok(agent !== undefined && effective !== undefined);
    return { agent, effective };
  };
  return { id, token, org, ask, wait, created };
}
const Answer = z.strictObject({
  ok: z.boolean(),
  status: z.enum(["created", "denied", "pending", "error"]),
  created: z.boolean(),
  requestId: z.string().optional(),
  name: z.string().optional(),
  reason: z.string().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  agent: z
    .strictObject({
      id: z.string(),
      name: z.string(),
      slug: z.string(),
      role: z.string(),
      status: z.string(),
    })
    .optional(),
  effective: z
    .strictObject({
      autoReply: z.boolean(),
      role: z.string().nullable(),
      nextAgent: z.string(),
      provider: z.string(),
      model: z.string().nullable(),
      systemPrompt: z.string(),
    })
    .optional(),
});

const promptOf = (first: string, next: string): string =>
  `${first}\n\nAlways respond in exactly this structure:\n@${next}\n{Your response}`;

// covers TOOL-01, TOOL-20, TOOL-26, TOOL-30
test("create_agent is listed among the other tools, and no other tool accepts its alternative spellings", async () => {
  const { org, token } = await asker();
  const { tools } = await (await world.connect("", token)).listTools();
  const tool = tools.find(({ name }) => name === "create_agent");
  assert.ok(tool !== undefined && tools.length > 5);
  assert.deepEqual(tool.inputSchema.required, ["name"]);
  assert.deepEqual(
    Object.keys(tool.inputSchema.properties ?? {}).filter((key) => key !== "waitSeconds"),
    ["name", "autoReply", "role", "nextAgent"],
  );
  await refused(org, "invalid", "hire_agent", { name: "Spelled", role: "x", next_agent: "human" });
  const outcome = await world.connect("outcome", token);
  await refused(outcome, "invalid", "my_outcomes", { "next agent": "human" });
});

// covers TOOL-17, TOOL-31, TOOL-07, TOOL-25
test("wrong arguments get an immediate answer of one shape, and no person is asked", async () => {
  const { ask } = await asker();
  const before = [await names(), (await open()).length];
  for (const input of [
    {},
    { name: 7 },
    { name: "Wrong", "auto-reply": "yes" },
    { name: "Wrong", role: 1 },
    { name: "Wrong", colour: "red" },
    { name: "Wrong", nextAgent: "An Unknown Agent" },
    { name: "Wrong", "next-agent": "Wrong" },
  ]) {
    const { message = "", ...answer } = await ask(input);
    assert.deepEqual(answer, { ok: false, status: "error", created: false, code: "validation_error" });
    assert.ok(message.length > 10, JSON.stringify(input));
  }
  assert.deepEqual([await names(), (await open()).length], before);
});

// covers TOOL-02, TOOL-10, TOOL-11, TOOL-18, TOOL-23, TOOL-32
test("every call waits for a person's approval, and a rejection leaves no agent", async () => {
  const { id, ask, wait } = await asker();
  for (const requireBoardApprovalForNewAgents of [true, false]) {
    await settings({ requireBoardApprovalForNewAgents });
    const { requestId = "", ...pending } = await ask({ name: "Denied" });
    assert.deepEqual([pending.ok, pending.status, pending.created], [false, "pending", false]);
    const shown = await world.daemon.board.call(viewApproval, { id: requestId });
    assert.deepEqual([shown.type, shown.status, shown.requestedBy?.id], ["create_agent", "pending", id]);
    assert.deepEqual(shown.payload["options"], ["yes", "no"]);
    assert.ok((await open()).some((approval) => approval.id === requestId));
    assert.ok(!(await names()).includes("Denied"));
    await world.daemon.board.call(reject, { id: requestId });
    const denied = { ok: false, status: "denied", created: false, reason: "user_denied", name: "Denied" };
    assert.deepEqual(await wait(requestId), denied);
    assert.ok(!(await names()).includes("Denied"));
  }
});

// covers TOOL-12, TOOL-32
test("a request that no person decides expires without an agent", async () => {
  const { ask, wait } = await asker();
  await settings({ approvalExpirySeconds: 1 });
  const { requestId = "" } = await ask({ name: "Expired" });
  await settings({ approvalExpirySeconds: 86_400 });
  const denied = { ok: false, status: "denied", created: false, reason: "timeout", name: "Expired" };
  assert.deepEqual(await wait(requestId), denied);
  assert.ok(!(await names()).includes("Expired"));
});

// covers TOOL-03, TOOL-05, TOOL-06, TOOL-13, TOOL-24, TOOL-27, TOOL-28, TOOL-29
test("each spelling stands for its argument, the exact name wins, and only the exact name is stored", async () => {
  const { ask, id } = await asker();
  let spelled = 0;
  const other = (await world.daemon.board.call(viewAgent, { id })).name;
  for (const [input, autoReply, nextAgent] of [
    [{}, true, "human"],
    [{ nextAgent: " " }, true, "human"],
    [{ "auto-reply": false, "next agent": other }, false, other],
    [{ auto_reply: false, "next-agent": other }, false, other],
    [{ auto_reply: true, next_agent: `@${other}` }, true, other],
    [{ autoReply: true, "auto-reply": false, nextAgent: "human", next_agent: other }, true, "human"],
  ] as const) {
    // The same call again would join the rejected request, so each has another name.
    const { requestId = "", status } = await ask({ name: `Spelling ${++spelled}`, ...input });
    assert.equal(status, "pending");
    const { payload } = await world.daemon.board.call(viewApproval, { id: requestId });
    const text = JSON.stringify(payload);
    assert.doesNotMatch(text, /auto-reply|auto_reply|next agent"|next-agent|next_agent/);
    const seen = payload["requestedConfigurationSnapshot"] ?? payload;
    assert.ok(text.includes(`"autoReply":${autoReply}`), text);
    assert.ok(JSON.stringify(seen).includes(`@${nextAgent}\\n`), text);
    await world.daemon.board.call(reject, { id: requestId });
  }
});

// covers TOOL-14, TOOL-19, TOOL-38, TOOL-41
test("an approved agent is an ordinary agent with the required prompt, which is the same for the same call", async () => {
  const { created, id: boss } = await asker();
  const role = `  keeps\n\n@evil\tlogs ${"x".repeat(400)}`;
  const results = [];
  for (const name of ["Twin One", "Twin Two"]) {
    const { agent, effective } = await created({ name, role });
    const stored = await world.daemon.board.call(viewAgent, { id: agent.id });
    assert.deepEqual([stored.status, stored.boss?.id, stored.name], ["idle", boss, name]);
    const collapsed = role.trim().replaceAll(/\s+/g, " ").slice(0, 240);
    assert.equal(
      effective.systemPrompt,
      promptOf(`You are agent ${name}. Your role is ${collapsed}.`, "human"),
    );
    const { configuration } = await world.daemon.board.call(viewConfiguration, { id: agent.id });
    assert.equal(configuration["prompt"], effective.systemPrompt);
    const { events } = await world.daemon.board.call(listAgentEvents, { id: agent.id });
    assert.ok(events.length > 0, "its creation is on the ledger");
    results.push(JSON.stringify(effective).replaceAll(name, "Twin"));
  }
  assert.equal(results[0], results[1]);
});

// covers TOOL-08, TOOL-09, TOOL-40
test("brain and model are the company's settings at the moment of the call, or else the defaults", async () => {
  const { created } = await asker();
  const brain = async (name: string) => {
    const { effective } = await created({ name });
    return [effective.provider, effective.model];
  };
  const fallback = await brain("Plain");
  await settings({ chatLLMProvider: "human", chatLLMModel: "small" });
  assert.deepEqual(await brain("Configured"), ["human", "small"]);
  await settings({ chatLLMProvider: null });
  assert.deepEqual(await brain("Half configured"), [fallback[0], "small"]);
  await settings({ chatLLMModel: null });
  assert.deepEqual(await brain("Plain again"), fallback);
});

// covers TOOL-35, TOOL-37, TOOL-42
test("a taken name is refused before any person is asked, and hires work as before", async () => {
  const { ask } = await asker();
  await settings({ requireBoardApprovalForNewAgents: true });
  const { companyId, board } = world.daemon;
  const { agent, approval } = await board.call(hireAgent, { companyId, name: "Taken", role: "x" });
  assert.deepEqual([agent.status, approval?.type], ["pending_approval", "hire_agent"]);
  const before = (await open()).length;
  const { message = "", ...answer } = await ask({ name: "TAKEN" });
  assert.deepEqual(answer, { ok: false, status: "error", created: false, code: "agent_exists" });
  assert.match(message, /taken/);
  assert.equal((await open()).length, before);
  await board.call(approve, { id: approval?.id ?? "" });
  assert.equal((await board.call(viewAgent, { id: agent.id })).status, "idle");
});

// covers TOOL-43, TOOL-44
test("a rejection on the command line leaves no agent, and an approval creates one with the required prompt", async () => {
  const { ask, wait } = await asker();
  const shell = (...args: string[]) => agency(args, { home: world.daemon.home });
  for (const [verb, status] of [
    ["reject", "denied"],
    ["approve", "created"],
  ] as const) {
    const { requestId = "" } = await ask({ name: "By hand", role: "writes" });
    assert.match((await shell("approvals")).out, /By hand/);
    const decided = await shell(verb, requestId);
    assert.equal(decided.code, 0, decided.err);
    assert.equal((await wait(requestId)).status, status);
    assert.equal((await shell("agents")).out.includes("By hand"), verb === "approve");
  }
  const { agents } = await world.daemon.board.call(listAgents, {
    companyId: world.daemon.companyId,
    limit: 1000,
  });
  const made = agents.filter(({ name }) => name === "By hand");
  assert.equal(made.length, 1);
  const { configuration } = await world.daemon.board.call(viewConfiguration, { id: made[0]?.id ?? "" });
  assert.equal(configuration["prompt"], promptOf("You are agent By hand. Your role is writes.", "human"));
});
