// Calls every operation with a pending agent in every place where its input can name an agent. Each call is refused, only
// reads, or is one of the few listed here with a reason. The pending agent stays unchanged.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import * as approvals from "../src/contract/approvals.ts";
import { grantPermission } from "../src/contract/capabilities.ts";
import { inputSchema } from "../src/contract/json-schema.ts";
import { sendMessage } from "../src/contract/mail.ts";
import type { Operation } from "../src/contract/operation.ts";
import * as companies from "../src/contract/companies.ts";
import * as agents from "../src/contract/agents.ts";
import { createOutcome, submitOutcome } from "../src/contract/outcomes.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { listSessions } from "../src/contract/sessions.ts";
import { listRoster } from "../src/contract/roster.ts";
import { Refusal } from "../src/contract/refusal.ts";
import { keepCredential } from "../src/agents/keys.ts";
import { refusal, sharedOrganization, storeKinds } from "../src/testing/organization.ts";
import { thirdOf } from "../src/testing/seeds.ts";
import { onStage } from "../src/testing/stage.ts";
import { leavesOf, put } from "./input-places.ts";
import { changesNaming } from "./pending-changes.ts";
import { hired, nobody, possessions, type Subject } from "./pending-subject.ts";
import type { Row, World } from "./walk-row.ts";
import { table } from "./walk-table.ts";

/**
 * The places where an input can name an agent, and the forms of the name. A place that is neither here nor in `words` below
 * fails the test. Add each new place to one of the two.
 */
const places: Readonly<Record<string, (subject: Subject) => readonly unknown[]>> = {
  to: ({ id, slug, role }) => [id, slug, role],
  agent: ({ id, slug }) => [id, slug],
  reportsTo: ({ id }) => [id],
  nextAgent: ({ id, slug, name }) => [id, slug, `@${name}`],
  outcome: ({ id }) => [id],
  "parents[]": ({ id }) => [id],
  "dependsOn[]": ({ id }) => [id],
  "blocked.on": ({ id }) => [id],
  "tasks[].assignee": ({ id, slug, role }) => [id, slug, role],
  file: ({ id, stateFileId }) => [id, stateFileId],
  "files[]": ({ id, stateFileId }) => [id, stateFileId],
  resource: ({ id, stateFileId }) => [`mail:${id}`, `outcome:${id}`, `kb:${id}`, `kb:${stateFileId}`],
  "grants[].resource": ({ id, stateFileId }) => [`mail:${id}`, `outcome:${id}`, `kb:${stateFileId}`],
  requestId: ({ approvalId }) => [approvalId],
  with: ({ id, slug }) => [id, slug],
  owner: ({ id, slug }) => [id, slug],
  actor: ({ id, slug }) => [id, slug],
  subject: ({ id }) => [id],
  ids: ({ id }) => [id],
  "ids[]": ({ id }) => [id],
  of: ({ id, slug }) => [id, slug],
  "payload.*": ({ id }) => [{ reportsTo: id }],
};

/** The values of `id`, by how the operation finds its company. A pending agent has no grants, messages or sessions. */
const ids: Readonly<Record<string, (subject: Subject) => readonly unknown[]>> = {
  // Only the board calls doctor.fix. It repairs damaged rows of agents in every status, including pending agents.
  "": () => [],
  agent: ({ id }) => [id],
  outcome: ({ id }) => [id],
  "agent or outcome": ({ id }) => [id],
  file: ({ id, stateFileId }) => [id, stateFileId],
  approval: ({ approvalId }) => [approvalId],
  grant: () => [],
  message: () => [],
  session: () => [],
  reorganization: () => [],
};

/**
 * Places for text, numbers and names of other things, which can't name an agent. The files of company.import describe a
 * company that does not exist yet, and therefore can't name an existing agent.
 */
const words = new Set(
  (
    "companyId keyId name role title capabilities prompt adapterType type test model mandate label reason description content path " +
    "mediaType hash query q text operation from acceptance note rationale body message summary plan decisionNote payloadHash cursor deliverAt inReplyTo result value " +
    "blocked.reason blocked.until hire.name hire.role hire.title hire.capabilities hire.prompt hire.adapterType hire.model " +
    "hire.adapterConfig.* adapterConfig.* defaultAdapterConfig.* defaultAdapterType allowedAdapterTypes[] chatLLMProvider " +
    "tasks[].title tasks[].description tasks[].acceptance tasks[].dependsOn[] tasks[].model chatLLMModel payload.plan all archived departed live limit after version waitSeconds usd tokens sessions month invariant config.type config.url config.command config.args[] level deliverAt " +
    "files[].path files[].content person code config.dialect config.baseUrl config.secret config.models.* config.defaultModel config.headers.* config.headers.*.secret config.env.* config.env.*.secret config.hosts[] config.reads[] config.writes[] config.privateNetwork config.signIn.clientId config.signIn.clientSecret config.signIn.clientSecret.secret config.signIn.scope answer url repo branch secret testOutput onto until digest fileName"
  ).split(" "),
);

/** Writes that are not refused, each with the reason. None of them gives the pending agent anything. */
const allowed: Readonly<Record<string, string>> = {
  "approval.approve id": "its own approval",
  "approval.reject id": "its own approval",
  "approval.request_revision id": "its own approval",
  "approval.cancel id": "its own approval",
  "approval.comment id": "its own approval",
  "agent.terminate id": "taking it back",
  "outcome.reclaim id": "taking it back",
  "outcome.complete id": "taking back the outcome it was to be made for",
  "outcome.close id": "taking back the outcome it was to be made for",
  "outcome.create dependsOn[]": "somebody else waits for what it is to do",
  "outcome.update dependsOn[]": "somebody else waits for what it is to do",
  "outcome.update blocked.on": "somebody else waits for what it is to do",
  "permission.grant outcome": "another agent's right that ends with the pending agent's mandate",
  "permission.grant resource": "another agent's right to read about it; mail to it is still refused",
  "permission.request resource": "somebody else asks for such a right",
  "agent.create grants[].resource": "somebody else begins with such a right",
  "agent.hire grants[].resource": "somebody else begins with such a right",
  "outcome.delegate grants[].resource": "somebody else gets such a right",
  "org.plan_work tasks[].assignee": "what is meant for it stays with its boss until it is approved",
  "reorganization.apply change.agent fire": "taking it back",
  "reorganization.apply change.agents[] shrink": "taking it back",
  "reorganization.apply change.manager.grants[].resource insert_layer":
    "somebody else begins with such a right",
  "reorganization.apply change.into[].agent.grants[].resource split":
    "somebody else begins with such a right",
  "mail.send files[]": "somebody else gets to read about it",
  "mail.send_deferred files[]": "somebody else gets to read about it",
  "mail.send file": "somebody else gets to read about it",
  "mail.send_deferred file": "somebody else gets to read about it",
};

/** Calls that are refused for an active agent too. Here the pending status is not the reason. */
const refusedAnyway: Readonly<Record<string, string>> = {
  "agent.delete id": "only one that was not approved",
  "agent.update nextAgent": "the agent was not made with create_agent",
  "agent.resume id": "only one that is paused",
  "agent.revoke_key id": "the key is another agent's",
  "approval.resubmit id": "only what was sent back; an active one has nothing to resubmit",
  "knowledge.delete id": "state documents and outcomes stay",
  "knowledge.write id": "only the board, and with the right version",
  "outcome.delegate id": "a mandate can't be delegated",
  "reorganization.apply change.boss insert_layer": "the named report has another boss",
  "reorganization.apply change.into[].outcomes[] split": "a mandate stays with its agent",
  "outcome.reopen id": "it is open",
  "goal.set_budget id": "only a goal has such a budget",
  "outcome.submit files[]": "neither outcomes nor state documents can be delivered",
  "outcome.complete files[]": "neither outcomes nor state documents can be delivered",
  "outcome.decide id": "it was not submitted",
  "org.plan_work outcome": "the assignee of the tasks has another boss",
};

for (const kind of storeKinds)
  describe(`a pending agent on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { fast: true });
    const boss = await org.agent("Chief");
    await org.board(grantPermission, { companyId: org.companyId, to: boss.id, resource: "org:hire" });
    const report = await org.agent("Report", boss.id);
    let names = 0;
    const { key: root } = await org.board(agents.createKey, { id: org.rootId });
    const workspace = mkdtempSync(join(tmpdir(), "agency-pending-"));
    process.once("exit", () => rmSync(workspace, { recursive: true, force: true }));
    const { token: session } = await org.session(report.id, workspace);
    const others = { root, report: report.token, stranger: report.token, session };
    const world: World = {
      org,
      boss,
      report,
      sitter: report.id,
      tokens: { ...others, board: org.boardToken, boss: boss.token },
      name: () => `Name ${++names}`,
    };

    const cases = table.flatMap((row) => placesIn(row.operation).map((place) => ({ row, place })));
    for (const { row, place } of thirdOf(cases)) {
      const what = `${row.operation.name} ${place}`;
      // covers GOV-11, GOV-13, GOV-15, GOV-60, GOV-69
      test(`${what}: the pending agent stays unchanged`, async () => {
        const names = namesFor(row.operation, place);
        let isAllowed = false;
        for (const made of [false, true]) {
          let subject = await hired(world, { made, waits: true });
          for (const [which] of names(nobody).entries())
            for (const who of ["board", "boss"] as const) {
              const input = put(await row.input(world), place, names(subject)[which]);
              const before = await possessions(store, subject.id);
              const said = await attempt(row, world.tokens[who], input);
              if (said === "answered" && row.operation.effect === "write") {
                isAllowed = true;
                assert.ok(what in allowed, `${what} is not refused to the ${who}: ${JSON.stringify(input)}`);
              }
              const now = await possessions(store, subject.id);
              if (allowed[what]?.startsWith("somebody") === true || said !== "answered")
                assert.deepEqual(now, before, said);
              await demandConsistent(subject.id);
              const { status } = await org.board(agents.viewAgent, { id: subject.id });
              if (status !== "pending_approval") subject = await hired(world, { made, waits: true });
            }
          // The number of pending requests is limited.
          await org.board(agents.terminateAgent, { id: subject.id });
        }
        if (row.operation.effect !== "write") return;
        assert.equal(
          isAllowed,
          what in allowed,
          "the calls that succeed must be exactly those listed as allowed",
        );
        // The pending status must be the reason: the same call for an active agent succeeds.
        if (!isAllowed && names(nobody).length > 0)
          assert.equal(await isAnsweredForActive(row, place), !(what in refusedAnyway));
      });
    }

    // covers GOV-14, GOV-61
    test("a pending agent has no credential, can't use one and gets no mail", async () => {
      const subject = await hired(world, { made: false, waits: true });
      const { companyId } = org;
      await refusal(org.board(agents.createKey, { id: subject.id }), "refused");
      const credential = { id: randomUUID(), kind: "key", companyId, agentId: subject.id } as const;
      await store.write((tx) => keepCredential(tx, { ...credential, token: subject.id, label: "smuggled" }));
      await refusal(org.as(subject.id)(listRoster, {}), "unauthenticated");
      await refusal(world.boss.call(sendMessage, { to: subject.id, body: "hello" }), "forbidden");
      // Mail does not reach the agent even through a route that the board opened.
      await org.board(grantPermission, { companyId, to: world.boss.id, resource: `mail:${subject.id}` });
      await refusal(world.boss.call(sendMessage, { to: subject.id, body: "hello" }), "refused");
      await refusal(org.board(sendMessage, { companyId, to: subject.id, body: "hello" }), "refused");
      await org.board(approvals.approve, { id: subject.approvalId });
      await world.boss.call(sendMessage, { to: subject.id, body: "hello" });
    });

    /** The invariant: an agent is pending exactly while one approval is open, and active only if that was approved. */
    async function demandConsistent(id: string): Promise<void> {
      const { agent, approvals: rows, grants } = await possessions(store, id);
      const open = rows.filter(({ status }) => status === "pending" || status === "revision_requested");
      const status = agent[0]?.status ?? "gone";
      assert.equal(open.length, status === "pending_approval" ? 1 : 0, status);
      if (status === "idle") assert.ok(rows.some((row) => row.status === "approved"));
      else assert.deepEqual(grants, []);
    }

    async function isAnsweredForActive(row: Row, place: string): Promise<boolean> {
      const names = namesFor(row.operation, place);
      for (const made of [false, true])
        for (const which of names(nobody).keys())
          for (const who of ["board", "boss"] as const) {
            const subject = await hired(world, { made, waits: false });
            const input = put(await row.input(world), place, names(subject)[which]);
            if ((await attempt(row, world.tokens[who], input)) === "answered") return true;
          }
      return false;
    }

    async function attempt(
      { operation, saysMalformed }: Row,
      token: string,
      input: unknown,
    ): Promise<string> {
      try {
        const output = await org.core.dispatch({ operation, token, input });
        return saysMalformed?.(output) === true ? JSON.stringify(output) : "answered";
      } catch (error) {
        if (error instanceof Refusal) return `${error.code}: ${error.message}`;
        throw error;
      }
    }

    // covers GOV-12, GOV-59
    test("no session starts for a pending agent with work until the agent is approved", () =>
      onStage(kind, async (stage) => {
        const { org: staged, runner, advance, scheduler } = stage;
        const { companyId, rootId } = staged;
        await staged.board(agents.updateAgent, { id: rootId, adapterType: "human" });
        await staged.board(companies.updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
        const job = await staged.root(createOutcome, { title: "job", parents: [rootId] });
        await staged.root(delegateOutcome, { id: job.id, hire: { name: "Waits", role: "worker" } });
        const sessions = async () =>
          (await staged.board(listSessions, { companyId })).sessions.filter(
            ({ agent }) => agent.id === job.id,
          );
        for (let hour = 0; hour < 3; hour++) {
          await stage.rest();
          advance(3_600_000);
        }
        assert.deepEqual(await sessions(), []);
        const { approvals: open } = await staged.root(approvals.listApprovals, { status: "pending" });
        runner.plan(job.id, async ({ call }) => void (await call(submitOutcome, { id: job.id })));
        await staged.board(approvals.approve, { id: open[0]?.id ?? "" });
        await stage.rest();
        assert.equal((await sessions()).length, 1);
        assert.equal(scheduler.running(), 0);
      }));
  });

function namesFor(operation: Operation, place: string): (subject: Subject) => readonly unknown[] {
  if (place.startsWith("change."))
    return place.includes("resource")
      ? (places["grants[].resource"] ?? (() => []))
      : ({ id, slug }) => (place.includes("outcomes") ? [id] : [id, slug]);
  if (place !== "id") return places[place] ?? (() => []);
  const noun = typeof operation.within === "string" ? "" : (Object.keys(operation.within)[0] ?? "");
  const found = ids[noun];
  assert.ok(found !== undefined, `${operation.name}: what is named by id?`);
  return found;
}

/** The places where an input can name an agent. Fails for a place that is in neither list above. */
function placesIn(operation: Operation): string[] {
  const judged = leavesOf(inputSchema(operation.input), "").flatMap((leaf) => {
    const kinds = Object.keys(changesNaming[leaf] ?? {});
    if (kinds.length > 0) return kinds.map((kind) => `${leaf} ${kind}`);
    const word = leaf.replace(/^change\.(?:manager\.|into\[\]\.agent\.)?/, "");
    assert.ok(
      leaf === "id" || leaf in places || words.has(word),
      `${operation.name} takes ${leaf}: can that name an agent?`,
    );
    return words.has(word) ? [] : [leaf];
  });
  return [...new Set(judged)];
}
