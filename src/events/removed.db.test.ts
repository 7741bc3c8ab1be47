import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { archiveCompany } from "../contract/companies.ts";
import { createFile, readFile, viewAccessLog } from "../contract/knowledge.ts";
import { exportEvents, listAgentEvents, listEvents, removeEvents, verifyLedger } from "../contract/ledger.ts";
import { completeOutcome, viewOutcome, viewTimeline } from "../contract/outcomes.ts";
import { exportMonth, removeMonth, verifyFile } from "../daemon/ledger-file.ts";
import { macOf } from "../store/chain.ts";
import { updating } from "../store/query.ts";
import { bothStores, createOrganization, openTestStore, refusal, testKey } from "../testing/organization.ts";
import { ageEvents } from "../testing/old-events.ts";
import { append, listAfter, system } from "./ledger.ts";
import { digestOfLines, sealOfMonth } from "./removed.ts";
import { sealOperation } from "./verify.ts";

/** Tests the ledger after some of its months were exported to files and removed. */
for (const kind of bothStores)
  describe(`exported and removed months on ${kind}`, async () => {
    const { store, tamper, close } = await openTestStore(kind);
    const organization = await createOrganization(store);
    const { board, companyId } = organization;
    const folder = mkdtempSync(join(tmpdir(), "agency-months-"));
    after(async () => {
      await close();
      rmSync(folder, { recursive: true });
    });
    const client = { call: board, callAny: () => assert.fail("not used") };
    const ofMonth = (month: string) => ({ companyId, month });
    const fileOf = (month: string) => join(folder, `${month}.ledger`);
    const head = async () => (await eventsNow()).at(-1)?.seq ?? 0;
    const eventsNow = () => store.read((tx) => tx.all(listAfter, { companyId, after: 0, limit: 10_000 }));
    const damage = async (deep = true) => {
      const problems = [];
      for (let cursor: string | undefined; ;) {
        const part = await board(verifyLedger, { cursor, deep, limit: 7 });
        problems.push(...part.problems);
        if (part.nextCursor === null) return problems;
        cursor = part.nextCursor;
      }
    };

    // August: files, an outcome that is still open, one that was completed. September: more files, and a newer version of a row.
    const open = await organization.outcome("Bake bread");
    const done = await organization.outcome("Sweep the floor");
    const { id: noteId } = await board(createFile, { companyId, description: "notes", content: "flour" });
    const august = Date.parse("2026-08-10T00:00:00Z");
    await store.write(async (tx) => {
      await tx.run(updating("files", ["created_at"], ["id"]), { id: noteId, created_at: august });
      await tx.run(updating("outcomes", ["created_at"], ["id"]), { id: done, created_at: august });
    });
    await board(completeOutcome, { id: done, note: "Swept." });
    const inAugust = await head();
    await board(readFile, { id: noteId });
    await board(createFile, { companyId, description: "more notes", content: "water" });
    const inSeptember = await head();
    await board(createFile, { companyId, description: "today's notes", content: "salt" });
    const september = Date.parse("2026-09-10T00:00:00Z");
    await ageEvents(store, companyId, (seq) =>
      seq <= inAugust ? august + seq : seq <= inSeptember ? september + seq : undefined,
    );
    // The installation has sealed this chain twice: in the middle of August and at its end.
    for (const { seq, hash } of (await eventsNow()).filter(({ seq }) => [2, inAugust].includes(seq)))
      await store.write(async (tx) =>
        append(tx, {
          companyId: "",
          actor: system,
          operation: sealOperation,
          subject: null,
          data: { [companyId]: [seq, hash] },
        }),
      );
    const saveAll = ["events", "ledger_heads", "removed_events", "files", "versions"];
    const save = () =>
      tamper(saveAll.map((name) => `create table saved_${name} as select * from ${name}`).join(";"));
    const putBack = () =>
      tamper(
        saveAll
          .flatMap((name) => [
            `delete from ${name}`,
            `insert into ${name} select * from saved_${name}`,
            `drop table saved_${name}`,
          ])
          .join(";"),
      );

    test("the record verifies before the changes", async () => {
      assert.deepEqual(await damage(), []);
    });

    test("a month that is not over, and one without events, are refused", async () => {
      const now = new Date().toISOString().slice(0, 7);
      await refusal(board(exportEvents, ofMonth(now)), "refused");
      await refusal(board(exportEvents, ofMonth("2020-01")), "not_found");
    });

    test("an exported month is verified by itself, and every change in it is found", async () => {
      const { events } = await exportMonth(client, ofMonth("2026-08"), fileOf("2026-08"));
      assert.equal(events, inAugust);
      assert.deepEqual(await verifyFile(fileOf("2026-08"), ["another key", testKey]), {
        companyId,
        month: "2026-08",
        events,
      });
      const lines = gunzipSync(readFileSync(fileOf("2026-08")))
        .toString()
        .trimEnd()
        .split("\n");
      const [first = "", ...rest] = lines;
      const mac = macOf("forged");
      const forged = JSON.parse(first);
      const file = join(folder, "changed.ledger");
      for (const [what, changed] of Object.entries({
        "an edited event": [first, ...rest.map((line) => line.replace("Bake bread", "Buy bread"))],
        "an edited hash": lines.map((line, index) => (index === 2 ? line.replace(/.{3}"}$/, 'fff"}') : line)),
        "an event without its numbers": lines.map((line, index) => (index === 2 ? "{}" : line)),
        "a line that is not JSON": [first, "nonsense", ...rest.slice(1)],
        "a missing event": [first, ...rest.slice(0, 2), ...rest.slice(3)],
        "exchanged events": [first, rest[1], rest[0], ...rest.slice(2)],
        "a missing end": lines.slice(0, -1),
        "an additional event": [...lines, rest.at(-1)],
        "another month": [first.replace("2026-08", "2026-07"), ...rest],
        "another company": [first.replaceAll(companyId, open), ...rest],
        "a shorter month": [JSON.stringify({ ...forged, last: inAugust - 1 }), ...rest.slice(0, -1)],
        "a seal of another key": [JSON.stringify({ ...forged, seal: sealOfMonth(mac, forged) }), ...rest],
      })) {
        assert.notDeepEqual(changed, lines, what);
        writeFileSync(file, gzipSync(`${changed.join("\n")}\n`));
        await refusal(verifyFile(file, [testKey]), "damaged");
      }
      writeFileSync(file, readFileSync(fileOf("2026-08")).subarray(0, -20));
      await refusal(verifyFile(file, [testKey]), "damaged");
      writeFileSync(file, "text");
      await refusal(verifyFile(file, [testKey]), "damaged");
      await refusal(verifyFile(fileOf("2026-08"), []), "refused");
    });

    test("only exported and unchanged events are removed, the oldest month first", async () => {
      const september = await board(exportEvents, ofMonth("2026-09"));
      const part = { ...ofMonth("2026-09"), until: september.last, fileName: "september.ledger" };
      await refusal(board(removeEvents, { ...part, digest: digestOfLines(september.lines) }), "refused");
      const { lines, last } = await board(exportEvents, ofMonth("2026-08"));
      const right = {
        ...ofMonth("2026-08"),
        until: last,
        digest: digestOfLines(lines),
        fileName: "a.ledger",
      };
      await refusal(board(removeEvents, { ...right, digest: digestOfLines(lines.slice(1)) }), "refused");
      await refusal(board(removeEvents, { ...right, until: last + 1 }), "invalid");
      await refusal(board(removeEvents, { ...right, fileName: "/etc/passwd" }), "invalid");
      const { call } = await organization.agent("Ada");
      await refusal(call(exportEvents, ofMonth("2026-08")), "forbidden");
      await refusal(call(removeEvents, right), "forbidden");
      await save();
      // Changed events can be exported with a correct digest. Removing them would destroy the proof of the change, so it is
      // refused.
      await tamper(`update events set subject = 'x' where seq = 2 and company_id = '${companyId}'`);
      const changed = await board(exportEvents, ofMonth("2026-08"));
      await refusal(board(removeEvents, { ...right, digest: digestOfLines(changed.lines) }), "damaged");
      await putBack();
      assert.deepEqual(await damage(), []);
    });

    test("the record verifies without a removed month, and names where the month is", async () => {
      const before = await eventsNow();
      const { removed, kept } = await removeMonth(client, ofMonth("2026-08"), fileOf("2026-08"));
      assert.equal(removed + kept, inAugust);
      assert.ok(removed > 2 && kept > 0, `${removed} removed, ${kept} kept`);
      const left = await eventsNow();
      assert.equal(left.filter(({ seq }) => seq <= inAugust).length, kept);
      // The remaining events are as before.
      assert.deepEqual(
        left.filter(({ seq }) => seq <= inSeptember),
        before.filter(({ seq }) => seq <= inSeptember && left.some((row) => row.seq === seq)),
      );
      assert.deepEqual(await damage(), []);
      const told = [{ month: "2026-08", file: "2026-08.ledger" }];
      const removedIn = async (input: { from?: string; to?: string; after?: number }) =>
        (await board(listEvents, { companyId, ...input })).removed.map(({ month, file }) => ({
          month,
          file,
        }));
      assert.deepEqual(await removedIn({}), told);
      assert.deepEqual(await removedIn({ from: "2026-08-31T23:00:00-05:00" }), []);
      assert.deepEqual(await removedIn({ to: "2026-07-31T00:00:00Z" }), []);
      assert.deepEqual(await removedIn({ after: inAugust }), []);
      const { id } = await organization.agent("Bob");
      assert.equal((await board(listAgentEvents, { id })).removed.length, 1);
      const { events } = await board(listEvents, { companyId, from: "2026-09-01T00:00:00Z", limit: 1000 });
      assert.equal(events[0]?.seq, inAugust + 1);
      const again = await refusal(board(exportEvents, ofMonth("2026-08")), "refused");
      assert.match(again.message, /2026-08\.ledger/);
    });

    test("events that open work needs are still there", async () => {
      const { events } = await board(listEvents, { companyId, subject: open });
      assert.ok(events.some(({ operation }) => operation === "outcome.create"));
      const gone = await board(listEvents, { companyId, subject: done });
      assert.deepEqual(
        gone.events.filter(({ seq }) => seq <= inAugust),
        [],
      );
      const timeline = await board(viewTimeline, { id: done });
      assert.deepEqual(
        timeline.removed?.map(({ file }) => file),
        ["2026-08.ledger"],
      );
      const accesses = await board(viewAccessLog, { id: noteId });
      assert.deepEqual(
        accesses.removed?.map(({ month }) => month),
        ["2026-08"],
      );
      // A file created after the removal misses nothing. Agents are not told about the removal.
      const later = await board(createFile, { companyId, description: "new notes", content: "new" });
      assert.deepEqual((await board(viewAccessLog, { id: later.id })).removed, []);
      const mine = await organization.root(createFile, { description: "own notes", content: "own" });
      assert.equal((await organization.root(viewAccessLog, { id: mine.id })).removed, undefined);
      await board(viewOutcome, { id: open });
    });

    test("a second removal of the same month changes nothing", async () => {
      const before = await eventsNow();
      assert.deepEqual(await removeMonth(client, ofMonth("2026-08"), fileOf("2026-08")), {
        removed: 0,
        kept: 0,
      });
      assert.deepEqual(await eventsNow(), before);
      await refusal(removeMonth(client, ofMonth("2026-09"), fileOf("2026-08")), "refused");
    });

    const mine = `company_id = '${companyId}'`;
    const tampering: readonly (readonly [what: string, sql: string, isDeep?: true])[] = [
      ["the record of a removal deleted", `delete from removed_events where ${mine}`],
      ["its last number", `update removed_events set last_seq = last_seq + 1 where ${mine}`],
      ["its first number", `update removed_events set first_seq = 0 where ${mine}`],
      ["its month", `update removed_events set month = '2026-07' where ${mine}`],
      ["its hash", `update removed_events set hash = '${"0".repeat(64)}' where ${mine}`],
      ["its list of kept events", `update removed_events set kept = '' where ${mine}`],
      ["its lines", `update removed_events set lines = 'AwA=' where ${mine}`],
      ["its digest", `update removed_events set digest = 'x' where ${mine}`],
      ["its file", `update removed_events set file = 'x' where ${mine}`],
      ["its time", `update removed_events set removed_at = 1 where ${mine}`],
      ["its person", `update removed_events set person_id = 'x' where ${mine}`],
      ["its seal", `update removed_events set seal = 'x' where ${mine}`],
      ["the event after it deleted", `delete from events where seq = ${inAugust + 1} and ${mine}`],
      ["the event after it edited", `update events set data = '{}' where seq = ${inAugust + 1} and ${mine}`],
      [
        "a kept event deleted",
        `delete from events where seq = (select min(seq) from events where ${mine}) and ${mine}`,
      ],
      ["a kept event edited", `update events set data = '{"a":1}' where seq <= ${inAugust} and ${mine}`],
      [
        "a row of the removed month edited",
        `update files set description = 'x' where id = '${noteId}'`,
        true,
      ],
      ["a row of the removed month deleted", `delete from files where id = '${noteId}'`, true],
    ];
    for (const [what, statement, isDeep] of tampering)
      test(`${what}: it is found`, async () => {
        await save();
        await tamper(statement);
        const problems = await damage(isDeep === true);
        assert.ok(problems.length > 0);
        await putBack();
        assert.deepEqual(await damage(), []);
      });

    test("the next month follows, and new work continues", async () => {
      await exportMonth(client, ofMonth("2026-09"), fileOf("2026-09"));
      await verifyFile(fileOf("2026-09"), [testKey]);
      await removeMonth(client, ofMonth("2026-09"), fileOf("2026-09"));
      await board(createFile, { companyId, description: "later", content: "yeast" });
      assert.deepEqual(await damage(), []);
      const { removed } = await board(listEvents, { companyId });
      assert.deepEqual(
        removed.map(({ month }) => month),
        ["2026-08", "2026-09"],
      );
      await save();
      await tamper(`delete from removed_events where month = '2026-09' and ${mine}`);
      assert.ok((await damage()).length > 0);
      await putBack();
      await board(archiveCompany, { companyId });
      await refusal(board(exportEvents, ofMonth("2026-09")), "refused");
      assert.deepEqual(await damage(), []);
    });
  });
