// Does the property test (core-property-*.db.test.ts) find bugs? Each run plants one of these in the text of the product
// while it is loaded (planted-bugs/plant.ts) and must report a violation.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Edit } from "./planted-bugs/plant.ts";

interface Bug {
  readonly name: string;
  /** More than one where two guards stand behind each other, and only without both there is a bug. */
  readonly edits: readonly Edit[];
}

const bugs: readonly Bug[] = [
  bug("a right is handed on for an outcome it was not given for", "src/capabilities/grants.ts", {
    "if (!(await isWithin(tx, scopeId, grant.scope_id))) {":
      "if (scopeId === '' && !(await isWithin(tx, scopeId, grant.scope_id))) {",
  }),
  bug("a reader hands on the right to write", "src/capabilities/grants.ts", {
    "await sourceFor(tx, gift.giver, gift.resource, ranks[level], scopeId)":
      "await sourceFor(tx, gift.giver, gift.resource, Math.min(ranks[level], 1), scopeId)",
  }),
  bug("a right goes to somebody else's report", "src/capabilities/grants.ts", {
    "giver !== null && receiver.boss_id !== giver.id": "giver !== null && receiver.id === giver.id",
  }),
  bug("granting tells that something hidden exists", "src/capabilities/grants.ts", {
    "if (isHidden || ": "if (",
  }),
  bug("a right is given for an outcome of another company", "src/capabilities/grants.ts", {
    'if (scope?.company_id !== companyId) throw notFound("outcome", scopeId);':
      'if (scope === undefined) throw notFound("outcome", scopeId);',
  }),
  bug("what is handed on from a boss's place forgets where it came from", "src/capabilities/grants.ts", {
    "return { parent_id: grant.id, structural: grant.structural };":
      "return { parent_id: grant.id, structural: 0 };",
  }),
  bug("anybody may revoke any grant of the company", "src/capabilities/grants.ts", {
    "grant.company_id !== companyId || !mine": "grant.company_id !== companyId || (!mine && by === null)",
  }),
  bug("revoking forgets what was handed on from it", "src/capabilities/table.ts", {
    'shift("id", p.id, sql`1`)': "sql`update grants set broken = broken + 1 where id = ${p.id}`",
  }),
  bug("two reasons against one grant count once", "src/capabilities/table.ts", {
    "        union all\n": "        union\n",
  }),
  bug("a chain counts only its first link", "src/capabilities/table.ts", {
    "join carried c on g.parent_id = c.id)": "join carried c on g.parent_id = c.id and c.id = '')",
  }),
  bug("what rests on a boss's place outlives it", "src/capabilities/rights.ts", {
    "if (grant.structural === 0) return grant.level;": "if (grant.id !== '') return grant.level;",
  }),
  bug("whoever leaves leaves its reports what it gave them", "src/departures/leaving.ts", {
    "      await markRevoked(tx, grant.id);\n": "",
  }),
  bug("what rests on a boss's place stays as high when the place sinks", "src/capabilities/rights.ts", {
    "return Math.min(grant.level, await structuralRank(tx, giver.id, resource));":
      "return (await structuralRank(tx, giver.id, resource)) === noRight ? noRight : grant.level;",
  }),
  bug("the owner may change what was delegated to it", "src/capabilities/structure.ts", {
    "(drive && row.delegated === 0) || row.delegated_by === agentId": "drive || row.delegated_by === agentId",
  }),
  bug("who delegated an outcome cannot verify it", "src/capabilities/structure.ts", {
    "(drive && row.delegated === 0) || row.delegated_by === agentId": "drive && row.delegated === 0",
  }),
  bug("the whys of work that has ended stay readable", "src/capabilities/structure.ts", {
    '        .where("status", "in", ["open", "submitted"])\n        .union(': "        .union(",
  }),
  bug("a foreign id is told from a missing one", "src/dispatch/dispatch.ts", {
    "owner === undefined || (caller.companyId !== null && owner !== caller.companyId)": "owner === undefined",
  }),
  bug("explain_access tells that a foreign file exists", "src/capabilities/explain.ts", {
    '    .where("company_id", "=", p.companyId)\n    .where("deleted_at", "is", null),':
      '    .where("deleted_at", "is", null),',
  }),
  bug("a fix reopens the mandate of an agent that left", "src/capabilities/explain.ts", {
    'if (scope?.kind === "mandate") return undefined;': "",
  }),
  bug("a fix lets a boss hand on what it holds for another outcome", "src/capabilities/explain.ts", {
    " &&\n      (await isWithin(tx, scopeId, grant.scope_id))": "",
  }),
  bug("a fix reopens what a revoked right was given for", "src/capabilities/explain.ts", {
    "if (link.revoked_at !== null || holder": "if (holder",
  }),
  bug(
    "the key of an agent that left goes on working",
    "src/dispatch/identity.ts",
    {
      'row.status === "terminated" || row.status === "pending_approval"': 'row.status === "pending_approval"',
    },
    {
      file: "src/departures/leaving.ts",
      find: "await tx.run(endCredentials, { agentId: agent.id, now: tx.now });",
      replace: "",
    },
  ),
  bug("completing does not end the rights given for it", "src/delegation/ending.ts", {
    "await retire(call, outcome);\n    await shiftScope(tx, outcome.id, 1);\n    // Whoever":
      "await retire(call, outcome);\n    // Whoever",
  }),
  bug("closing does not end the rights given for what goes with it", "src/delegation/ending.ts", {
    "    await shiftScope(tx, below.id, 1);\n": "",
  }),
  bug("reopening does not bring the rights back", "src/delegation/ending.ts", {
    "  if (!isLive(outcome)) await shiftScope(tx, outcome.id, -1);\n": "",
  }),
  bug("sending work back counts as reopening it", "src/delegation/ending.ts", {
    "if (!isLive(outcome)) await shiftScope(tx, outcome.id, -1);": "await shiftScope(tx, outcome.id, -1);",
  }),
  bug("an outcome completes above open ones", "src/delegation/ending.ts", {
    "demandNoLiveChildren(outcome, await liveChildrenOf(tx, outcome.id));\n    await retire(":
      "await retire(",
  }),
  bug("closing abandons what others work on", "src/delegation/ending.ts", {
    "if (child.delegated === 1) others.push(child);\n      else order": "order",
  }),
  bug("an outcome may wait for itself", "src/outcomes/operations.ts", {
    "if (await wouldWaitForItself(tx, waiterId, targetId))":
      "if (waiterId === targetId && (await wouldWaitForItself(tx, waiterId, targetId)))",
  }),
  bug("a parent may be another company's", "src/outcomes/operations.ts", {
    '    if (row.company_id !== companyId) throw notFound("outcome", id);\n    demandLive(row);':
      "    demandLive(row);",
  }),
  bug("the mandate of an agent is moved away from its boss's", "src/outcomes/operations.ts", {
    'if (outcome.kind === "mandate")': 'if (outcome.kind === "inbox")',
  }),
  bug("an agent hands on what its boss handed to it", "src/outcomes/delegation.ts", {
    "child.responsible_id !== from || child.delegated === 1": "child.responsible_id !== from",
  }),
  bug("the boss keeps what lies below what it delegated", "src/outcomes/delegation.ts", {
    "await assign(tx, child.id, { responsibleId: to.id, delegated: 0, delegatedBy: null });": "",
  }),
  bug("reclaiming leaves the rights that were given for it", "src/delegation/delegating.ts", {
    "await markRevoked(tx, grantId);": "void grantId;",
  }),
  bug("reclaiming takes what others hang below it", "src/delegation/delegating.ts", {
    "if (seen.has(child.id) || !(isHolders || wasHandedOn)) continue;":
      "if (seen.has(child.id) || child.kind === 'mandate') continue;",
  }),
  bug("a closed outcome counts as one that was completed", "src/outcomes/workable.ts", {
    "p.status <> 'completed'": "p.status not in ('completed', 'closed')",
  }),
  bug("the rights of an agent that left live on in its reports", "src/departures/leaving.ts", {
    "  await shiftHolder(tx, agent.id, 1);\n": "",
  }),
  bug("nobody verifies what an agent that left had delegated", "src/departures/leaving.ts", {
    "  await tx.run(reroute, { from: agent.id, to: heirId, now: tx.now });\n": "",
  }),
  bug("an old version may be overwritten", "src/knowledge/operations.ts", {
    "file.version !== input.version || file.hash !== input.hash": "file.hash !== input.hash",
  }),
  bug("a version may be overwritten without its hash", "src/knowledge/operations.ts", {
    "file.version !== input.version || file.hash !== input.hash": "file.version !== input.version",
  }),
];

const root = join(import.meta.dirname, "..");
const seeds = 300;
const hook = fileURLToPath(new URL("./planted-bugs/plant.ts", import.meta.url));
const player = fileURLToPath(new URL("./planted-bugs/play.ts", import.meta.url));
const endWithRunner = fileURLToPath(new URL("../scripts/end-with-runner.ts", import.meta.url));

describe("the property test", { concurrency: Math.min(2, availableParallelism()) }, () => {
  test("finds nothing when nothing is planted", async () => {
    assert.equal(await found([], 5), null);
  });

  for (const { name, edits } of bugs)
    test(`finds the bug: ${name}`, async () => {
      const violation = await found(edits, seeds);
      assert.notEqual(violation, null, `not found in ${seeds} seeds`);
    });

  test("does not pass a bug that cannot be planted", async () => {
    const edit = { file: "src/capabilities/grants.ts", find: "no such text", replace: "" };
    await assert.rejects(found([edit], 1), /holds 0 times, not once/);
    await assert.rejects(found([{ ...edit, file: "src/cli/main.ts" }], 1), /never loaded/);
  });
});

/** What a run with these edits reports; null: nothing. */
async function found(edits: readonly Edit[], count: number): Promise<string | null> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", endWithRunner, "--import", hook, player, String(count)],
    { cwd: root, env: { ...process.env, AGENCY_PLANT: JSON.stringify(edits) } },
  );
  const report = JSON.parse(stdout) as { found: string | null };
  return report.found;
}

function bug(name: string, file: string, changes: Readonly<Record<string, string>>, ...more: Edit[]): Bug {
  const edits = Object.entries(changes).map(([find, replace]) => ({ file, find, replace }));
  return { name, edits: [...edits, ...more] };
}
