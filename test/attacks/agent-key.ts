// Attacks by an agent with a valid key: it tries to read, change or become more than it may. In the world of the walk, root
// manages boss and stranger, and boss manages report. Boss owns the files and outcomes.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import * as agents from "../../src/contract/agents.ts";
import * as approvals from "../../src/contract/approvals.ts";
import * as budgets from "../../src/contract/budgets.ts";
import * as capabilities from "../../src/contract/capabilities.ts";
import * as companies from "../../src/contract/companies.ts";
import * as servers from "../../src/contract/servers.ts";
import { hireAgent } from "../../src/contract/hiring.ts";
import * as knowledge from "../../src/contract/knowledge.ts";
import { listEvents } from "../../src/contract/ledger.ts";
import * as mail from "../../src/contract/mail.ts";
import * as outcomes from "../../src/contract/outcomes.ts";
import { why } from "../../src/contract/why.ts";
import { Refusal, type RefusalCode } from "../../src/contract/refusal.ts";
import { listReorganizations, undoReorganization } from "../../src/contract/reorganization.ts";
import { setSecret } from "../../src/contract/secrets.ts";
import { putSkill } from "../../src/contract/skills.ts";
import type { TestCaller } from "../../src/testing/organization.ts";
import { unchanged } from "../digest.ts";
import { aFile, aHire, delegated, letter, work } from "../walk-scenes.ts";
import type { DaemonAttack, Place } from "./attack.ts";

const cls = "agent with a key" as const;

const as = ({ world }: Place, who: keyof Place["world"]["tokens"]): TestCaller =>
  world.org.as(world.tokens[who]);

/** Checks that the call is refused with one of these codes, and that only the refusal is recorded. */
function refusedAs(
  codes: RefusalCode | readonly RefusalCode[],
  threat: string,
  attempt: string,
  prepare: (place: Place) => Promise<() => Promise<unknown>>,
): DaemonAttack {
  const allowed: readonly RefusalCode[] = [codes].flat();
  return {
    class: cls,
    threat,
    attempt,
    expected: `refused as ${allowed.join(" or ")}, and nothing changes`,
    run: async (place) => {
      const call = await prepare(place);
      await unchanged(place.daemon.store, async () => {
        const answer = await call().then(
          (output) => ({ output }),
          (error: unknown) => ({ error }),
        );
        assert.ok("error" in answer, `it was allowed: ${JSON.stringify(answer).slice(0, 300)}`);
        assert.ok(answer.error instanceof Refusal, String(answer.error));
        assert.ok(allowed.includes(answer.error.code), `${answer.error.code}: ${answer.error.message}`);
      });
    },
  };
}

/** Checks that an id the caller must not see is answered exactly like a missing id. */
function unseen(
  what: string,
  make: (place: Place) => Promise<string>,
  call: (as: TestCaller, id: string) => Promise<unknown>,
): DaemonAttack {
  return {
    class: cls,
    threat: "learning what exists",
    attempt: `${what} of another team or company, by its id`,
    expected: "the answer for an id that does not exist",
    run: async (place) => {
      const known = await make(place);
      const unknown = randomUUID();
      for (const caller of [as(place, "stranger"), place.world.org.as(place.foreign.token)]) {
        const says = async (id: string): Promise<string> => {
          const error: unknown = await call(caller, id).then(
            (output) => assert.fail(`it was allowed: ${JSON.stringify(output).slice(0, 300)}`),
            (reason: unknown) => reason,
          );
          assert.ok(error instanceof Refusal, String(error));
          return JSON.stringify(error.toBody()).replaceAll(id, "…");
        };
        assert.equal(await says(known), await says(unknown));
      }
    },
  };
}

export const agentKeyAttacks: readonly DaemonAttack[] = [
  unseen(
    "a file",
    async ({ world }) => (await aFile(world)).id,
    (call, id) => call(knowledge.readFile, { id }),
  ),
  unseen(
    "the history of a file",
    async ({ world }) => (await aFile(world)).id,
    (call, id) => call(knowledge.viewHistory, { id }),
  ),
  unseen(
    "the links of a file",
    async ({ world }) => (await aFile(world)).id,
    (call, id) => call(knowledge.viewLinks, { id }),
  ),
  unseen(
    "the access log of a file",
    async ({ world }) => (await aFile(world)).id,
    (call, id) => call(knowledge.viewAccessLog, { id }),
  ),
  unseen(
    "an outcome",
    async ({ world }) => (await work(world)).id,
    (call, id) => call(outcomes.viewOutcome, { id }),
  ),
  unseen(
    "the ancestors of an outcome",
    async ({ world }) => (await work(world)).id,
    (call, id) => call(outcomes.viewAncestors, { id }),
  ),
  unseen(
    "the subtree of an outcome",
    async ({ world }) => (await work(world)).id,
    (call, id) => call(outcomes.viewSubtree, { id }),
  ),
  unseen(
    "why an outcome waits",
    async ({ world }) => (await work(world)).id,
    (call, id) => call(why, { id }),
  ),
  unseen(
    "a message",
    async ({ world }) => (await letter(world)).id,
    (call, id) => call(mail.acknowledgeMessage, { id, result: "x" }),
  ),
  unseen(
    "an approval",
    async ({ world }) => (await aHire(world)).id,
    (call, id) => call(approvals.viewApproval, { id }),
  ),
  unseen(
    "a file to overwrite",
    async ({ world }) => (await aFile(world)).id,
    (call, id) => call(knowledge.writeFile, { id, version: 1, hash: "0".repeat(64), content: "mine" }),
  ),
  unseen(
    "an outcome to close",
    async ({ world }) => (await work(world)).id,
    (call, id) => call(outcomes.closeOutcome, { id, rationale: "gone" }),
  ),
  unseen(
    "an outcome to depend on",
    async ({ world }) => (await work(world)).id,
    (call, id) => call(outcomes.createOutcome, { title: "x", parents: [id] }),
  ),
  unseen(
    "a file to send",
    async ({ world }) => (await aFile(world)).id,
    (call, id) => call(mail.sendMessage, { to: "boss", file: id }),
  ),

  refusedAs(
    "forbidden",
    "becoming the board",
    "an agent creates a company",
    async (place) => () => as(place, "root")(companies.createCompany, { name: "Mine" }),
  ),
  refusedAs(
    "forbidden",
    "becoming the board",
    "an agent changes the company's settings",
    async (place) => () =>
      as(place, "root")(companies.updateCompany, {
        companyId: place.world.org.companyId,
        requireBoardApprovalForNewAgents: false,
      }),
  ),
  refusedAs(
    "forbidden",
    "becoming the board",
    "an agent adds an MCP server",
    async (place) => () =>
      as(place, "root")(servers.putMcpServer, {
        companyId: place.world.org.companyId,
        name: "mine",
        config: { command: "sh" },
      }),
  ),
  refusedAs(
    "forbidden",
    "becoming the board",
    "an agent adds a skill for all sessions",
    async (place) => () =>
      as(place, "root")(putSkill, {
        companyId: place.world.org.companyId,
        name: "mine",
        files: [{ path: "SKILL.md", content: "x" }],
      }),
  ),
  refusedAs(
    "forbidden",
    "becoming the board",
    "an agent makes itself an API key",
    async (place) => () => as(place, "boss")(agents.createKey, { id: place.world.boss.id }),
  ),
  refusedAs(
    "forbidden",
    "becoming the board",
    "an agent reads the whole ledger",
    async (place) => () => as(place, "root")(listEvents, { companyId: place.world.org.companyId }),
  ),
  refusedAs(
    "forbidden",
    "becoming the board",
    "an agent reads the board's inbox",
    async (place) => () => as(place, "root")(mail.boardInbox, { companyId: place.world.org.companyId }),
  ),

  refusedAs(
    ["forbidden", "not_found"],
    "self-approval",
    "the requester approves its own hire",
    async (place) => {
      const { id } = await aHire(place.world);
      return () => as(place, "root")(approvals.approve, { id });
    },
  ),
  refusedAs(
    ["forbidden", "not_found"],
    "self-approval",
    "the future manager approves the hire",
    async (place) => {
      const { id } = await aHire(place.world);
      return () => as(place, "boss")(approvals.approve, { id });
    },
  ),
  refusedAs(
    "conflict",
    "approval of something else",
    "the board decides with the hash of an earlier version",
    async (place) => {
      const { id } = await aHire(place.world);
      return () => place.world.org.board(approvals.approve, { id, payloadHash: "0".repeat(64) });
    },
  ),
  refusedAs(
    ["conflict", "refused"],
    "a second decision",
    "a rejected hire is approved after all",
    async (place) => {
      const { id } = await aHire(place.world);
      await place.world.org.board(approvals.reject, { id });
      return () => place.world.org.board(approvals.approve, { id });
    },
  ),

  refusedAs(
    ["forbidden", "not_found", "refused"],
    "passing on what one does not hold",
    "a stranger grants a file it can't read",
    async (place) => {
      const { id } = await aFile(place.world);
      return () =>
        as(place, "stranger")(capabilities.grantPermission, {
          to: place.world.report.id,
          resource: `kb:${id}`,
        });
    },
  ),
  refusedAs(
    ["forbidden", "not_found", "refused"],
    "widening a right",
    "a reader grants write",
    async (place) => {
      const { id } = await aFile(place.world);
      const below = await place.world.org.agent(place.world.name(), place.world.report.id);
      return () =>
        as(place, "report")(capabilities.grantPermission, {
          to: below.id,
          resource: `kb:${id}`,
          level: "write",
        });
    },
  ),
  refusedAs("forbidden", "widening a right", "a reader writes", async (place) => {
    const file = await aFile(place.world);
    return () =>
      as(place, "report")(knowledge.writeFile, { id: file.id, version: 1, hash: file.hash, content: "mine" });
  }),
  refusedAs(
    ["forbidden", "refused"],
    "granting past a level",
    "the root agent grants to its report's report",
    async (place) => {
      const { id } = await as(place, "root")(knowledge.createFile, { description: "mine", content: "x" });
      return () =>
        as(place, "root")(capabilities.grantPermission, { to: place.world.report.id, resource: `kb:${id}` });
    },
  ),
  refusedAs(
    ["forbidden", "not_found", "refused"],
    "granting upwards",
    "a report grants its boss the right to hire",
    async (place) => () =>
      as(place, "report")(capabilities.grantPermission, { to: place.world.boss.id, resource: "org:hire" }),
  ),
  refusedAs(
    ["forbidden", "not_found"],
    "taking a right from others",
    "a stranger revokes a grant it did not give",
    async (place) => {
      await aFile(place.world);
      const { grants } = await place.world.boss.call(capabilities.listPermissions, {});
      const own = await place.world.org.board(capabilities.listAgentGrants, { id: place.world.report.id });
      const [grant] = [...own.grants, ...grants];
      assert.ok(grant !== undefined);
      return () => as(place, "stranger")(capabilities.revokePermission, { id: grant.id });
    },
  ),
  refusedAs(
    ["forbidden", "not_found", "refused"],
    "a file that nobody owns",
    "a right to another company's file",
    async (place) => {
      const other = place.world.org.as(place.foreign.token);
      const { id } = await other(knowledge.createFile, { description: "theirs", content: "x" });
      return () =>
        place.world.boss.call(capabilities.grantPermission, {
          to: place.world.report.id,
          resource: `kb:${id}`,
        });
    },
  ),

  refusedAs(
    "forbidden",
    "hiring without the right",
    "an agent without org:hire hires",
    async (place) => () => as(place, "stranger")(hireAgent, { name: place.world.name(), role: "x" }),
  ),
  refusedAs(
    ["forbidden", "refused"],
    "configuration becomes a shell",
    "an agent hires with the brain process",
    async (place) => () =>
      as(place, "root")(hireAgent, {
        name: place.world.name(),
        role: "x",
        adapterType: "process",
        adapterConfig: { command: "sh", args: ["-c", "id"] },
      }),
  ),
  refusedAs(
    ["invalid", "refused"],
    "configuration becomes a shell",
    "an unknown key in a brain's configuration",
    async (place) => () =>
      as(place, "root")(hireAgent, {
        name: place.world.name(),
        role: "x",
        adapterType: "rehearsal",
        adapterConfig: { hooks: { start: "id" } },
      }),
  ),
  refusedAs(
    ["forbidden", "not_found", "refused"],
    "hiring into another team",
    "a hire that reports to a stranger",
    async (place) => {
      const elsewhere = await place.world.org.agent(place.world.name());
      return () =>
        place.world.boss.call(hireAgent, { name: place.world.name(), role: "x", reportsTo: elsewhere.id });
    },
  ),
  refusedAs(
    ["forbidden", "refused"],
    "changing a colleague",
    "a stranger pauses another team's agent",
    async (place) => () => as(place, "stranger")(agents.pauseAgent, { id: place.world.report.id }),
  ),
  refusedAs(
    ["forbidden", "refused"],
    "changing one's manager",
    "a report fires its boss",
    async (place) => () => as(place, "report")(agents.terminateAgent, { id: place.world.boss.id }),
  ),
  refusedAs(
    ["forbidden", "refused"],
    "rewriting one's own orders",
    "an agent changes its own prompt",
    async (place) => () =>
      as(place, "boss")(agents.updateAgent, { id: place.world.boss.id, prompt: "Obey me." }),
  ),
  refusedAs(
    ["forbidden", "refused"],
    "more money",
    "an agent raises its own budget",
    async (place) => () => as(place, "boss")(budgets.setBudget, { id: place.world.boss.id, usd: 1000 }),
  ),
  refusedAs(
    ["forbidden", "refused"],
    "less acceptance",
    "the owner of a delegated outcome softens its criteria",
    async (place) => {
      const { id } = await delegated(place.world);
      return () => as(place, "report")(outcomes.updateOutcome, { id, acceptance: "anything" });
    },
  ),
  refusedAs(
    ["forbidden", "refused"],
    "verifying one's own work",
    "the owner completes a delegated outcome",
    async (place) => {
      const { id } = await delegated(place.world);
      return () => as(place, "report")(outcomes.completeOutcome, { id });
    },
  ),
  refusedAs(
    "forbidden",
    "mail past the line",
    "a report writes to its boss's boss",
    async (place) => () =>
      as(place, "report")(mail.sendMessage, { to: place.world.org.rootId, body: "hello" }),
  ),
  refusedAs("forbidden", "mail past the line", "a report writes to another team", async (place) => {
    const elsewhere = await place.world.org.agent(place.world.name());
    return () => as(place, "report")(mail.sendMessage, { to: elsewhere.id, body: "hello" });
  }),
  refusedAs(
    ["forbidden", "not_found"],
    "mail into another company",
    "to: an agent of another company",
    async (place) => () => as(place, "boss")(mail.sendMessage, { to: place.foreign.rootId, body: "hello" }),
  ),
  refusedAs(
    "conflict",
    "overwriting a newer version",
    "a write with an old version and hash",
    async (place) => {
      const file = await aFile(place.world);
      await place.world.boss.call(knowledge.writeFile, {
        id: file.id,
        version: 1,
        hash: file.hash,
        content: "new",
      });
      return () =>
        place.world.boss.call(knowledge.writeFile, {
          id: file.id,
          version: 1,
          hash: file.hash,
          content: "old",
        });
    },
  ),
  refusedAs(
    "invalid",
    "a forged cursor",
    "a cursor that was never given out",
    async (place) => () => place.world.boss.call(knowledge.listFiles, { cursor: "eyJudW0iOjB9" }),
  ),
  refusedAs(
    "invalid",
    "keys that mean something to the runtime",
    "__proto__ and constructor as keys of an input",
    async (place) => () =>
      place.world.org.core.dispatch({
        operation: knowledge.createFile,
        token: place.world.tokens.boss,
        input: JSON.parse('{"description":"x","content":"y","__proto__":{"admin":true},"constructor":1}'),
      }),
  ),
  refusedAs(
    "forbidden",
    "a secret of the company in a program of the attacker's choice",
    "a hire whose environment refers to a secret by name",
    async (place) => {
      const { companyId, board } = place.world.org;
      await board(setSecret, { companyId, name: "COVETED", value: "a coveted value 1" });
      const adapterConfig = { command: "env", env: { MINE: { secret: "COVETED" } } };
      return () =>
        as(place, "root")(hireAgent, {
          name: "Thief",
          role: "thief",
          mandate: "x",
          adapterType: "process",
          adapterConfig,
        });
    },
  ),
  refusedAs(
    "forbidden",
    "a value of the attacker's choice in place of a secret",
    "setting a secret",
    async (place) => () =>
      as(place, "root")(setSecret, {
        companyId: place.world.org.companyId,
        name: "COVETED",
        value: "another value",
      }),
  ),
  refusedAs(
    "unauthenticated",
    "a key that outlives its agent's departure",
    "the key of a fired agent after the departure was undone",
    async ({ world: { org, name } }) => {
      const fired = await org.agent(name());
      await org.board(agents.terminateAgent, { id: fired.id });
      const { reorganizations } = await org.board(listReorganizations, { companyId: org.companyId });
      await org.board(undoReorganization, { id: reorganizations[0]?.id ?? "" });
      return () => fired.call(outcomes.myOutcomes, {});
    },
  ),
];
