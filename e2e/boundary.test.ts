// The boundary between a boss and its delegated work, as an agent meets it: over MCP, on the built daemon. Every refusal gives
// a reason and a next step, changes nothing, and is recorded.
import { allowed } from "../src/testing/allowed.ts";
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { grantPermission } from "../src/contract/capabilities.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { createKey, pauseAgent, resumeAgent, updateAgent, viewAgent } from "../src/contract/agents.ts";
import { reclaimOutcome } from "../src/contract/delegation.ts";
import { listAgentSessions, viewTranscript } from "../src/contract/sessions.ts";
import { sayToken, tokenIn } from "./support/agents.ts";
import { call, McpWorld, refused, rpc, rpcHeaders, send } from "./support/mcp.ts";

type Tools = (
  server: string,
  tool: string,
  input: Record<string, unknown>,
) => Promise<Record<string, unknown>>;
interface Agent {
  readonly id: string;
  readonly token: string;
  readonly ask: Tools;
  readonly refused: (
    code: string,
    server: string,
    tool: string,
    input: Record<string, unknown>,
  ) => ReturnType<typeof refused>;
}

let world: McpWorld;
before(async () => {
  world = await McpWorld.open();
  // No agent is started unless a test asks for it.
  await world.daemon.board.call(updateCompany, {
    companyId: world.daemon.companyId,
    maxSessions: 0,
    requireBoardApprovalForNewAgents: false,
  });
});
after(() => world.close());

async function agentOf(id: string): Promise<Agent> {
  const { key: token } = await world.daemon.board.call(createKey, { id });
  const clients = new Map<string, ReturnType<McpWorld["connect"]>>();
  const at = (server: string): ReturnType<McpWorld["connect"]> => {
    const client = clients.get(server) ?? world.connect(server, token);
    clients.set(server, client);
    return client;
  };
  return {
    id,
    token,
    ask: async (server, tool, input) => call(await at(server), tool, input),
    refused: async (code, server, tool, input) => refused(await at(server), code, tool, input),
  };
}
let made = 0;
async function hire(
  reportsTo?: string,
  more: { adapterType?: string; adapterConfig?: Record<string, unknown> } = {},
) {
  const { board, companyId } = world.daemon;
  const name = `Member ${++made}`;
  const boss = reportsTo === undefined ? {} : { reportsTo };
  return agentOf((await board.call(createAgent, { companyId, name, role: "worker", ...boss, ...more })).id);
}
/** Boss ← lead ← hand, and a sibling of the lead. The boss has delegated an outcome with a part below it to the lead. */
async function team() {
  const boss = await hire();
  const lead = await hire(boss.id);
  const sibling = await hire(boss.id);
  const hand = await hire(lead.id);
  const top = String(
    (await boss.ask("outcome", "create_outcome", { title: "top", parents: [boss.id] }))["id"],
  );
  const part = String((await boss.ask("outcome", "create_outcome", { title: "part", parents: [top] }))["id"]);
  await boss.ask("outcome", "delegate_outcome", { id: top, to: lead.id });
  return { boss, lead, sibling, hand, top, part };
}
const lastSeq = async (): Promise<number> => {
  const { board, companyId } = world.daemon;
  let last = 0;
  for (;;) {
    const { events } = await board.call(listEvents, { companyId, after: last, limit: 1000 });
    last = events.at(-1)?.seq ?? last;
    if (events.length < 1000) return last;
  }
};
/** Reads the events since then. Returns the codes of the refusals, and fails on any other event. */
async function onlyRefusals(since: number): Promise<unknown[]> {
  const { board, companyId } = world.daemon;
  const { events } = await board.call(listEvents, { companyId, after: since, limit: 1000 });
  assert.deepEqual(
    events.filter(({ operation }) => operation !== "access.refused").map(({ operation }) => operation),
    [],
  );
  return events.map(({ data }) => data["code"]);
}

// covers BND-02, CAP-16, NOTE-03
test("no agent reaches beyond its own level through mail, rights, work or stops", async () => {
  const { boss, lead, sibling, hand, top } = await team();
  const file = await boss.ask("kb", "create_file", { description: "held", content: "x" });
  const job = String(
    (await boss.ask("outcome", "create_outcome", { title: "job", parents: [boss.id] }))["id"],
  );
  const below = String(
    (await lead.ask("outcome", "create_outcome", { title: "below", parents: [top] }))["id"],
  );
  await lead.ask("outcome", "delegate_outcome", { id: below, to: hand.id });
  const since = await lastSeq();
  await boss.refused("forbidden", "mail", "send_message", { to: hand.id, body: "skip-level" });
  await hand.refused("forbidden", "mail", "send_message", { to: boss.id, body: "over my boss" });
  await lead.refused("forbidden", "mail", "send_message", { to: sibling.id, body: "sibling" });
  await lead.refused("forbidden", "mail", "send_message", { to: "board", body: "to the top" });
  await boss.refused("refused", "permissions", "grant_permission", {
    to: hand.id,
    resource: `kb:${String(file["id"])}`,
  });
  await boss.refused("refused", "outcome", "delegate_outcome", { id: job, to: hand.id });
  await boss.refused("forbidden", "outcome", "reclaim_outcome", { id: below, reason: "skip-level" });
  await boss.refused("forbidden", "org", "pause_agent", { id: hand.id });
  await boss.refused("forbidden", "permissions", "explain_access", {
    resource: `kb:${String(file["id"])}`,
    agent: hand.id,
  });
  await sibling.refused("not_found", "outcome", "view_outcome", { id: top });
  assert.equal((await onlyRefusals(since)).length, 10);
});

// covers BND-01, BND-03, BND-04, DEL-06, DEL-09
test("a manager reads work it delegated and writes to its owner, but changes nothing below it", async () => {
  const { boss, lead, top, part } = await team();
  const since = await lastSeq();
  for (const [tool, input] of [
    ["create_outcome", { title: "meddling", parents: [top] }],
    ["create_outcome", { title: "meddling", parents: [part] }],
    ["update_outcome", { id: part, title: "mine" }],
    ["update_outcome", { id: part, blocked: { reason: "stop" } }],
    ["close_outcome", { id: part, rationale: "no" }],
    ["complete_outcome", { id: part }],
    ["submit_outcome", { id: part }],
    ["delegate_outcome", { id: part, to: lead.id }],
  ] as const)
    await boss.refused("forbidden", "outcome", tool, { ...input });
  // The owner can't change the delegated outcome either.
  for (const [tool, input] of [
    ["update_outcome", { id: top, title: "easier" }],
    ["update_outcome", { id: top, acceptance: "anything" }],
    ["complete_outcome", { id: top }],
    ["close_outcome", { id: top, rationale: "enough" }],
    ["reclaim_outcome", { id: top, reason: "mine" }],
  ] as const)
    await lead.refused("forbidden", "outcome", tool, { ...input });
  const codes = await onlyRefusals(since);
  assert.equal(codes.length, 13);
  assert.equal((await boss.ask("outcome", "view_outcome", { id: part }))["status"], "open");
  await boss.ask("mail", "send_message", { to: lead.id, body: "how is it going?" });
});

// covers CAP-07, CAP-24
test("an agent can't grant a right that it doesn't hold, or more of a right than it holds", async () => {
  const { boss, lead, hand, top } = await team();
  const { board, companyId } = world.daemon;
  const file = String((await boss.ask("kb", "create_file", { description: "lent", content: "x" }))["id"]);
  const other = String(
    (await boss.ask("kb", "create_file", { description: "not lent", content: "x" }))["id"],
  );
  await boss.ask("permissions", "grant_permission", {
    to: lead.id,
    resource: `kb:${file}`,
    level: "read",
    outcome: top,
  });
  const elsewhere = String(
    (await lead.ask("outcome", "create_outcome", { title: "elsewhere", parents: [lead.id] }))["id"],
  );
  const since = await lastSeq();
  const grant = (input: Record<string, unknown>, code = "refused") =>
    lead.refused(code, "permissions", "grant_permission", { to: hand.id, ...input });
  await grant({ resource: `kb:${other}` }, "not_found");
  await grant({ resource: `kb:${file}`, level: "write", outcome: top });
  // The agent holds the right only for the outcome that was delegated to it.
  await grant({ resource: `kb:${file}`, outcome: elsewhere });
  await grant({ resource: `kb:${file}` });
  await grant({ resource: "org:hire" });
  await grant({ resource: "mcp:mail" });
  await grant({ resource: `mail:${boss.id}` });
  await grant({ resource: `kb:${file}`, level: "use" }, "invalid");
  await lead.refused("refused", "permissions", "grant_permission", {
    to: boss.id,
    resource: `kb:${file}`,
    outcome: top,
  });
  assert.ok((await onlyRefusals(since)).length >= 8);
  await lead.ask("permissions", "grant_permission", { to: hand.id, resource: `kb:${file}`, outcome: top });
  await hand.ask("kb", "read_file", { id: file });
  await hand.refused("forbidden", "kb", "write_file", {
    id: file,
    content: "y",
    version: 1,
    hash: String((await hand.ask("kb", "read_file", { id: file }))["hash"]),
  });
  await board.call(grantPermission, { companyId, to: lead.id, resource: "org:hire" });
  await lead.ask("permissions", "grant_permission", { to: hand.id, resource: "org:hire" });
});

const status = async (token: string, server = "outcome", tool = "my_outcomes"): Promise<number> =>
  (
    await send(`${world.daemon.url}/mcp/${server}`, {
      headers: rpcHeaders(token),
      body: rpc("tools/call", { name: tool, arguments: {} }),
    })
  ).status;

// covers STOP-05, BND-07
test("the token of an older generation is refused", async () => {
  const { board, companyId } = world.daemon;
  const boss = await hire();
  await board.call(grantPermission, { companyId, to: boss.id, resource: "org:hire" });
  const job = String(
    (await boss.ask("outcome", "create_outcome", { title: "job", parents: [boss.id] }))["id"],
  );
  const name = `Generation ${++made}`;
  await boss.ask("outcome", "delegate_outcome", { id: job, hire: { name, role: "worker" } });
  const first = await agentOf(job);
  assert.equal(await status(first.token), 200);
  await boss.ask("outcome", "reclaim_outcome", { id: job, reason: "start over" });
  assert.equal(await status(first.token), 401);
  const again = await boss.ask("outcome", "delegate_outcome", { id: job, hire: { name, role: "worker" } });
  const second = await agentOf(String(Object(again["responsible"])["id"]));
  assert.notEqual(second.id, job);
  for (const [server, tool] of [
    ["kb", "list_files"],
    ["mail", "read_inbox"],
    ["permissions", "list_permissions"],
    ["audit", "read_audit_log"],
    ["org", "list_roster"],
  ] as const)
    assert.equal(await status(first.token, server, tool), 401, tool);
  assert.equal(await status(second.token), 200);
  await boss.refused("forbidden", "mail", "send_message", { to: job, body: "to the first" });
  await second.ask("outcome", "create_outcome", { title: "anew", parents: [job] });
  await board.call(reclaimOutcome, { id: job, reason: "the test is over" });
});

// covers STOP-01, AGT-09, SES-01
test("tokens of ended sessions and of older epochs are refused; the newest session acts as the agent", async () => {
  const { board, companyId } = world.daemon;
  const adapterConfig = { command: "/bin/sh", args: ["-c", `${sayToken}; exec sleep 1000`] };
  const agent = await hire(undefined, { adapterType: "process", adapterConfig });
  /** The token of this session, which its process printed. */
  const tokenOf = async (isAwaited: (epoch: number) => boolean): Promise<{ id: string; token: string }> => {
    for (const started = performance.now(); performance.now() - started < allowed(90_000); await sleep(20)) {
      const [session] = (await board.call(listAgentSessions, { id: agent.id })).sessions;
      if (session === undefined || !isAwaited(session.epoch)) continue;
      const token = tokenIn((await board.call(viewTranscript, { id: session.id })).transcript);
      if (token !== undefined) return { id: session.id, token };
    }
    throw new Error("the awaited session did not come");
  };
  await board.call(sendMessage, { companyId, to: agent.id, body: "begin" });
  await board.call(updateCompany, { companyId, maxSessions: 1 });
  const first = await tokenOf((epoch) => epoch === 1);
  assert.equal(await status(first.token), 200);
  await board.call(pauseAgent, { id: agent.id });
  // A paused agent is recognized, but may do nothing.
  assert.equal(await status(first.token), 403);
  await board.call(resumeAgent, { id: agent.id });
  assert.equal(await status(first.token), 401);
  // Pausing starts another epoch, which ends every earlier session at once.
  const second = await tokenOf((epoch) => epoch === 3);
  assert.notEqual(second.token, first.token);
  assert.equal(await status(second.token), 200);
  assert.equal(await status(first.token), 401);
  // This brain ends by itself, and its token ends with it. Changing the brain ends the running session.
  await board.call(updateAgent, {
    id: agent.id,
    adapterConfig: { command: "/bin/sh", args: ["-c", sayToken] },
  });
  await board.call(pauseAgent, { id: agent.id });
  await board.call(resumeAgent, { id: agent.id });
  const third = await tokenOf((epoch) => epoch > 3);
  await board.call(updateCompany, { companyId, maxSessions: 0 });
  for (const begun = performance.now(); ; await sleep(20)) {
    if ((await board.call(viewAgent, { id: agent.id })).status !== "running") break;
    assert.ok(performance.now() - begun < allowed(60_000), "the session does not end");
  }
  assert.equal(await status(third.token), 401);
  const { sessions } = await board.call(listAgentSessions, { id: agent.id });
  assert.ok(sessions.every(({ endedAt }) => endedAt !== null));
});
