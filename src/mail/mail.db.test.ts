import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { listEvents } from "../contract/ledger.ts";
import {
  createFile,
  deleteFile,
  listFiles,
  readFile,
  readVersion,
  searchFiles,
  viewAccessLog,
  viewHistory,
  viewLinks,
  writeFile,
} from "../contract/knowledge.ts";
import {
  acknowledgeMessage,
  agentInbox,
  boardInbox,
  listSent,
  readInbox,
  sendDeferredMessage,
  sendMessage,
  viewMessage,
} from "../contract/mail.ts";
import {
  explainAccess,
  grantPermission,
  listPermissions,
  revokePermission,
} from "../contract/capabilities.ts";
import { terminateAgent, updateAgent } from "../contract/agents.ts";
import { completeOutcome, myOutcomes } from "../contract/outcomes.ts";
import { isInboxFull } from "./table.ts";
import {
  type TestCaller,
  refusal,
  sharedOrganization,
  storeKinds,
  teamsIn,
} from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`mail on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind);

    const team = teamsIn(org);
    const inboxes = async (call: TestCaller) =>
      (await call(myOutcomes, { limit: 1000 })).outcomes.filter((outcome) => outcome.kind === "inbox");
    const bodies = async (call: TestCaller) =>
      (await call(readInbox, {})).messages.map((message) => message.body);

    test("a message to a full inbox is refused", async () => {
      const { boss, ann } = await team();
      const isFull = (to: string | null, most: number) =>
        store.read((tx) => isInboxFull(tx, org.companyId, to, most));
      const sent = [];
      for (const body of ["one", "two", "three"])
        sent.push(await ann.call(sendMessage, { to: "boss", body }));
      assert.deepEqual([await isFull(boss.id, 3), await isFull(boss.id, 4)], [true, false]);
      await boss.call(acknowledgeMessage, { id: sent[0]?.id ?? "" });
      assert.deepEqual([await isFull(boss.id, 2), await isFull(boss.id, 3)], [true, false]);
      assert.equal(await isFull(ann.id, 1), false);
      const waiting = (await org.board(boardInbox, { companyId: org.companyId })).waiting;
      await org.root(sendMessage, { to: "board", body: "four" });
      assert.deepEqual([await isFull(null, waiting + 1), await isFull(null, waiting + 2)], [true, false]);
    });

    // covers MSG-02, MSG-03, MSG-07
    test("text becomes a knowledge file that only its sender and its reader may read", async () => {
      const { boss, ann, ben, deep } = await team();
      const sent = await ann.call(sendMessage, { to: "boss", body: "# How it goes\n\nWell." });
      assert.equal(sent.from.id, ann.id);
      assert.equal(sent.to.id, boss.id);
      assert.equal(sent.body, "# How it goes\n\nWell.");
      assert.notEqual(sent.deliveredAt, null);
      const file = await boss.call(readFile, { id: sent.file });
      assert.equal(file.content, "# How it goes\n\nWell.");
      assert.equal(file.description, "Message: # How it goes");
      assert.equal((await ann.call(readFile, { id: sent.file })).version, 1);
      for (const other of [ben, deep]) await refusal(other.call(readFile, { id: sent.file }), "not_found");
      await refusal(org.root(readFile, { id: sent.file }), "not_found");
      // The text of a message is stored, versioned and recorded like any other file.
      assert.equal((await boss.call(viewHistory, { id: sent.file })).versions[0]?.author.agentId, ann.id);
      const log = await boss.call(viewAccessLog, { id: sent.file });
      assert.deepEqual(
        log.accesses.map(({ action, by }) => [action, by.agentId]),
        [
          ["knowledge.read", ann.id],
          ["knowledge.read", boss.id],
        ],
      );
      // A sent message can't be changed.
      for (const { call } of [ann, boss])
        await refusal(
          call(writeFile, { id: sent.file, content: "x", version: 1, hash: file.hash }),
          "forbidden",
        );
    });

    // covers MSG-03
    test("a file sent by its id is readable for the receiver, and a file that the sender can't read can't be sent", async () => {
      const { boss, ann, ben } = await team();
      const file = await ann.call(createFile, { description: "the result", content: "42" });
      await refusal(boss.call(readFile, { id: file.id }), "not_found");
      const sent = await ann.call(sendMessage, { to: boss.id, file: file.id });
      assert.equal(sent.file, file.id);
      assert.equal((await boss.call(readFile, { id: file.id })).content, "42");
      await refusal(
        boss.call(writeFile, { id: file.id, content: "43", version: 1, hash: file.hash }),
        "forbidden",
      );
      await refusal(ben.call(sendMessage, { to: "boss", file: file.id }), "not_found");
      const elsewhere = await org.another();
      const foreign = await elsewhere.root(createFile, { description: "theirs", content: "x" });
      await refusal(ann.call(sendMessage, { to: "boss", file: foreign.id }), "not_found");
      await refusal(ann.call(sendMessage, { to: "boss" }), "invalid");
      await refusal(ann.call(sendMessage, { to: "boss", body: "x", file: file.id }), "invalid");
    });

    test("sending a file on does not keep a right alive that was taken away", async () => {
      const { boss, ann, deep } = await team();
      const file = await boss.call(createFile, { description: "lent", content: "secret plan" });
      const grant = await boss.call(grantPermission, { to: ann.id, resource: `kb:${file.id}` });
      await ann.call(sendMessage, { to: deep.id, file: file.id });
      const later = new Date(Date.now() + 3_600_000).toISOString();
      await ann.call(sendDeferredMessage, { to: "self", file: file.id, deliverAt: later });
      await ann.call(sendDeferredMessage, {
        to: "self",
        file: file.id,
        deliverAt: new Date(0).toISOString(),
      });
      await ann.call(readFile, { id: file.id });
      await boss.call(revokePermission, { id: grant.id });
      await refusal(ann.call(readFile, { id: file.id }), "not_found");
      // Deep got the file from Ann, who can't read it any more.
      await refusal(deep.call(readFile, { id: file.id }), "not_found");
      for (const { body } of (await ann.call(listSent, {})).messages) assert.equal(body, null);
      for (const { body } of (await deep.call(readInbox, {})).messages) assert.equal(body, null);
    });

    test("a message shows the version that was sent, and its file no other version", async () => {
      const { boss, ann } = await team();
      const file = await ann.call(createFile, { description: "first wombat", content: "first quokka" });
      const sent = await ann.call(sendMessage, { to: boss.id, file: file.id });
      const next = { id: file.id, content: "second numbat", description: "second wombat" };
      const second = await ann.call(writeFile, { ...next, version: 1, hash: file.hash });
      for (const { call } of [ann, boss])
        assert.equal((await call(viewMessage, { id: sent.id })).body, "first quokka");
      const seen = await boss.call(readFile, { id: file.id });
      assert.deepEqual(
        [seen.description, seen.content, seen.version, seen.pinned],
        ["first wombat", "first quokka", 1, true],
      );
      assert.equal((await ann.call(readFile, { id: file.id })).pinned, undefined);
      await refusal(boss.call(readVersion, { id: file.id, version: 2 }), "not_found");
      const { versions } = await boss.call(viewHistory, { id: file.id });
      assert.deepEqual(
        versions.map(({ version }) => version),
        [1],
      );
      await refusal(boss.call(viewAccessLog, { id: file.id }), "not_found");
      await refusal(boss.call(viewLinks, { id: file.id }), "not_found");
      for (const [query, found] of Object.entries({
        quokka: [1],
        numbat: [],
        "second wombat": [],
        wombat: [1],
      }))
        assert.deepEqual(
          (await boss.call(searchFiles, { query })).files.map(({ version }) => version),
          found,
          query,
        );
      const listed = (await boss.call(listFiles, {})).files.find(({ id }) => id === file.id);
      assert.deepEqual([listed?.description, listed?.version, listed?.pinned], ["first wombat", 1, true]);
      const toAnn = await boss.call(sendMessage, { to: ann.id, file: file.id });
      assert.equal(toAnn.body, "first quokka");
      const readable = { resource: `kb:${file.id}`, level: "read" } as const;
      assert.equal((await boss.call(explainAccess, readable)).allowed, true);
      await refusal(boss.call(grantPermission, { to: ann.id, ...readable }), "not_found");
      const log = await ann.call(viewAccessLog, { id: file.id });
      assert.deepEqual(
        log.accesses
          .filter(({ by }) => by.agentId === boss.id)
          .map(({ action, version }) => [action, version]),
        // Shown as a message, read, and found twice by search.
        Array.from({ length: 4 }, () => ["knowledge.read", 1]),
      );
      // The right lasts as long as the sender's right, and ends with the file.
      await ann.call(deleteFile, { id: second.id });
      assert.equal((await boss.call(viewMessage, { id: sent.id })).body, null);
    });

    test("message and file are written in one transaction, so a refused send leaves neither", async () => {
      const { ann } = await team();
      const files = async () =>
        (await org.board(listEvents, { companyId: org.companyId, limit: 1000 })).events.at(-1)?.seq;
      const before = await files();
      await refusal(ann.call(sendMessage, { to: org.rootId, body: "over your head" }), "forbidden");
      const { events } = await org.board(listEvents, {
        companyId: org.companyId,
        after: before ?? 0,
        limit: 1000,
      });
      assert.deepEqual(
        events.map(({ operation }) => operation),
        ["access.refused"],
      );
      assert.equal((await ann.call(listSent, {})).messages.length, 0);
    });

    // covers MSG-04, CAP-14, CAP-15, CAP-16, DEL-12, NOTE-03
    test("a manager and a report may write to each other, and to no other agent", async () => {
      const { boss, ann, ben, deep, number } = await team();
      await boss.call(sendMessage, { to: ann.id, body: "down" });
      await ann.call(sendMessage, { to: "boss", body: "up" });
      await ann.call(sendMessage, { to: "deep-" + String(number), body: "down, by slug" });
      await ann.call(sendMessage, { to: `@Deep-${number}`, body: "down, as people write it" });
      await refusal(boss.call(sendMessage, { to: deep.id, body: "skip-level" }), "forbidden");
      await refusal(ann.call(sendMessage, { to: ben.id, body: "sibling" }), "forbidden");
      await refusal(deep.call(sendMessage, { to: boss.id, body: "boss's boss" }), "forbidden");
      await refusal(ann.call(sendMessage, { to: "board", body: "the board" }), "forbidden");
      const elsewhere = await org.another();
      const foreign = await elsewhere.agent("Foreign");
      await refusal(ann.call(sendMessage, { to: foreign.id, body: "another company" }), "not_found");
      await refusal(ann.call(sendMessage, { to: elsewhere.rootId, body: "another root" }), "not_found");
      await refusal(ann.call(sendMessage, { to: "nobody-of-that-name", body: "x" }), "not_found");
      await refusal(ann.call(sendMessage, { body: "to whom?" }), "invalid");
      // The routes are listed as rights that follow from the agent's place.
      const { structural } = await ann.call(listPermissions, {});
      assert.deepEqual(
        structural
          .filter(({ resource }) => resource.startsWith("mail:"))
          .map(({ resource }) => resource)
          .toSorted(),
        [`mail:${boss.id}`, `mail:${deep.id}`, `mail:${ann.id}`].toSorted(),
      );
      assert.equal((await inboxes(ben.call)).length, 0);
    });

    test("a message to oneself without a delivery time is refused, whatever name the agent uses for itself", async () => {
      const { ann, number } = await team();
      for (const to of ["self", "Self", "@self", ann.id, `ann-${number}`])
        await refusal(ann.call(sendMessage, { to, body: "hm" }), "refused");
      assert.equal((await inboxes(ann.call)).length, 0);
    });

    test("an agent that left gets no mail from any sender", async () => {
      const { boss, ann, number } = await team();
      await org.board(terminateAgent, { id: ann.id });
      await refusal(boss.call(sendMessage, { to: ann.id, body: "still there?" }), "forbidden");
      await refusal(boss.call(sendMessage, { to: `ann-${number}`, body: "still there?" }), "not_found");
      await refusal(
        org.board(sendMessage, { companyId: org.companyId, to: ann.id, body: "hello?" }),
        "refused",
      );
      await refusal(ann.call(sendMessage, { to: "boss", body: "I am back" }), "unauthenticated");
    });

    test("a person can open a route between two agents, and close it again", async () => {
      const { ann, ben } = await team();
      const grant = await org.board(grantPermission, {
        companyId: org.companyId,
        to: ann.id,
        resource: `mail:${ben.id}`,
      });
      await ann.call(sendMessage, { to: ben.id, body: "as agreed" });
      await ben.call(sendMessage, { to: ann.id, body: "my one answer" });
      await refusal(ben.call(sendMessage, { to: ann.id, body: "one way only" }), "forbidden");
      await org.board(revokePermission, { id: grant.id });
      await refusal(ann.call(sendMessage, { to: ben.id, body: "once more" }), "forbidden");
    });

    // covers MSG-08, AGT-04
    test("mail makes one inbox outcome, which ends with the last message, and the next message makes another", async () => {
      const { boss, ann } = await team();
      const first = await boss.call(sendMessage, { to: ann.id, body: "one" });
      const second = await boss.call(sendMessage, { to: ann.id, body: "two" });
      const [inbox, ...more] = await inboxes(ann.call);
      assert.equal(more.length, 0);
      assert.equal(inbox?.status, "open");
      assert.equal(inbox?.title, "Process inbox");
      assert.ok(inbox?.workable && inbox.urgent && inbox.important);
      await refusal(ann.call(completeOutcome, { id: inbox.id }), "refused");
      await ann.call(acknowledgeMessage, { id: first.id, result: "noted" });
      assert.equal((await inboxes(ann.call))[0]?.status, "open");
      await ann.call(acknowledgeMessage, { id: second.id });
      assert.deepEqual(
        (await inboxes(ann.call)).map(({ status }) => status),
        ["completed"],
      );
      await boss.call(sendMessage, { to: ann.id, body: "three" });
      assert.deepEqual((await inboxes(ann.call)).map(({ status }) => status).toSorted(), [
        "completed",
        "open",
      ]);
    });

    test("many messages at the same time still make one inbox outcome", async () => {
      const { boss, ann } = await team();
      await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          boss.call(sendMessage, { to: ann.id, body: `message ${index}` }),
        ),
      );
      assert.equal((await inboxes(ann.call)).length, 1);
      assert.equal((await ann.call(readInbox, {})).waiting, 8);
    });

    // covers MSG-01, MSG-07
    test("the inbox is listed oldest first, keeps unacknowledged messages, and the sender sees each receipt and result", async () => {
      const { boss, ann, ben } = await team();
      const ids: string[] = [];
      for (const body of ["one", "two", "three"])
        ids.push((await boss.call(sendMessage, { to: ann.id, body })).id);
      const [first = "", second = ""] = ids;
      assert.equal((await boss.call(viewMessage, { id: first })).readAt, null);
      const page = await ann.call(readInbox, { limit: 2 });
      assert.deepEqual(
        page.messages.map(({ body }) => body),
        ["one", "two"],
      );
      assert.equal(page.waiting, 3);
      const seen = await boss.call(viewMessage, { id: first });
      assert.notEqual(seen.readAt, null);
      assert.equal(seen.acknowledgedAt, null);
      // Two of the three messages were looked at.
      assert.equal((await boss.call(viewMessage, { id: ids[2] ?? "" })).readAt, null);
      // If a session dies in the middle, no message is lost.
      assert.deepEqual(await bodies(ann.call), ["one", "two", "three"]);
      assert.equal((await boss.call(viewMessage, { id: first })).readAt, seen.readAt);
      await ann.call(acknowledgeMessage, { id: second, result: "became an outcome" });
      assert.deepEqual(await bodies(ann.call), ["one", "three"]);
      const receipts = (await boss.call(listSent, { limit: 2 })).messages;
      assert.deepEqual(
        receipts.map(({ body, result }) => [body, result]),
        [
          ["three", null],
          ["two", "became an outcome"],
        ],
      );
      await refusal(ann.call(acknowledgeMessage, { id: second }), "conflict");
      await refusal(boss.call(acknowledgeMessage, { id: first }), "not_found");
      await refusal(ben.call(acknowledgeMessage, { id: first }), "not_found");
      await refusal(ben.call(viewMessage, { id: first }), "not_found");
      await refusal(org.board(acknowledgeMessage, { id: first }), "refused");
      const elsewhere = await org.another();
      await refusal(elsewhere.root(viewMessage, { id: first }), "not_found");
      await refusal(elsewhere.root(acknowledgeMessage, { id: first }), "not_found");
    });

    test("inboxes and sent mail come page by page", async () => {
      const { boss, ann } = await team();
      for (let index = 0; index < 5; index++) await boss.call(sendMessage, { to: ann.id, body: `${index}` });
      const pages = async (get: (cursor: { cursor?: string }) => Promise<Paged>): Promise<string[]> => {
        const seen: string[] = [];
        for (let cursor: string | null | undefined; cursor !== null;) {
          const page = await get(cursor === undefined ? {} : { cursor });
          assert.ok(page.messages.length <= 2);
          seen.push(...page.messages.map(({ body }) => body ?? ""));
          cursor = page.nextCursor;
        }
        return seen;
      };
      assert.deepEqual(await pages((cursor) => org.board(agentInbox, { id: ann.id, limit: 2, ...cursor })), [
        "0",
        "1",
        "2",
        "3",
        "4",
      ]);
      assert.deepEqual(await pages((cursor) => boss.call(listSent, { limit: 2, ...cursor })), [
        "4",
        "3",
        "2",
        "1",
        "0",
      ]);
      await refusal(boss.call(agentInbox, { id: ann.id }), "forbidden");
    });

    // covers ROOT-03, ROOT-04, ROOT-05, CLI-03
    test("the board writes to any agent and reads what the root writes to it", async () => {
      const elsewhere = await org.another();
      const { board, companyId, root, rootId } = elsewhere;
      const worker = await elsewhere.agent("Worker");
      const toRoot = await board(sendMessage, { companyId, body: "a goal" });
      assert.deepEqual([toRoot.from.kind, toRoot.to.id], ["board", rootId]);
      await refusal(worker.call(sendMessage, { to: "board", body: "help" }), "forbidden");
      await board(sendMessage, { companyId, to: worker.id, body: "from above" });
      assert.deepEqual(await bodies(worker.call), ["from above"]);
      await refusal(board(sendMessage, { companyId, to: "board", body: "a thought" }), "invalid");
      const one = await root(sendMessage, { to: "board", body: "one" });
      await root(sendMessage, { to: "boss", body: "two" });
      assert.equal(one.to.kind, "board");
      const inbox = await board(boardInbox, { companyId });
      assert.deepEqual(
        inbox.messages.map(({ body }) => body),
        ["one", "two"],
      );
      await refusal(root(acknowledgeMessage, { id: one.id }), "not_found");
      await board(acknowledgeMessage, { id: one.id, result: "thanks" });
      assert.equal((await root(viewMessage, { id: one.id })).result, "thanks");
      assert.equal((await board(boardInbox, { companyId })).waiting, 1);
      assert.equal((await board(boardInbox, { companyId, all: true })).messages.length, 2);
      const paged = await board(boardInbox, { companyId, all: true, limit: 1 });
      assert.equal(paged.messages[0]?.body, "one");
      const rest = await board(boardInbox, {
        companyId,
        all: true,
        limit: 1,
        ...(paged.nextCursor === null ? {} : { cursor: paged.nextCursor }),
      });
      assert.equal(rest.messages[0]?.body, "two");
      await refusal(root(boardInbox, {}), "forbidden");
      await refusal(board(readInbox, {}), "refused");
    });

    test("the board can acknowledge messages of a position that a person holds", async () => {
      const { boss, ann } = await team();
      await org.board(updateAgent, { id: ann.id, adapterType: "human" });
      const sent = await boss.call(sendMessage, { to: ann.id, body: "please sign" });
      const done = await org.board(acknowledgeMessage, { id: sent.id, result: "signed" });
      assert.equal(done.result, "signed");
      assert.equal((await inboxes(ann.call))[0]?.status, "completed");
    });

    test("two identical sends under one key are one message", async () => {
      const { boss, ann } = await team();
      const once = { to: ann.id, body: "only once" };
      const first = await boss.call(sendMessage, once, { key: "k1" });
      const again = await boss.call(sendMessage, once, { key: "k1" });
      assert.equal(again.id, first.id);
      assert.equal((await ann.call(readInbox, {})).waiting, 1);
      await refusal(boss.call(sendMessage, { to: ann.id, body: "other" }, { key: "k1" }), "conflict");
    });

    test("a long text is sent whole and read as a file", async () => {
      const { boss, ann } = await team();
      const body = `${"ä".repeat(40_000)} end`;
      const sent = await boss.call(sendMessage, { to: ann.id, body });
      const [message] = (await ann.call(readInbox, {})).messages;
      assert.equal(message?.body, null);
      assert.equal((await ann.call(readFile, { id: sent.file })).content, body);
      await refusal(boss.call(sendMessage, { to: ann.id, body: "x".repeat(200_001) }), "invalid");
      await refusal(boss.call(sendMessage, { to: ann.id, body: "" }), "invalid");
    });
  });

interface Paged {
  readonly messages: readonly { readonly body: string | null }[];
  readonly nextCursor: string | null;
}
