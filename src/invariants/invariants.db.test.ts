// Every invariant finds its own kind of damage, and no other invariant reports it. SQL plants the damage into a healthy
// company, in a transaction that is rolled back.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sql } from "kysely";
import { terminateAgent } from "../contract/agents.ts";
import { setBudget } from "../contract/budgets.ts";
import { grantPermission } from "../contract/capabilities.ts";
import { updateCompany } from "../contract/companies.ts";
import { examineDeeply, fixFinding } from "../contract/doctor.ts";
import { changeAgent, hireAgent } from "../contract/hiring.ts";
import { createFile, writeFile } from "../contract/knowledge.ts";
import { acknowledgeMessage, sendMessage } from "../contract/mail.ts";
import { operations } from "../contract/operation-table.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { newId } from "../daemon/ids.ts";
import { endSession } from "../runtime/sessions.ts";
import { dynamic } from "../store/query.ts";
import type { ReadTx, Store, Tx } from "../store/store.ts";
import { type Organization, refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";
import { type Bookmark, examine, type Finding, findBroken, isBroken } from "./examine.ts";
import { invariants } from "./list.ts";
import { nextRange } from "./scope.ts";

/** The company: Root › Ada › Bob; root › Cid; Gone has left; Pat waits for an approval. */
type Scene = Awaited<ReturnType<typeof healthyCompany>>;

async function healthyCompany(org: Organization, store: Store) {
  const { companyId, rootId } = org;
  const ada = await org.agent("Ada");
  const bob = await org.agent("Bob", ada.id);
  const cid = await org.agent("Cid");
  const gone = await org.agent("Gone");
  await org.board(terminateAgent, { id: gone.id, reason: "done" });
  const work = await org.outcome("Work");
  const parent = await org.outcome("Parent");
  const child = await org.outcome("Child", [parent]);
  const goal = await org.outcome("Goal");
  const { id: shared } = await org.board(createOutcome, {
    companyId,
    title: "Shared",
    parents: [goal, work],
  });
  const { id: delegated } = await ada.call(createOutcome, { title: "Bread", parents: [ada.id] });
  await ada.call(delegateOutcome, { id: delegated, to: bob.id });
  const {
    id: file,
    version,
    hash,
  } = await org.board(createFile, { companyId, description: "Notes", content: "old" });
  await org.board(writeFile, { id: file, version, hash, content: "new" });
  const { id: own } = await ada.call(createFile, { description: "Ada's notes", content: "mine" });
  await org.board(grantPermission, { companyId, to: ada.id, resource: `kb:${file}`, level: "write" });
  const passedOn = await ada.call(grantPermission, { to: bob.id, resource: `kb:${file}`, level: "read" });
  const answered = await org.board(sendMessage, { companyId, to: cid.id, body: "Hello" });
  await cid.call(acknowledgeMessage, { id: answered.id, result: "done" });
  await org.board(sendMessage, { companyId, to: ada.id, body: "Are you there?" });
  await org.board(setBudget, { id: ada.id, sessions: 10 });
  await org.board(setBudget, { id: bob.id, sessions: 4 });
  const over = await org.session(cid.id);
  await store.write((tx) => endSession(tx, over.id, { reason: "done", exitCode: 0 }, newId));
  await org.session(bob.id);
  await ada.call(changeAgent, { agent: bob.id, reason: "Bread burns.", prompt: "Watch the oven." });
  await org.board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
  const { agent: pat } = await org.board(hireAgent, {
    companyId,
    name: "Pat",
    role: "worker",
    mandate: "Helps.",
  });
  return {
    companyId,
    root: rootId,
    ada: ada.id,
    bob: bob.id,
    cid: cid.id,
    gone: gone.id,
    pat: pat.id,
    work,
    parent,
    child,
    goal,
    shared,
    delegated,
    file,
    own,
    passedOn: passedOn.id,
    answered: answered.id,
    over: over.id,
    missing: newId(),
  };
}

interface Plant {
  readonly sql: (scene: Scene) => readonly string[];
  /** Other damage that always comes with this one. */
  readonly also?: readonly string[];
}

const mandateOf = (agent: string) => `(select mandate_id from agents where id = '${agent}')`;
const stale = "update outcomes set stale = 1";

/** For each invariant, statements that break it. */
const plants: Readonly<Record<string, Plant>> = {
  "company-root": { sql: (s) => [`update companies set root_outcome_id = '${s.missing}'`] },
  "agent-tree": {
    sql: (s) => [
      `update agents set boss_id = null where id = '${s.cid}'`,
      `update outcomes set delegated_by = null where responsible_id = '${s.cid}'`,
    ],
  },
  "agent-mandate": {
    sql: (s) => [`update outcomes set delegated = 0, delegated_by = null where id = ${mandateOf(s.cid)}`],
  },
  "mandate-agent": { sql: (s) => [`update outcomes set kind = 'mandate', stale = 1 where id = '${s.work}'`] },
  "mandate-place": {
    sql: (s) => [`update edges set parent_id = '${s.work}' where child_id = ${mandateOf(s.cid)}`, stale],
  },
  "pending-approval": {
    sql: (s) => [`update agents set status = 'idle' where id = '${s.pat}'`],
  },
  "approval-manager": {
    sql: (s) => [
      `update agents set boss_id = '${s.ada}' where id = '${s.pat}'`,
      `update outcomes set delegated_by = '${s.ada}' where responsible_id = '${s.pat}'`,
      `update edges set parent_id = ${mandateOf(s.ada)} where child_id = ${mandateOf(s.pat)}`,
      stale,
    ],
  },
  "approval-hash": {
    sql: () => [
      "update approvals set payload_hash = 'other'",
      "update approval_revisions set hash = 'other'",
    ],
  },
  "approval-revisions": {
    sql: (s) => [
      `update approval_revisions set revision = 2 where approval_id = (select id from approvals where agent_id = '${s.pat}')`,
    ],
  },
  "approval-thread": {
    sql: (s) => [
      `update approval_comments set kind = 'approved' where approval_id = (select id from approvals where agent_id = '${s.bob}')`,
    ],
  },
  "change-subject": {
    sql: (s) => [`update approvals set requested_by = '${s.cid}' where agent_id = '${s.bob}'`],
  },
  "agent-state": {
    sql: (s) => [
      `update files set owner_id = null where id = (select state_file_id from agents where id = '${s.cid}')`,
    ],
  },
  "agent-credentials": {
    sql: (s) => [`update credentials set revoked_at = null where agent_id = '${s.gone}'`],
  },
  "outcome-responsible": {
    sql: (s) => [`update outcomes set responsible_id = '${s.gone}', stale = 1 where id = '${s.work}'`],
  },
  "outcome-delegator": {
    sql: (s) => [`update outcomes set delegated_by = '${s.root}' where id = '${s.delegated}'`],
  },
  "outcome-undelegated": {
    sql: (s) => [`update outcomes set delegated = 0, delegated_by = '${s.ada}' where id = '${s.work}'`],
  },
  "outcome-parent": {
    sql: (s) => [`update outcomes set status = 'closed', stale = 1 where id = '${s.parent}'`],
  },
  "outcome-completed": {
    sql: (s) => [`update outcomes set status = 'completed', stale = 1 where id = '${s.goal}'`],
  },
  "outcome-circle": {
    sql: (s) => [`insert into dependencies values ('${s.child}', '${s.parent}', null, 1)`, stale],
  },
  "outcome-ghost": {
    sql: (s) => [
      `insert into dependencies select '${s.work}', mandate_id, null, 1 from agents where id = '${s.gone}'`,
      stale,
    ],
  },
  "outcome-links": {
    sql: (s) => [`insert into dependencies values ('${s.work}', '${s.missing}', null, 1)`, stale],
  },
  "outcome-reason": {
    sql: (s) => [
      `update outcomes set blocked_reason = 'waits', blocked_on = '${s.missing}', stale = 1 where id = '${s.work}'`,
    ],
  },
  "outcome-file": { sql: (s) => [`update files set kind = 'file' where id = '${s.work}'`] },
  "outcome-deliverables": {
    sql: (s) => [
      `insert into deliverables values ('${s.work}', '${s.file}', 99, '${s.companyId}', null, 0, 0, null)`,
    ],
  },
  "deliverable-outcome": {
    sql: (s) => [
      `insert into deliverables values ('${s.missing}', '${s.file}', 1, '${s.companyId}', null, 0, 0, null)`,
    ],
  },
  "file-outcome": { sql: (s) => [`update files set kind = 'outcome' where id = '${s.file}'`] },
  "outcome-text": { sql: (s) => [`update outcomes set urgent = 1 where id = '${s.shared}'`] },
  "grant-width": { sql: (s) => [`update grants set level = 9 where id = '${s.passedOn}'`] },
  "grant-holder": { sql: (s) => [`update grants set structural = 1 where id = '${s.passedOn}'`] },
  "grant-root": {
    sql: (s) => [`update grants set structural = 1 where resource = 'org:hire' and grantee_id = '${s.root}'`],
  },
  "grant-manager": { sql: (s) => [`update grants set grantee_id = '${s.cid}' where id = '${s.passedOn}'`] },
  "grant-company": {
    sql: (s) => [`update grants set scope_id = '${s.missing}', broken = 1 where id = '${s.passedOn}'`],
  },
  "grant-count": { sql: (s) => [`update grants set broken = 3 where id = '${s.passedOn}'`] },
  "grant-creator": { sql: (s) => [`delete from grants where resource = 'kb:${s.own}'`] },
  "session-current": { sql: (s) => [`update agents set epoch = epoch + 1 where id = '${s.bob}'`] },
  "session-single": {
    sql: (s) => [
      "drop index sessions_one",
      `update sessions set agent_id = '${s.bob}', ended_at = null, epoch = 1 where id = '${s.over}'`,
      `update credentials set agent_id = '${s.bob}' where session_id = '${s.over}'`,
    ],
    also: ["session-epoch"],
  },
  "session-epoch": { sql: (s) => [`update sessions set epoch = 9 where id = '${s.over}'`] },
  "session-credential": {
    sql: (s) => [`update credentials set session_id = null where session_id = '${s.over}'`],
  },
  "session-reservation": {
    sql: (s) => [`insert into reservations values ('${s.over}', 'sessions', '${s.companyId}', 1)`],
  },
  "inbox-outcome": {
    sql: (s) => [
      `update outcomes set status = 'completed', stale = 1 where kind = 'inbox' and responsible_id = '${s.ada}'`,
    ],
  },
  "message-times": { sql: (s) => [`update messages set delivered_at = null where id = '${s.answered}'`] },
  "message-file": { sql: (s) => [`update messages set file_id = '${s.missing}' where id = '${s.answered}'`] },
  "message-enclosure": {
    sql: (s) => [
      `insert into enclosures (message_id, file_id, version, company_id, linked)
        select id, '${s.own}', 99, company_id, 0 from messages where id = '${s.answered}'`,
    ],
  },
  "message-departed": {
    sql: (s) => [
      `update messages set to_id = '${s.gone}', delivered_at = deliver_at + 9999999 where id = '${s.answered}'`,
    ],
  },
  "budget-room": { sql: (s) => [`update budgets set amount = 1 where agent_id = '${s.ada}'`] },
  "budget-holder": {
    sql: (s) => [`insert into budgets values ('${s.gone}', 'sessions', '${s.companyId}', 1)`],
  },
  "budget-pause": {
    sql: (s) => [`insert into budget_pauses values ('${s.cid}', '${s.companyId}', '${s.companyId}')`],
  },
  "file-versions": { sql: (s) => [`update files set version = version + 1 where id = '${s.file}'`] },
  "version-file": {
    sql: (s) => [
      `insert into versions select '${s.missing}', version, description, hash, size, author_kind, author_agent_id,
        author_session_id, author_person_id, created_at from versions where file_id = '${s.own}'`,
      `insert into blobs select '${s.missing}', hash, content from blobs where file_id = '${s.own}'`,
    ],
  },
  "storage-company": { sql: () => ["update storage set bytes = bytes + 1 where agent_id = ''"] },
  "storage-agent": { sql: (s) => [`delete from storage where agent_id = '${s.ada}'`] },
  "blob-version": {
    sql: (s) => [`insert into blobs select file_id, 'other', content from blobs where file_id = '${s.own}'`],
  },
  "search-entry": {
    sql: (s) => [`delete from search where rowid = (select num from files where id = '${s.file}')`],
  },
  "search-file": {
    sql: (s) => [
      `update search set rowid = 999999 where rowid = (select num from files where id = '${s.file}')`,
    ],
    also: ["search-entry"],
  },
  "version-content": {
    sql: (s) => [
      `update blobs set content = (select content from blobs where file_id = '${s.own}') where file_id = '${s.file}'`,
    ],
  },
  "search-text": {
    sql: (s) => [
      `update search set body = 'other' where rowid = (select num from files where id = '${s.file}')`,
    ],
  },
};

for (const kind of storeKinds)
  describe(`invariants on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { fast: true });
    const scene = await healthyCompany(org, store);

    test("a healthy company breaks no invariant", async () => {
      const found = await store.read(everyFinding);
      assert.deepEqual(
        found.map(({ what }) => what),
        [],
      );
    });

    for (const invariant of invariants)
      test(`${invariant.id}: ${invariant.statement}`, async () => {
        const plant = plants[invariant.id];
        assert.ok(plant !== undefined, "no damage is planted for it");
        await undone(store, async (tx) => {
          for (const statement of plant.sql(scene)) await run(tx, statement);
          const found = await everyFinding(tx);
          assert.deepEqual(idsOf(found), [invariant.id, ...(plant.also ?? [])].toSorted());
          // The pages of the doctor find the same rows.
          assert.deepEqual((await inPages(tx, null)).map(rowOf).toSorted(), found.map(rowOf).toSorted());
          for (const finding of found) assert.match(finding.what, /\.$/);
          const { repair } = invariant;
          if (repair === undefined) return;
          for (const { id } of found.filter((one) => one.invariant === invariant)) {
            assert.ok(await isBroken(tx, invariant, id));
            await repair({ tx, companyId: scene.companyId, newId }, id);
          }
          assert.deepEqual(idsOf(await everyFinding(tx)), []);
        });
      });

    test("a range of content has a limit of bytes, and at least one row", async () => {
      await undone(store, async (tx) => {
        const { companyId } = scene;
        const sizes = await tx.all(
          dynamic((db) => db.selectFrom("versions").select(["file_id", "size"]).orderBy("file_id")),
          {},
        );
        for (const mostBytes of [1, 300, 1_000_000]) {
          const ranges = [];
          for (let after = ""; ;) {
            const range = await nextRange(tx, "versions", { companyId: null, after, limit: 500, mostBytes });
            assert.ok(range !== undefined);
            const rows = sizes.filter(({ file_id: id }) => id > after && id <= range.upto);
            assert.equal(rows.length, range.rows);
            const bytes = rows.reduce((sum, { size }) => sum + size, 0);
            const files = new Set(rows.map(({ file_id: id }) => id));
            assert.ok(files.size === 1 || bytes <= mostBytes, `${files.size} files of ${bytes} bytes`);
            ranges.push(...rows);
            if (range.isLast) break;
            after = range.upto;
          }
          assert.deepEqual(ranges, sizes);
        }
        assert.equal(
          await nextRange(tx, "files", { companyId, after: "z", limit: 5, mostBytes: 1 }),
          undefined,
        );
      });
    });

    if (kind === "postgres")
      test("an entry of the search index with other words than its text is found, and mended", async () => {
        await undone(store, async (tx) => {
          await run(
            tx,
            `update search set words = array_to_tsvector('{"other"}') where rowid = (select num from files where id = '${scene.file}')`,
          );
          const [finding] = await everyFinding(tx);
          assert.equal(finding?.invariant.id, "search-text");
          await finding?.invariant.repair?.({ tx, companyId: scene.companyId, newId }, scene.file);
          assert.deepEqual(idsOf(await everyFinding(tx)), []);
        });
      });

    test("a circle of managers is found, and every check ends", async () => {
      await undone(store, async (tx) => {
        await run(tx, `update agents set boss_id = '${scene.bob}' where id = '${scene.ada}'`);
        await run(tx, `insert into dependencies values ('${scene.parent}', '${scene.parent}', null, 1)`);
        await run(tx, `update grants set parent_id = id where id = '${scene.passedOn}'`);
        const found = idsOf(await everyFinding(tx));
        for (const id of ["agent-tree", "outcome-circle"]) assert.ok(found.includes(id), id);
      });
    });

    test("a company's examination is about its rows only", async () => {
      const other = await org.another();
      await undone(store, async (tx) => {
        await run(tx, `update grants set broken = 3 where id = '${scene.passedOn}'`);
        assert.deepEqual(idsOf(await inPages(tx, scene.companyId)), ["grant-count"]);
        assert.deepEqual(idsOf(await inPages(tx, other.companyId)), []);
      });
    });

    test("the board checks the rows and fixes those that follow from others, and each fix is recorded", async () => {
      await store.write((tx) => run(tx, `update grants set broken = 3 where id = '${scene.passedOn}'`));
      const { findings, invariants: number, nextCursor } = await org.board(examineDeeply, {});
      assert.equal(number, invariants.length);
      assert.equal(nextCursor, null);
      const [finding] = findings;
      assert.equal(findings.length, 1);
      assert.equal(finding?.fix, "agency doctor --fix");
      const { companyId } = scene;
      const input = { companyId, invariant: "grant-count", id: scene.passedOn };
      assert.deepEqual(await org.board(fixFinding, input), { fixed: true });
      assert.deepEqual(await org.board(fixFinding, input), { fixed: false });
      assert.deepEqual((await org.board(examineDeeply, {})).findings, []);
      const said = await refusal(
        org.board(fixFinding, { companyId, invariant: "agent-tree", id: scene.cid }),
        "refused",
      );
      assert.match(said.hint, /agency reorg move/);
      await refusal(org.board(fixFinding, { companyId, invariant: "nope", id: scene.cid }), "invalid");
      await refusal(org.board(fixFinding, { ...input, id: scene.missing }), "not_found");
      await refusal(org.board(examineDeeply, { cursor: "nope 1" }), "invalid");
    });
  });

test("every piece of advice names commands that exist", () => {
  const commands = new Set(operations.flatMap(({ cli }) => (cli === undefined ? [] : [cli.command])));
  // These commands are written by hand: src/cli/reorganize.ts, src/cli/audit.ts and src/cli/why.ts.
  for (const made of ["reorg move", "audit verify", "why"]) commands.add(made);
  for (const { id, advice, repair } of invariants) {
    assert.notEqual(advice === undefined, repair === undefined, id);
    if (advice === undefined) continue;
    for (const [, command = ""] of advice.matchAll(/`agency ([^`]+)`/g))
      assert.ok(
        [...commands].some((known) => command === known || command.startsWith(`${known} `)),
        `${id}: agency ${command}`,
      );
    assert.doesNotMatch(advice.replaceAll(/`[^`]+`/g, ""), /\bagency\b/, id);
  }
});

const everyFinding = (tx: ReadTx): Promise<Finding[]> =>
  findBroken(tx, { areas: ["work", "organization", "history", "bytes"] });

async function inPages(tx: Tx, companyId: string | null): Promise<Finding[]> {
  const found: Finding[] = [];
  for (let from: Bookmark | undefined; ;) {
    const { findings, next } = await examine(tx, companyId, from);
    found.push(...findings);
    if (next === null) return found;
    from = next;
  }
}

const idsOf = (found: readonly Finding[]): string[] =>
  [...new Set(found.map(({ invariant }) => invariant.id))].toSorted();
const rowOf = ({ invariant, id }: Finding): string => `${invariant.id} ${id}`;

class Undone extends Error {}

async function undone(store: Store, work: (tx: Tx) => Promise<void>): Promise<void> {
  await assert.rejects(
    store.write(async (tx) => {
      await work(tx);
      throw new Undone();
    }),
    Undone,
  );
}

async function run(tx: Tx, text: string): Promise<void> {
  await tx.run(
    dynamic((db) => ({ compile: () => sql.raw(text).compile(db) })),
    {},
  );
}
