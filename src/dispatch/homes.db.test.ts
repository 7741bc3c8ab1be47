import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createKey, pauseAgent, resumeAgent, revokeKey, terminateAgent } from "../contract/agents.ts";
import { archiveCompany, createCompany } from "../contract/companies.ts";
import { createFile, readFile, writeFile } from "../contract/knowledge.ts";
import { listEvents } from "../contract/ledger.ts";
import { removeRepo } from "../contract/repos.ts";
import { newId } from "../daemon/ids.ts";
import { endSession } from "../runtime/sessions.ts";
import type { Store } from "../store/store.ts";
import {
  bothStores,
  createOrganization,
  openTestStore,
  refusal,
  sharedOrganization,
} from "../testing/organization.ts";
import { plantRepo } from "../testing/repos.ts";

for (const kind of bothStores)
  describe(`the remembered company of a credential on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind);
    const note = { description: "note", content: "x" };

    test("a write is refused as soon as its credential is invalid, however often it was valid before", async () => {
      const agent = await org.agent("Known");
      const { id: keyId, key } = await org.board(createKey, { id: agent.id, label: "ci" });
      const byKey = org.as(key);
      const session = await org.session(agent.id);
      for (const call of [byKey, session.call])
        for (let turn = 0; turn < 2; turn++) await call(createFile, note);

      await org.board(revokeKey, { id: agent.id, keyId });
      await refusal(byKey(createFile, note), "unauthenticated");
      await refusal(byKey(createFile, note), "unauthenticated");

      await store.write((tx) => endSession(tx, session.id, { reason: "done", exitCode: 0 }, newId));
      await refusal(session.call(createFile, note), "unauthenticated");

      await agent.call(createFile, note);
      await org.board(pauseAgent, { id: agent.id });
      assert.notEqual((await refusal(agent.call(createFile, note), "forbidden")).message, "");
      await org.board(resumeAgent, { id: agent.id });
      await agent.call(createFile, note);
      await org.board(terminateAgent, { id: agent.id });
      await refusal(agent.call(createFile, note), "unauthenticated");
    });

    test("none of many writes at the same time is made after the credential was revoked", async () => {
      const agent = await org.agent("Busy");
      const { id: keyId, key } = await org.board(createKey, { id: agent.id, label: "ci" });
      const call = org.as(key);
      await call(createFile, note);
      let isRevoked = false;
      const write = async (): Promise<"late" | "made" | "refused"> => {
        const wasRevoked = isRevoked;
        const made = await call(createFile, note).then(
          () => true,
          () => false,
        );
        return made ? (wasRevoked ? "late" : "made") : "refused";
      };
      const before = Array.from({ length: 10 }, write);
      const revoked = org.board(revokeKey, { id: agent.id, keyId }).then(() => (isRevoked = true));
      const beside = Array.from({ length: 10 }, write);
      await revoked;
      const after = Array.from({ length: 10 }, write);
      await Promise.all([...before, ...beside]);
      assert.deepEqual(new Set(await Promise.all(after)), new Set(["refused"]));
    });

    const changes = {
      "its key is revoked": {
        operation: "agent.revoke_key",
        change: (id: string, keyId: string) => org.board(revokeKey, { id, keyId }),
      },
      "its agent is paused": {
        operation: "agent.pause",
        change: (id: string) => org.board(pauseAgent, { id }),
      },
      "its agent has left": {
        operation: "agent.terminate",
        change: (id: string) => org.board(terminateAgent, { id }),
      },
    };
    for (const [name, { operation, change }] of Object.entries(changes))
      test(`of writes in one batch, none of a credential follows the moment when ${name}`, async () => {
        const agent = await org.agent(`Agent of which ${name}`);
        const { id: keyId, key } = await org.board(createKey, { id: agent.id });
        const call = org.as(key);
        await call(createFile, note);
        const write = () => call(createFile, note).catch(() => undefined);
        const some = () => Array.from({ length: 15 }, write);
        await Promise.all([...some(), change(agent.id, keyId), ...some()]);
        const { companyId } = org;
        const { events } = await org.board(listEvents, { companyId, order: "newest", limit: 200 });
        const at = events.findIndex((event) => event.operation === operation && event.subject === agent.id);
        assert.notEqual(at, -1);
        const later = events.slice(0, at).filter((event) => event.actor.agentId === agent.id);
        assert.deepEqual(
          later.filter((event) => event.operation !== "access.refused"),
          [],
        );
      });

    test("a person who names another company acts in that one", async () => {
      const other = await org.board(createCompany, { name: "Elsewhere" });
      const ids = [org.companyId, other.id, org.companyId, other.id];
      for (const companyId of ids) {
        const { id } = await org.board(createFile, { companyId, ...note });
        const outsider = companyId === org.companyId ? undefined : org.root;
        if (outsider === undefined) assert.equal((await org.board(readFile, { id })).version, 1);
        else await refusal(outsider(readFile, { id }), "not_found");
      }
    });

    test("a person who names things of two companies holds the lock of the company of each", async () => {
      const opened = await openTestStore(kind);
      const locked: string[] = [];
      const watching: Store = {
        ...opened.store,
        write: (work, on) =>
          opened.store.write((tx) => {
            const lock = (key: string): Promise<void> => {
              locked.push(key);
              return tx.lock(key);
            };
            locked.length = 0;
            return work({ ...tx, lock });
          }, on),
      };
      try {
        const { board, companyId, root } = await createOrganization(watching);
        const other = await board(createCompany, { name: "Next door" });
        const mine = await board(createFile, { companyId, ...note });
        const theirs = await board(createFile, { companyId: other.id, ...note });
        for (const [within, { id, version, hash }] of [
          [companyId, mine],
          [other.id, theirs],
        ] as const) {
          await board(writeFile, { id, version, hash, content: "more" });
          assert.ok(locked.includes(within));
        }
        const { id, version, hash } = theirs;
        await refusal(root(writeFile, { id, version, hash, content: "x" }), "not_found");
      } finally {
        await opened.close();
      }
    });

    test("the next company of a person may be another one, also for an operation that works outside of its transactions", async () => {
      const opened = await openTestStore(kind);
      try {
        const { board, companyId } = await createOrganization(opened.store);
        await board(createFile, note);
        await board(archiveCompany, { companyId });
        const { id } = await board(createCompany, { name: "Next" });
        await plantRepo(opened.store, id, "site");
        assert.equal((await board(removeRepo, { name: "site" })).name, "site");
      } finally {
        await opened.close();
      }
    });
  });
