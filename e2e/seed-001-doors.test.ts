// More statements of the first designs, at the doors: histories, MCP grants, closing work that was delegated further, and the
// limit for every way to hire. Real sessions with their own tokens, over MCP, on the built daemon.
import { allowed } from "../src/testing/allowed.ts";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { listAgents, pauseAgent, updateAgent, viewAgent } from "../src/contract/agents.ts";
import { grantPermission, revokePermission } from "../src/contract/capabilities.ts";
import { putMcpServer } from "../src/contract/servers.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { agentInbox, sendMessage } from "../src/contract/mail.ts";
import { updateOutcome, viewOutcome } from "../src/contract/outcomes.ts";
import { refusalOf } from "../src/contract/refusal.ts";
import { listAgentSessions } from "../src/contract/sessions.ts";
import type { McpWorld } from "./support/mcp.ts";
import { Members } from "./support/members.ts";

let members: Members;
let world: McpWorld;
before(async () => ({ world } = members = await Members.open()));
after(() => world.close());

const Id = z.looseObject({ id: z.string() });
const Viewed = z.looseObject({
  history: z.array(
    z.looseObject({
      at: z.iso.datetime(),
      action: z.string(),
      by: z.looseObject({
        kind: z.string(),
        agentId: z.string().nullable(),
        sessionId: z.string().nullable(),
        personId: z.string().nullable(),
      }),
      changes: z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() })),
    }),
  ),
});
type Entry = z.infer<typeof Viewed>["history"][number];

// covers OUT-12, OUT-13
test("the history of every outcome, root and mandates included, says who created and changed it, when, and what changed", async () => {
  const { board, companyId } = world.daemon;
  const begun = Date.now() - 1000;
  const inTime = ({ at }: Entry): boolean => Date.parse(at) >= begun && Date.parse(at) <= Date.now() + 1000;
  const historyOf = async (id: string) => Viewed.parse(await board.call(viewOutcome, { id })).history;
  /** Histories have the newest entry first. */
  const firstOf = async (id: string) => (await historyOf(id)).at(-1);
  const root = await firstOf(world.rootOutcomeId);
  assert.deepEqual([root?.action, root?.by.kind], ["outcome.create", "board"]);
  assert.ok(root?.by.personId, "the person who created the company");

  const boss = await members.hireWithSession();
  await board.call(grantPermission, { companyId, to: boss.id, resource: "org:hire" });
  const mandate = await firstOf((await board.call(viewAgent, { id: boss.id })).mandateId);
  assert.deepEqual(
    [mandate?.action, mandate?.by.kind, mandate && inTime(mandate)],
    ["outcome.create", "board", true],
  );

  // Everything that the session makes names the session: a hire's mandate, and an outcome.
  const hired = await boss.ask("org", "hire_agent", { name: "Noted", role: "clerk", mandate: "Keep notes" });
  const { id: made } = Id.parse(
    await boss.ask("outcome", "create_outcome", { title: "first", parents: [boss.id] }),
  );
  const { mandateId } = await board.call(viewAgent, { id: Id.parse(Object(hired)["agent"]).id });
  for (const id of [mandateId, made]) {
    const created = await firstOf(id);
    assert.deepEqual(
      [created?.action, created?.by.agentId, created?.by.sessionId, created && inTime(created)],
      ["outcome.create", boss.id, boss.session, true],
    );
  }
  await boss.ask("outcome", "update_outcome", { id: made, title: "second", urgent: true });
  await board.call(updateOutcome, { id: mandateId, description: "Keep short notes" });
  const { history } = Viewed.parse(await boss.ask("outcome", "view_outcome", { id: made }));
  const updated = history.find(({ action }) => action === "outcome.update");
  assert.deepEqual(
    [updated?.by.agentId, updated?.by.sessionId, updated && inTime(updated), updated?.changes],
    [
      boss.id,
      boss.session,
      true,
      { title: { before: "first", after: "second" }, urgent: { before: false, after: true } },
    ],
  );
  const [changed] = (await historyOf(mandateId)).filter(({ action }) => action === "outcome.update");
  assert.deepEqual([changed?.by.kind, changed?.changes["description"]?.after], ["board", "Keep short notes"]);
});

// covers BND-05
test("a manager completes and closes work it delegated, even while its report has delegated parts of that work", async () => {
  const { board } = world.daemon;
  const boss = await members.hire();
  const lead = await members.hire(boss.id);
  const hand = await members.hire(lead.id);
  const make = async (by: typeof boss, title: string, parent: string, to: string): Promise<string> => {
    const { id } = Id.parse(await by.ask("outcome", "create_outcome", { title, parents: [parent] }));
    await by.ask("outcome", "delegate_outcome", { id, to });
    return id;
  };
  const done = await make(boss, "done", boss.id, lead.id);
  await lead.ask("outcome", "submit_outcome", { id: done, note: "see above" });
  assert.equal((await boss.ask("outcome", "complete_outcome", { id: done }))["status"], "completed");

  const whole = await make(boss, "whole", boss.id, lead.id);
  const part = await make(lead, "part", whole, hand.id);
  const { id: step } = Id.parse(
    await hand.ask("outcome", "create_outcome", { title: "step", parents: [part] }),
  );
  // The boss can't close the part, but it can close the whole, with everything below.
  await boss.refused("forbidden", "outcome", "close_outcome", { id: part, rationale: "not mine" });
  await boss.ask("outcome", "close_outcome", { id: whole, rationale: "the customer left" });
  for (const id of [whole, part, step]) {
    const { status, rationale } = await board.call(viewOutcome, { id });
    assert.equal(status, "closed", id);
    assert.match(rationale ?? "", /the customer left/);
  }
  for (const { id } of [lead, hand]) {
    const { messages } = await board.call(agentInbox, { id });
    assert.ok(
      messages.some(({ body }) => body?.includes("the customer left") === true),
      "the owner is told",
    );
  }
});

// covers ORG-12
test("an agent can't hire beyond maxAgents in any way", async () => {
  const { board, companyId } = world.daemon;
  const boss = await members.hireWithSession();
  await board.call(grantPermission, { companyId, to: boss.id, resource: "org:hire" });
  const { id: job } = Id.parse(
    await boss.ask("outcome", "create_outcome", { title: "job", parents: [boss.id] }),
  );
  const printing = await board.call(createAgent, {
    companyId,
    name: "Printer",
    role: "printer",
    adapterType: "process",
    adapterConfig: { command: "/bin/sh", args: ["-c", "echo 'HIRE[Writer]: Writes about birds.'"] },
  });
  await board.call(grantPermission, { companyId, to: printing.id, resource: "org:hire" });
  const employed = async () =>
    (await board.call(listAgents, { companyId, limit: 1000 })).agents.filter(
      ({ status }) => status !== "terminated",
    ).length;
  const most = await employed();
  for (const requireBoardApprovalForNewAgents of [false, true]) {
    await members.change({ maxAgents: most, requireBoardApprovalForNewAgents });
    const hire = { name: "One more", role: "helper" };
    const says = [
      await boss.refused("limited", "org", "hire_agent", hire),
      await boss.refused("limited", "outcome", "delegate_outcome", { id: job, hire }),
      await boss.refused("limited", "org", "plan_work", {
        outcome: job,
        tasks: [{ title: "part", assignee: "Nobody has this role" }],
      }),
    ];
    for (const message of says) assert.match(message, new RegExp(`${most}`), "the limit is named");
    const asked = await boss.ask("org", "create_agent", { ...hire, waitSeconds: 0 });
    assert.equal(asked["status"], "error", JSON.stringify(asked));
    assert.match(JSON.stringify(asked), new RegExp(`${most}`));
    // The line of a final output is refused as well, and its author is told.
    const notices = async () => {
      const { messages } = await board.call(agentInbox, { id: printing.id, all: true, limit: 1000 });
      return messages.filter(({ body }) => body?.includes("HIRE[Writer]") === true).length;
    };
    const before = await notices();
    await board.call(sendMessage, { companyId, to: printing.id, body: "Go on." });
    await until("a notice about the line", async () => (await notices()) > before || undefined);
    assert.equal(await employed(), most);
  }
  // Its next session would take the free place.
  await board.call(pauseAgent, { id: printing.id });
  await members.change({ maxAgents: most + 1, requireBoardApprovalForNewAgents: false });
  await boss.ask("org", "hire_agent", { name: "The last", role: "helper" });
  await members.change({ maxAgents: 1000 });
});

// covers CAP-20, CAP-21, CAP-22
test("a granted or revoked MCP server reaches the agent with a message, the end of its session, and the settings of the next", async () => {
  const { board, companyId } = world.daemon;
  const config = { type: "http" as const, url: "https://chat.example/mcp" };
  await board.call(putMcpServer, { companyId, name: "chat", config });
  const first = await members.hireWithSession();
  const serversOf = ({ workspace }: { workspace: string }): boolean =>
    "chat" in Object(JSON.parse(readFileSync(join(workspace, ".mcp.json"), "utf8")))["mcpServers"];
  assert.equal(serversOf(first), false);
  const unknown = { companyId, to: first.id, resource: "mcp:nothing" };
  assert.equal((await refusalOf(board.call(grantPermission, unknown)))?.code, "refused");

  let session = first;
  let grant = "";
  for (const isGranted of [true, false]) {
    const from = performance.now();
    if (isGranted)
      ({ id: grant } = await board.call(grantPermission, { companyId, to: first.id, resource: "mcp:chat" }));
    else await board.call(revokePermission, { id: grant });
    // The running session is told, and this one does not end by itself.
    const { messages } = z
      .object({ messages: z.array(z.looseObject({ body: z.string().nullable() })) })
      .parse(await session.ask("mail", "read_inbox"));
    assert.ok(
      messages.some(({ body }) => body?.includes("MCP server chat") === true),
      JSON.stringify(messages),
    );
    const next = await members.sessionOf(first.id, session.session);
    const took = performance.now() - from;
    assert.ok(took < 60_000 + allowed(15_000), `${Math.round(took)} ms`);
    assert.equal(serversOf(next), isGranted);
    const { sessions } = await board.call(listAgentSessions, { id: first.id });
    const ended = sessions.find(({ id }) => id === session.session);
    assert.ok(Date.parse(ended?.endedAt ?? "") - Date.parse(ended?.startedAt ?? "") > 0);
    session = next;
  }
  await board.call(updateAgent, { id: first.id, adapterType: "human", adapterConfig: {} });
});

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 3000; tries++, await sleep(100)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`${what}: not in time`);
}
