import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFile, listFiles, readFile, writeFile } from "../contract/knowledge.ts";
import { createAgent } from "../contract/hiring.ts";
import {
  createKey,
  listAgents,
  listKeys,
  revokeKey,
  terminateAgent,
  updateAgent,
  viewAgent,
} from "../contract/agents.ts";
import { newId } from "../daemon/ids.ts";
import { refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";
import { endSession } from "../runtime/sessions.ts";

for (const kind of storeKinds)
  describe(`agents on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind);

    const hire = (name: string, more: { reportsTo?: string } = {}) =>
      org.board(createAgent, { companyId: org.companyId, name, role: "worker", ...more });

    test("names are of any script, unique however they are typed, and a few are reserved", async () => {
      for (const [name, slug] of [
        ["张伟", "张伟"],
        ["مساعد البحث", "مساعد-البحث"],
        ["Zoë", "zoë"],
        ["Lead  Dev", "lead-dev"],
      ] as const) {
        const agent = await hire(name);
        assert.equal(agent.slug, slug);
        assert.equal(agent.mandateId, agent.id);
      }
      assert.match((await hire("🦊🦊")).slug, /^agent-[0-9a-f]{8}$/);
      await refusal(hire("Zoe\u0308"), "conflict");
      await refusal(hire("LEAD DEV"), "conflict");
      for (const name of ["human", "User", "BOARD", "system", "Agency"]) await refusal(hire(name), "refused");
      await refusal(hire(""), "invalid");
      await refusal(hire("x".repeat(65)), "invalid");
      const twin = await hire("lead-dev");
      assert.match(twin.slug, /^lead-dev-[0-9a-f]{8}$/);
    });

    test("a name is free again when its agent has left, and the successor inherits nothing", async () => {
      const first = await org.agent("Phoenix");
      const file = await first.call(createFile, { description: "ashes", content: "x" });
      await org.board(terminateAgent, { id: first.id });
      const second = await org.agent("Phoenix");
      assert.notEqual(second.id, first.id);
      await refusal(second.call(readFile, { id: file.id }), "not_found");
      await refusal(first.call(readFile, { id: file.id }), "unauthenticated");
      await refusal(org.board(createKey, { id: first.id }), "refused");
      await refusal(hire("Child", { reportsTo: first.id }), "refused");
    });

    test("renaming keeps the rules of names", async () => {
      const a = await hire("Alpha");
      await hire("Beta");
      await refusal(org.board(updateAgent, { id: a.id, name: "beta" }), "conflict");
      const renamed = await org.board(updateAgent, { id: a.id, name: "Gamma", title: "Lead" });
      assert.deepEqual([renamed.name, renamed.slug, renamed.title], ["Gamma", "gamma", "Lead"]);
    });

    test("a key works until it is revoked, and is shown once", async () => {
      const agent = await hire("Keyed");
      const made = await org.board(createKey, { id: agent.id, label: "ci" }, { key: "once" });
      const again = await org.board(createKey, { id: agent.id, label: "ci" }, { key: "once" });
      assert.equal(again.id, made.id);
      assert.equal(again.key, "[shown once]");
      const call = org.as(made.key);
      await call(viewAgent, { id: agent.id });
      await org.board(revokeKey, { id: agent.id, keyId: made.id });
      await refusal(call(viewAgent, { id: agent.id }), "unauthenticated");
      await refusal(org.board(revokeKey, { id: agent.id, keyId: made.id }), "conflict");
      assert.equal((await org.board(listKeys, { id: agent.id })).keys.length, 1);
    });

    test("only the newest session of an agent is accepted, and only until it ends", async () => {
      const agent = await hire("Busy");
      const old = await org.session(agent.id);
      await old.call(viewAgent, { id: agent.id });
      assert.equal((await org.board(viewAgent, { id: agent.id })).status, "running");
      const fresh = await org.session(agent.id);
      await refusal(old.call(createFile, { description: "stale", content: "x" }), "unauthenticated");
      await fresh.call(createFile, { description: "fresh", content: "x" });
      await store.write((tx) => endSession(tx, fresh.id, { reason: "done", exitCode: 0 }, newId));
      await refusal(fresh.call(viewAgent, { id: agent.id }), "unauthenticated");
      assert.equal((await org.board(viewAgent, { id: agent.id })).status, "idle");
    });

    test("an agent writes its own state document and no other", async () => {
      const one = await org.agent("Stateful");
      const two = await org.agent("Nosy");
      const { stateFileId: id } = await org.board(viewAgent, { id: one.id });
      const state = await one.call(readFile, { id });
      await one.call(writeFile, { id, content: "# now", version: state.version, hash: state.hash });
      await refusal(two.call(readFile, { id }), "not_found");
      const listed = await one.call(listFiles, { kind: "state" });
      assert.deepEqual(
        listed.files.map((file) => [file.id, file.level]),
        [[id, "write"]],
      );
    });

    test("agents are listed page by page and can be filtered by status", async () => {
      const other = await org.another();
      for (let index = 0; index < 5; index++) await other.agent(`N${index}`);
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page: { agents: { name: string }[]; nextCursor: string | null } = await org.board(listAgents, {
          companyId: other.companyId,
          limit: 2,
          ...(cursor === undefined ? {} : { cursor }),
        });
        seen.push(...page.agents.map(({ name }) => name));
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
      assert.deepEqual(seen.toSorted(), ["N0", "N1", "N2", "N3", "N4", "Root"]);
      await other.session(other.rootId);
      const running = await org.board(listAgents, { companyId: other.companyId, status: "running" });
      assert.deepEqual(
        running.agents.map(({ id }) => id),
        [other.rootId],
      );
    });
  });
