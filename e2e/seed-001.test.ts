// Statements of the first design at the doors: real sessions with their own tokens, over MCP, on the built daemon.
import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { grantPermission } from "../src/contract/capabilities.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { viewAgent } from "../src/contract/agents.ts";
import { createOutcome } from "../src/contract/outcomes.ts";
import { listAgentSessions } from "../src/contract/sessions.ts";
import type { McpWorld } from "./support/mcp.ts";
import { Members } from "./support/members.ts";

let members: Members;
let world: McpWorld;
before(async () => ({ world } = members = await Members.open()));
after(() => world.close());
const hire = (reportsTo?: string) => members.hire(reportsTo);
const hireWithSession = (reportsTo?: string) => members.hireWithSession(reportsTo);

const Id = z.looseObject({ id: z.string() });
const Accesses = z.object({
  accesses: z.array(
    z.looseObject({
      at: z.iso.datetime(),
      action: z.string(),
      by: z.looseObject({ agentId: z.string().nullable(), sessionId: z.string().nullable() }),
      version: z.number().nullable(),
    }),
  ),
});
const Files = z.object({
  files: z.array(z.looseObject({ id: z.string(), path: z.string().optional() })),
});
const Saved = z.looseObject({ id: z.string(), version: z.number(), hash: z.string() });

// covers KB-17, KB-18
test("the access log has every read and write, whichever tool it was, with agent, session and time", async () => {
  const boss = await hireWithSession();
  const report = await hireWithSession(boss.id);
  const begun = Date.now() - 1000;
  const file = Saved.parse(
    await boss.ask("kb", "create_file", { description: "Logged words", content: "zebra one" }),
  );
  await boss.ask("permissions", "grant_permission", {
    to: report.id,
    resource: `kb:${file.id}`,
    level: "write",
  });
  const { id } = file;
  const reads = [
    () => report.ask("kb", "read_file", { id }),
    () => report.ask("kb", "read_version", { id, version: 1 }),
    () => report.ask("kb", "list_files", { query: "Logged words", materialize: true }),
    () => report.ask("kb", "search_files", { query: "zebra" }),
    async () => {
      await boss.ask("mail", "send_message", { to: report.id, file: id });
      return report.ask("mail", "read_inbox");
    },
  ];
  for (const [index, read] of reads.entries()) {
    const answer = JSON.stringify(await read());
    assert.ok(answer.includes("zebra one") || index === 2, answer);
    const { accesses } = Accesses.parse(await boss.ask("kb", "view_access_log", { id }));
    const byReport = accesses.filter(({ by }) => by.agentId === report.id);
    assert.ok(byReport.length > index, `read ${index} is not in the log`);
    assert.ok(byReport.every(({ by, version }) => by.sessionId === report.session && version === 1));
  }
  const written = Saved.parse(await report.ask("kb", "write_file", { ...file, content: "zebra two" }));
  assert.equal(written.version, 2);
  const { accesses } = Accesses.parse(await report.ask("kb", "view_access_log", { id }));
  const writes = accesses.filter(({ action }) => !action.startsWith("knowledge.read"));
  assert.deepEqual(
    writes.map(({ action, by, version }) => [action, by.agentId, by.sessionId, version]),
    [
      ["knowledge.write", report.id, report.session, 2],
      ["knowledge.create", boss.id, boss.session, 1],
    ],
  );
  for (const { at } of accesses)
    assert.ok(Date.parse(at) > begun && Date.parse(at) < Date.now() + 1000, `the time ${at} is wrong`);
});

// covers KB-19, KB-13
test("a list has exactly the readable files, each with the path of a copy that can't change the store", async () => {
  const boss = await hireWithSession();
  const report = await hireWithSession(boss.id);
  const ids: string[] = [];
  for (const level of ["read", "write", "none", null]) {
    const made = {
      description: `Listed for ${level ?? "nothing"}`,
      content: `content for ${level ?? "nothing"}`,
    };
    const { id } = Id.parse(await boss.ask("kb", "create_file", made));
    ids.push(id);
    if (level !== null)
      await boss.ask("permissions", "grant_permission", { to: report.id, resource: `kb:${id}`, level });
  }
  const [read = "", write = "", ...hidden] = ids;
  const listed = Files.parse(
    await report.ask("kb", "list_files", { materialize: true, query: "Listed for" }),
  );
  assert.deepEqual(listed.files.map(({ id }) => id).toSorted(), [read, write].toSorted());
  for (const { id, path = "" } of listed.files) {
    assert.ok(path.startsWith(join(report.workspace, "")), path);
    const level = id === read ? "read" : "write";
    assert.deepEqual([readFileSync(path, "utf8"), statSync(path).mode & 0o222], [`content for ${level}`, 0]);
  }
  const all = JSON.stringify(await report.ask("kb", "list_files", { limit: 1000 }));
  for (const id of hidden) assert.ok(!all.includes(id));
  // The copy is not the store: changing it by force has no effect on the file, and only a write with the right counts.
  const copy = listed.files.find(({ id }) => id === write)?.path ?? "";
  rmSync(copy);
  writeFileSync(copy, "changed in the workspace");
  const kept = Saved.parse(await report.ask("kb", "read_file", { id: write }));
  assert.deepEqual([kept.version, kept["content"]], [1, "content for write"]);
  const changed = { path: relative(report.workspace, copy), version: 1 };
  await report.ask("kb", "write_file", { id: write, hash: kept.hash, ...changed });
  assert.equal((await boss.ask("kb", "read_file", { id: write }))["content"], "changed in the workspace");
  const { hash } = Saved.parse(await report.ask("kb", "read_file", { id: read }));
  await report.refused("forbidden", "kb", "write_file", { id: read, hash, ...changed });
});

// covers CAP-23
test("an agent lists every right it holds now, granted and structural, and none it has lost", async () => {
  const boss = await hire();
  const report = await hireWithSession(boss.id);
  const Rights = z.object({
    grants: z.array(
      z.looseObject({ id: z.string(), resource: z.string(), level: z.string(), stands: z.boolean() }),
    ),
    structural: z.array(
      z.looseObject({ resource: z.string(), levels: z.array(z.string()), because: z.string() }),
    ),
  });
  const rights = async () =>
    Rights.parse(await report.ask("permissions", "list_permissions", { limit: 1000 }));
  const { id: file } = Id.parse(await boss.ask("kb", "create_file", { description: "lent", content: "x" }));
  const { id: job } = Id.parse(
    await boss.ask("outcome", "create_outcome", { title: "job", parents: [boss.id] }),
  );
  await boss.ask("outcome", "delegate_outcome", {
    id: job,
    to: report.id,
    grants: [{ resource: `kb:${file}`, level: "read" }],
  });
  const { id: part } = Id.parse(
    await report.ask("outcome", "create_outcome", { title: "part", parents: [job] }),
  );
  const held = await rights();
  assert.deepEqual(
    held.grants.map(({ resource, level }) => [resource, level]),
    [[`kb:${file}`, "read"]],
  );
  const { stateFileId } = await world.daemon.board.call(viewAgent, { id: report.id });
  const follows = new Map(held.structural.map(({ resource, levels }) => [resource, levels.join()]));
  assert.equal(follows.get(`mail:${boss.id}`), "send");
  assert.equal(follows.get(`outcome:${job}`), "read,drive");
  assert.equal(follows.get(`kb:${stateFileId}`), "read,write");
  assert.ok(held.structural.every(({ because }) => because.length > 5));
  // Every listed right works. So does the effect of the right on the delegated outcome for outcomes below it.
  for (const [resource, level] of [
    [`kb:${file}`, "read"],
    [`outcome:${job}`, "read"],
    [`outcome:${part}`, "write"],
    [`mail:${boss.id}`, "send"],
  ] as const) {
    const explained = await report.ask("permissions", "explain_access", { resource, level });
    assert.equal(explained["allowed"], true, resource);
  }
  await boss.ask("outcome", "close_outcome", { id: job, rationale: "not needed" });
  assert.deepEqual((await rights()).grants, []);
  await report.refused("not_found", "kb", "read_file", { id: file });
});

// covers STOP-06
test("documents and histories of every deactivated agent stay readable for sessions of the boss", async () => {
  const boss = await hireWithSession();
  await world.daemon.board.call(grantPermission, {
    companyId: world.daemon.companyId,
    to: boss.id,
    resource: "org:hire",
  });
  const { id: job } = Id.parse(
    await boss.ask("outcome", "create_outcome", { title: "whole", parents: [boss.id] }),
  );
  const adapter = {
    adapterType: "process",
    adapterConfig: { command: "/bin/sh", args: ["-c", "exec sleep 3600"] },
  };
  await world.daemon.board.call(updateCompany, {
    companyId: world.daemon.companyId,
    allowedAdapterTypes: ["process", "human"],
  });
  await boss.ask("outcome", "delegate_outcome", {
    id: job,
    hire: { name: "Lead to stop", role: "lead", ...adapter },
    grants: [{ resource: "org:hire" }],
  });
  // Each of the two has a session before anything else happens: an agent without a session has no log, and an agent that waits
  // for work below its own gets no session.
  await hasSession(job);
  const lead = await members.keyOf(job);
  const { id: part } = Id.parse(
    await lead.ask("outcome", "create_outcome", { title: "part", parents: [job] }),
  );
  await lead.ask("outcome", "delegate_outcome", {
    id: part,
    hire: { name: "Hand to stop", role: "hand", ...adapter },
  });
  await hasSession(part);
  const hand = await members.keyOf(part);
  const { id: own } = Id.parse(
    await hand.ask("outcome", "create_outcome", { title: "own", parents: [part] }),
  );
  await hand.ask("outcome", "close_outcome", { id: own, rationale: "a dead end" });
  const documents: string[] = [];
  for (const [caller, id] of [
    [lead, job],
    [hand, part],
  ] as const) {
    const { stateFileId } = await world.daemon.board.call(viewAgent, { id });
    const { version, hash } = Saved.parse(await caller.ask("kb", "read_file", { id: stateFileId }));
    const state = { id: stateFileId, content: `# What ${id} knows`, version, hash };
    await caller.ask("kb", "write_file", state);
    documents.push(stateFileId);
  }
  await boss.ask("outcome", "reclaim_outcome", { id: job, reason: "another way" });
  for (const [index, id] of [job, part].entries()) {
    const agent = await world.daemon.board.call(viewAgent, { id });
    assert.equal(agent.status, "terminated");
    const state = await boss.ask("kb", "read_file", { id: documents[index] ?? "" });
    assert.equal(state["content"], `# What ${id} knows`);
    // The log says how the session ended, which happens after the reclaim.
    const logFileId = await logOf(id);
    assert.match(String((await boss.ask("kb", "read_file", { id: logFileId }))["content"]), /session/i);
  }
  for (const id of [job, part, own]) {
    const { history } = History.parse(await boss.ask("outcome", "view_outcome", { id }));
    assert.ok(history.length > 0, id);
  }
  const closed = History.parse(await boss.ask("outcome", "view_outcome", { id: own })).history;
  assert.ok(closed.some(({ why, by }) => why === "a dead end" && by.agentId === part));
});

async function hasSession(id: string): Promise<void> {
  for (let tries = 0; tries < 900; tries++, await sleep(100))
    if ((await world.daemon.board.call(listAgentSessions, { id })).sessions.length > 0) return;
  throw new Error("the agent has no session");
}

async function logOf(id: string): Promise<string> {
  for (let tries = 0; tries < 900; tries++, await sleep(100)) {
    const { logFileId } = await world.daemon.board.call(viewAgent, { id });
    if (logFileId !== null) return logFileId;
  }
  throw new Error("the agent has no log");
}

// covers DEL-11
test("an agent reads every outcome above its own, along each parent, up to the root", async () => {
  const { board, companyId } = world.daemon;
  const [lead, other] = [await hire(), await hire()];
  const hand = await hire(lead.id);
  const whys: string[] = [];
  for (const owner of [lead, other]) {
    const input = { title: `a reason of ${owner.name}`, parents: [owner.id], description: "because" };
    whys.push(Id.parse(await owner.ask("outcome", "create_outcome", input)).id);
  }
  const job = await board.call(createOutcome, { companyId, title: "with two reasons", parents: whys });
  await lead.ask("outcome", "delegate_outcome", { id: job.id, to: hand.id });
  const above = [...whys, lead.id, other.id, world.rootOutcomeId];
  const { ancestors } = z
    .looseObject({ ancestors: z.array(Id) })
    .parse(await hand.ask("outcome", "view_ancestors", { id: job.id }));
  assert.deepEqual(ancestors.map(({ id }) => id).toSorted(), above.toSorted());
  for (const id of above) {
    assert.equal((await hand.ask("outcome", "view_outcome", { id }))["id"], id);
    assert.ok(String((await hand.ask("kb", "read_file", { id }))["content"]).length > 0);
    await hand.refused("forbidden", "outcome", "update_outcome", { id, title: "mine" });
  }
});

const History = z.looseObject({
  history: z.array(
    z.looseObject({
      at: z.iso.datetime(),
      action: z.string(),
      why: z.string().nullable(),
      by: z.looseObject({ agentId: z.string().nullable(), sessionId: z.string().nullable() }),
    }),
  ),
});
