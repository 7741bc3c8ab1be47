// Does the test of random reorganizations (reorganization-property.db.test.ts) find bugs? Each run plants one of these in the
// text of the product while it is loaded (planted-bugs/plant.ts), and must fail.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Edit } from "./planted-bugs/plant.ts";

const moving = "src/reorganization/moving.ts";
const changes = "src/reorganization/changes.ts";
const undoing = "src/reorganization/undoing.ts";
const images = "src/reorganization/images.ts";
const leaving = "src/departures/leaving.ts";

const bugs: readonly [name: string, file: string, find: string, replace: string][] = [
  // Moving
  [
    "what the old boss handed down stays with it",
    moving,
    "await tx.run(rerouteOf, { agentId: id, from: from.id, to: to.id, now: tx.now });",
    "",
  ],
  ["rights stay as the old boss gave them", moving, "await reroot(call, grant, to, made.has(to.id));", ""],
  [
    "a right is kept though the new boss does not hold it",
    moving,
    "if (source === null) return takeAway(call, grant);",
    "if (source === null) return rebase(tx, grant.id, { giverId: to.id, parentId: null, structural: 0 });",
  ],
  [
    "what was handed on from a right is not counted anew",
    "src/capabilities/table.ts",
    "frontier.push({ ...counted, id: child.id });",
    "void child;",
  ],
  ["the mandate stays below the old boss's", moving, "await rehang(tx, agent, from, to);", ""],
  [
    "an inserted manager gets nothing to hand on",
    moving,
    "(isMade && (await handOn(call, grant, to)) ? await sourceOn(tx, to, grant) : null)",
    "(isMade ? await sourceOn(tx, to, grant) : null)",
  ],
  [
    "anybody reorganizes anywhere",
    changes,
    "!(await isAtOrBelow(call, member, actor.agentId))",
    "!(await isAtOrBelow(call, member, member.id))",
  ],
  [
    "the root can be let go",
    changes,
    "  if (boss === undefined)\n",
    "  if (boss === undefined && agent.boss_id !== null)\n",
  ],
  // Leaving
  ["reports stay below who left", leaving, "await tx.run(reanchor, { from: agent.id, to: heirId });", ""],
  [
    "reviews stay with who left",
    leaving,
    "await tx.run(reroute, { from: agent.id, to: heirId, now: tx.now });",
    "",
  ],
  [
    "what hung below the mandate hangs in the air",
    leaving,
    "await rehang(tx, agent, heir, mandateGoesOn);",
    "",
  ],
  [
    "who depended on a mandate waits for ever",
    "src/outcomes/table.ts",
    "    await tx.run(deleteDependency, { outcomeId: id, dependsOnId });\n",
    "",
  ],
  [
    "what was handed to who left is handed to nobody's report",
    leaving,
    "const isBack = work.delegated === 0 || work.delegated_by === heirId;",
    "const isBack = work.delegated === 0;",
  ],
  [
    "a hire that waits is still the boss's who left",
    leaving,
    'if (report.status === "pending_approval") await expectBy(call, report.id, heir);',
    "",
  ],
  ["the rights that who left gave stand", leaving, "await markRevoked(tx, grant.id);", ""],
  [
    "mail that waited opens no inbox",
    "src/mail/post.ts",
    "    await openInbox(tx, from.company_id, to, newId);\n",
    "    return;\n",
  ],
  // Telling
  [
    "a change of owner is not told",
    "src/reorganization/moves.ts",
    'if ("responsible_id" in after)',
    'if ("nothing" in after)',
  ],
  [
    "a budget that hangs elsewhere is not told",
    "src/reorganization/funding.ts",
    "if (part === undefined || (isSame && !moved.has(part.agentId))) continue;",
    "if (part !== undefined) continue;",
  ],
  ["a plan is carried out", "src/reorganization/operations.ts", "throw new Rehearsed();", ""],
  // Undoing
  ["what has changed since is overwritten", undoing, "demandNone(await changedSince(tx, found));", ""],
  ["what does not fit any more is put back", undoing, "demandNone(await unfitting(tx, found));", ""],
  ["rights are put back without counting", undoing, 'await recount(tx, textIn(key["id"]));', ""],
  ["newcomers stay", undoing, 'await endMade(call, textIn(key["id"]), found);', ""],
  ["inboxes are not balanced", undoing, "await balanceInbox(tx, call.companyId, agentId, call.newId);", ""],
  ["keys stay revoked", images, "and kind = 'key'", "and kind = 'none'"],
  [
    "dependencies are not put back",
    images,
    "where depends_on_id in (${outcomeIds})",
    "where depends_on_id in ('')",
  ],
  ["edges are not put back", undoing, "    return insertRow(tx, table, before);\n  }", "    return;\n  }"],
];

const root = join(import.meta.dirname, "..");
const mostSeeds = 40;
const hook = fileURLToPath(new URL("./planted-bugs/plant.ts", import.meta.url));
const player = fileURLToPath(new URL("./reorganization-bugs/play.ts", import.meta.url));
const endWithRunner = fileURLToPath(new URL("../scripts/end-with-runner.ts", import.meta.url));

/** Two guards stand behind each other: only without both there is a bug. */
const circle = [
  { file: changes, find: "if (await isAtOrBelow(call, to, agent.id))", replace: "if (to.id === agent.id)" },
  {
    file: moving,
    find: "if (!(await wouldWaitForItself(tx, to.mandate_id, id)))",
    replace: "if (tx.now > 0)",
  },
];

describe("random reorganizations", { concurrency: 2 }, () => {
  test("find nothing when nothing is planted", async () => {
    assert.equal(await found([], 2), null);
  });
  test("find the bug: a boss reports to its own report", async () => {
    assert.notEqual(await found(circle, mostSeeds), null, `not in ${mostSeeds} seeds`);
  });
  for (const [name, file, find, replace] of bugs)
    test(`find the bug: ${name}`, async () => {
      assert.notEqual(await found([{ file, find, replace }], mostSeeds), null, `not in ${mostSeeds} seeds`);
    });
});

async function found(edits: readonly Edit[], most: number): Promise<string | null> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", endWithRunner, "--import", hook, player, String(most)],
    { cwd: root, env: { ...process.env, AGENCY_PLANT: JSON.stringify(edits) } },
  );
  const report: unknown = JSON.parse(stdout);
  const said = typeof report === "object" && report !== null && "found" in report ? report.found : undefined;
  return typeof said === "string" ? said : null;
}
