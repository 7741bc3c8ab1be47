import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { CallToolResult, Client } from "@modelcontextprotocol/client";
import { z } from "zod";
import { terminateAgent } from "../src/contract/agents.ts";
import { approve } from "../src/contract/approvals.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { grantPermission, revokePermission } from "../src/contract/capabilities.ts";
import { type McpServerName, mcpServers } from "../src/contract/operation.ts";
import { listRoster } from "../src/contract/roster.ts";
import { byLength } from "../src/testing/run-length.ts";
import { answerOf, call, McpWorld, refused, revisions } from "./support/mcp.ts";

// The tools of the design (§16) that exist now, with their arguments (`?` marks optional ones), then the tools we added. List
// every added or removed tool here: clients rely on the names.
const tools: Readonly<Record<McpServerName, Readonly<Record<string, string>>>> = {
  kb: {
    list_files: "materialize?",
    browse_files: "query?",
    search_files: "query",
    read_file: "id",
    write_file: "id path? content? version hash",
    create_file: "description path? content? mediaType?",
    view_history: "id",
    read_version: "id version",

    delete_file: "id reason?",
    view_access_log: "id",
    view_links: "id",
  },
  outcome: {
    view_outcome: "id",
    view_ancestors: "id",
    view_subtree: "id",
    my_outcomes: "status?",
    create_outcome: "title description? parents acceptance? dependsOn? urgent? important?",
    update_outcome: "id title? description? blocked?",
    submit_outcome: "id note? files?",
    complete_outcome: "id note? files?",
    decide_outcome: "id verdict note?",
    close_outcome: "id rationale",
    reopen_outcome: "id reason",
    delegate_outcome: "id to? hire? grants? message?",
    reclaim_outcome: "id reason",

    why: "id",
    give_goal: "title description? acceptance? budget?",
    list_goals: "status?",
  },
  mail: {
    send_message: "to? file? body? files?",
    send_deferred_message: "to file? body? files? deliverAt",
    read_inbox: "limit?",
    acknowledge_message: "id result?",
    cancel_message: "id",

    view_message: "id",
    list_conversation: "with?",
    list_sent: "",
    read_board_inbox: "all?",
  },
  permissions: {
    list_permissions: "",
    grant_permission: "to resource level? outcome?",
    revoke_permission: "id",
    request_permission: "resource level? reason",
    explain_access: "resource level? agent?",
  },
  repo: {
    list_repos: "",
    clone_repo: "name",
    publish_branch: "repo branch message testOutput? path?",
    push_branch: "repo branch onto?",
  },
  audit: {
    read_audit_log: "",
    submit_summary: "summary",

    list_sessions: "id",
    read_transcript: "id after?",
  },
  org: {
    list_roster: "",
    hire_agent:
      "name role title? reportsTo? capabilities? mandate? prompt? adapterType? adapterConfig? model? effort? budget? grants?",
    create_agent: "name autoReply? role? nextAgent? waitSeconds?",
    wait_for_approval: "requestId waitSeconds?",
    plan_work: "outcome tasks",
    view_configurations: "",

    request_approval: "payload",
    resubmit_approval: "id payload? decisionNote?",
    cancel_approval: "id decisionNote?",
    view_approval: "id",
    approval_timeline: "id",
    change_agent: "agent reason prompt? adapterType? adapterConfig? model? effort? budget?",
    list_comments: "id",
    comment_on_approval: "id body",
    pause_agent: "id reason?",
    resume_agent: "id",
    set_budget: "id usd? tokens? sessions?",
    view_costs: "month? by? cursor?",
    plan_reorganization: "change",
    apply_reorganization: "change hash?",
    undo_reorganization: "id",
    list_companies: "archived?",
    view_attention: "kind?",
    approve_request: "id decisionNote?",
    reject_request: "id decisionNote?",
  },
};

let world: McpWorld;

before(async () => {
  world = await McpWorld.open();
  // No agent is started: the tests are the agents. Sessions would work on the outcomes that the tests make.
  const { board, companyId } = world.daemon;
  await board.call(updateCompany, { companyId, maxSessions: 0 });
});

after(() => world.close());

for (const server of mcpServers) {
  // covers CAP-17, SES-09
  test(`/mcp/${server} lists exactly its tools to the board, with the arguments of the design`, async () => {
    const client = await world.connect(server, world.daemon.token);
    const { tools: listed } = await client.listTools();
    assert.deepEqual(listed.map(({ name }) => name).toSorted(), Object.keys(tools[server]).toSorted());
    assert.ok(listed.some(({ annotations }) => annotations?.readOnlyHint === true));
    for (const { name, description, inputSchema } of listed) {
      const wanted = (tools[server][name] ?? "").split(" ").filter((word) => word !== "");
      const required = wanted.filter((word) => !word.endsWith("?"));
      const known = Object.keys(inputSchema.properties ?? {});
      assert.deepEqual((inputSchema.required ?? []).toSorted(), required.toSorted(), name);
      for (const word of wanted) assert.ok(known.includes(word.replace("?", "")), `${name} takes ${word}`);
      assert.ok(!known.includes("companyId"), `${name}: the credential says which company`);
      assert.ok((description ?? "").length > 10, name);
    }
  });
}

// covers CAP-17, SES-09
test("/mcp lists only the tools an agent may use and checks calls of all other tools", async () => {
  const { board, companyId } = world.daemon;
  const manager = await world.agent();
  const namesOf = async (token: string, revision: (typeof revisions)[number] = "2026-07-28") => {
    const client = await world.connect("", token, revision);
    assert.equal(client.getServerVersion()?.name, "agency");
    assert.match(client.getInstructions() ?? "", /org:hire/);
    const { tools } = await client.listTools();
    for (const { name, annotations } of tools)
      assert.equal(annotations, undefined, `${name}: hints are for people`);
    return new Set(tools.map(({ name }) => name));
  };
  for (const revision of revisions) {
    const names = await namesOf(manager.token, revision);
    for (const name of ["read_inbox", "submit_outcome", "write_file", "submit_summary", "create_agent"])
      assert.ok(names.has(name), name);
    for (const name of ["delegate_outcome", "hire_agent", "pause_agent", "request_approval", "view_approval"])
      assert.ok(!names.has(name), name);
  }
  // An agent can call a tool that it does not find, and is told why it is refused.
  const door = await world.connect("", manager.token);
  await refused(door, "forbidden", "hire_agent", { name: "Kim", role: "Tester" });
  await refused(door, "forbidden", "request_approval", { payload: { plan: "x" } });

  const grant = await board.call(grantPermission, { companyId, to: manager.id, resource: "org:hire" });
  assert.ok((await namesOf(manager.token)).has("hire_agent"));
  const { approval } = z
    .object({ approval: z.object({ id: z.string() }) })
    .parse(await call(door, "hire_agent", { name: "Kim of the door", role: "Tester" }));
  assert.ok((await namesOf(manager.token)).has("view_approval"), "it waits for a decision");
  await board.call(approve, { id: approval.id });
  await board.call(revokePermission, { id: grant.id });
  const names = await namesOf(manager.token);
  assert.ok(names.has("pause_agent") && names.has("delegate_outcome"), "it has a report");
  assert.ok(!names.has("hire_agent") && !names.has("view_approval"));
  // Every agent has its own list.
  assert.ok(!(await namesOf((await world.agent()).token)).has("pause_agent"));
  await board.call(terminateAgent, {
    id:
      (await board.call(listRoster, { companyId })).agents.find(({ name }) => name === "Kim of the door")
        ?.id ?? "",
  });
  assert.ok(!(await namesOf(manager.token)).has("pause_agent"), "its report has left");
});

for (const revision of revisions) {
  // covers CAP-23, OUT-18, OUT-22, OUT-23
  test(`an agent works through the four servers in revision ${revision}`, async () => {
    const { id: agent, token, mandateId } = await world.agent();
    const kb = await world.connect("kb", token, revision);
    assert.equal(kb.getNegotiatedProtocolVersion(), revision);
    assert.equal(kb.getServerVersion()?.name, "agency-kb");
    // The client checks structured content against the schema of the tools it has listed.
    await kb.listTools();
    const created = Saved.parse(await call(kb, "create_file", { description: "Notes", content: "first" }));
    const { id, version, hash } = created;
    const written = Saved.parse(await call(kb, "write_file", { id, content: "second", version, hash }));
    assert.equal(written.version, 2);
    const read = await call(kb, "read_file", { id });
    assert.deepEqual([read["content"], read["version"], read["hash"]], ["second", 2, written.hash]);
    assert.equal((await call(kb, "read_version", { id, version: 1 }))["content"], "first");
    for (const [tool, input] of Object.entries({
      list_files: {},
      browse_files: { query: "Notes" },
      search_files: { query: "second" },
      view_history: { id },
      view_links: { id },
      view_access_log: { id },
    }))
      assert.ok(JSON.stringify(await call(kb, tool, input)).includes(id), tool);

    const outcome = await world.connect("outcome", token, revision);
    await outcome.listTools();
    const { id: work } = HasId.parse(
      await call(outcome, "create_outcome", { title: "A change", parents: [mandateId] }),
    );
    await call(outcome, "update_outcome", { id: work, blocked: { reason: "waits" } });
    await call(outcome, "update_outcome", { id: work, blocked: null });
    assert.ok(JSON.stringify(await call(outcome, "my_outcomes", { status: "open" })).includes(work));
    assert.ok(
      JSON.stringify(await call(outcome, "view_ancestors", { id: work })).includes(world.rootOutcomeId),
    );
    assert.ok(JSON.stringify(await call(outcome, "view_subtree", { id: mandateId })).includes(work));
    assert.equal(
      (await call(outcome, "complete_outcome", { id: work, note: "done" }))["status"],
      "completed",
    );
    assert.equal((await call(outcome, "reopen_outcome", { id: work, reason: "not yet" }))["status"], "open");
    assert.equal((await call(outcome, "close_outcome", { id: work, rationale: "no" }))["status"], "closed");
    assert.equal((await call(outcome, "view_outcome", { id: work }))["rationale"], "no");

    const permissions = await world.connect("permissions", token, revision);
    await permissions.listTools();
    assert.ok(JSON.stringify(await call(permissions, "list_permissions", {})).includes(`kb:${id}`));
    const explained = await call(permissions, "explain_access", { resource: `kb:${id}`, level: "write" });
    assert.equal(explained["allowed"], true);
    await call(permissions, "request_permission", { resource: "repo:site", reason: "to read it" });

    const audit = await world.connect("audit", token, revision);
    await audit.listTools();
    const { events } = z
      .object({
        events: z.array(
          z.object({ operation: z.string(), actor: z.object({ agentId: z.string().nullable() }) }),
        ),
      })
      .parse(await call(audit, "read_audit_log", { limit: 1000 }));
    for (const operation of ["knowledge.create", "knowledge.write", "knowledge.read", "outcome.close"])
      assert.ok(
        events.some((event) => event.operation === operation && event.actor.agentId === agent),
        operation,
      );
  });
}

test("a refusal is a result that says what happened and what to do next", async () => {
  const one = await world.agent();
  const other = await world.agent();
  const kb = await world.connect("kb", one.token);
  const outcome = await world.connect("outcome", one.token);
  const permissions = await world.connect("permissions", one.token);
  const { id, version, hash } = Saved.parse(
    await call(kb, "create_file", { description: "Mine", content: "a" }),
  );
  await call(kb, "write_file", { id, content: "b", version, hash });

  const conflict = await refused(kb, "conflict", "write_file", { id, content: "c", version, hash });
  assert.equal(conflict.details?.["version"], 2);
  const foreign = await refused(await world.connect("kb", other.token), "not_found", "read_file", { id });
  const nowhere = "00000000-0000-7000-8000-000000000000";
  const absent = await refused(await world.connect("kb", other.token), "not_found", "read_file", {
    id: nowhere,
  });
  assert.equal(
    foreign.message.replace(id, ""),
    absent.message.replace(nowhere, ""),
    "what exists is not told",
  );
  await refused(kb, "invalid", "read_file", {});
  await refused(kb, "invalid", "read_file", { id, also: 1 });
  await refused(kb, "invalid", "create_file", { description: 7, content: "x" });
  await refused(outcome, "forbidden", "complete_outcome", { id: world.rootOutcomeId });
  const work = { title: "Mine too", parents: [one.mandateId] };
  const { id: mine } = HasId.parse(await call(outcome, "create_outcome", work));
  await refused(outcome, "refused", "submit_outcome", { id: mine });
  const large = { description: "Large", content: "x".repeat(11 * 1024 * 1024) };
  await refused(kb, "too_large", "create_file", large);
  await call(kb, "delete_file", { id });
  await refused(kb, "gone", "read_file", { id });
  await refused(permissions, "refused", "grant_permission", { to: other.id, resource: `kb:${id}` });
});

for (const name of ["idempotencyKey", "claudecode/toolUseId", "agency/idempotencyKey"]) {
  test(`a call repeated under its ${name} has one effect, on any connection`, async () => {
    const { token } = await world.agent();
    const key = { [name]: `toolu_${name.length}` };
    const input = { description: "Once", content: "once" };
    const first = await call(await world.connect("kb", token, "2025-06-18"), "create_file", input, key);
    const kb = await world.connect("kb", token);
    const again = await Promise.all(Array.from({ length: 5 }, () => call(kb, "create_file", input, key)));
    for (const answer of again) assert.deepEqual(answer, first);
    await refused(kb, "conflict", "create_file", { ...input, content: "twice" }, key);
    const another = await call(kb, "create_file", input);
    assert.notEqual(another["id"], first["id"]);
    const { files } = z
      .object({ files: z.array(z.unknown()) })
      .parse(await call(kb, "browse_files", { query: "Once" }));
    assert.equal(files.length, 2);
    const stranger = await call(
      await world.connect("kb", (await world.agent()).token),
      "create_file",
      input,
      key,
    );
    assert.notEqual(stranger["id"], first["id"], "a key is its agent's own");
  });
}

test("50 agents with equal request ids don't see each other's answers", async (t) => {
  const calls = byLength({ quick: 2000, whole: 2000, long: 10_000 });
  const agents: { kb: Client; canary: string; file: string }[] = [];
  for (let number = 0; number < 50; number++) {
    const agent = await world.agent();
    // Clients count their requests from the same number; half speak the old protocol, half the new one.
    const kb = await world.connect("kb", agent.token, number % 2 === 0 ? "2025-11-25" : "2026-07-28");
    const canary = `canary${number}x${agent.id.replaceAll("-", "")}`;
    const file = HasId.parse(
      await call(kb, "create_file", { description: canary, content: `secret of ${canary}` }),
    );
    agents.push({ kb, canary, file: file.id });
  }
  const start = performance.now();
  await Promise.all(
    agents.map(async ({ kb, canary, file }, number) => {
      const other = agents[(number + 1) % agents.length];
      assert.ok(other !== undefined);
      for (let round = 0; round < calls / 50; round += 5) {
        const answers: CallToolResult[] = await Promise.all([
          kb.callTool({ name: "read_file", arguments: { id: file } }),
          kb.callTool({ name: "search_files", arguments: { query: "secret" } }),
          kb.callTool({ name: "browse_files", arguments: { query: "canary" } }),
          kb.callTool({ name: "view_history", arguments: { id: file } }),
          kb.callTool({ name: "read_file", arguments: { id: other.file } }),
        ]);
        const texts: string[] = answers.map((answer) => JSON.stringify(answerOf(answer)));
        for (const text of texts)
          for (const [found] of text.matchAll(/canary\d+x[0-9a-f]{32}/g)) assert.equal(found, canary);
        for (const text of texts.slice(0, 3)) assert.ok(text.includes(canary), text);
        assert.ok(texts[3]?.includes(file));
        assert.match(texts[4] ?? "", /"code":"not_found"/);
      }
    }),
  );
  t.diagnostic(`${calls} calls in ${((performance.now() - start) / 1000).toFixed(1)} s, 0 foreign canaries`);
});

const Saved = z.object({ id: z.string(), version: z.number(), hash: z.string() });
const HasId = z.object({ id: z.string() });
