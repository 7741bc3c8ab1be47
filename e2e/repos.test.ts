// One goal from start to end with a local repository: the root delegates, a worker clones, commits and publishes, a reviewer
// runs the tests in its own clone, the board sees the diff and pushes it. Then a daemon is killed between commit and publish.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { updateAgent } from "../src/contract/agents.ts";
import { grantPermission } from "../src/contract/capabilities.ts";
import { viewCompany } from "../src/contract/companies.ts";
import { createGoal } from "../src/contract/goals.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { viewOutcome } from "../src/contract/outcomes.ts";
import { decideOutcome } from "../src/contract/delegation.ts";
import { why } from "../src/contract/why.ts";
import { addRepo, listRepos, pushBranch, viewDiff } from "../src/contract/repos.ts";
import { allowed } from "../src/testing/allowed.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { developer, git, makeOrigin } from "./support/origin.ts";

async function until(isSo: () => Promise<boolean>, milliseconds: number): Promise<void> {
  const end = Date.now() + allowed(milliseconds);
  while (!(await isSo())) {
    assert.ok(Date.now() < end, "it takes too long");
    await sleep(200);
  }
}

/** Root, worker and reviewer, each played by developer.mjs. */
async function staff(daemon: BuiltDaemon, origin: string, stops = false) {
  const { board, companyId } = daemon;
  await board.call(addRepo, { companyId, name: "shop", url: origin });
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  await board.call(updateAgent, { id: rootAgentId, ...developer("lead") });
  const worker = await board.call(createAgent, {
    companyId,
    name: "Worker",
    role: "worker",
    ...developer("worker", ...(stops ? ["stop"] : [])),
  });
  await board.call(createAgent, { companyId, name: "Reviewer", role: "reviewer", ...developer("reviewer") });
  await board.call(grantPermission, { companyId, to: rootAgentId, resource: "repo:shop", level: "read" });
  return { worker: worker.id };
}

// covers REPO-01, REPO-04
test("a goal to fix a bug ends with a branch at the origin", async () => {
  const home = temporaryFolder("repos");
  const place = temporaryFolder("origin");
  const daemon = await startDaemon({ home: home.path }).ready;
  try {
    const { board, companyId } = daemon;
    const origin = makeOrigin(place.path);
    await staff(daemon, origin);
    const { id: goal } = await board.call(createGoal, {
      companyId,
      title: "Fix the bug: 3 costs 3.3000000000000003",
    });
    await until(async () => (await board.call(viewOutcome, { id: goal })).status === "submitted", 90_000);
    const { deliverables } = await board.call(viewOutcome, { id: goal });
    assert.equal(deliverables.length, 1);
    const diff = await board.call(viewDiff, { companyId, repo: "shop", branch: "agency/worker/fix" });
    assert.match(diff.diff, /\+export const price = \(n\) => Math\.round/);
    await board.call(pushBranch, { companyId, repo: "shop", branch: "agency/worker/fix", onto: "main" });
    assert.equal(git(origin, "rev-parse", "main"), diff.commit);
    await board.call(decideOutcome, { id: goal, verdict: "pass" });
  } finally {
    await daemon.stop();
    home.remove();
    place.remove();
  }
});

test("kill -9 between commit and publish loses no commit", async () => {
  const home = temporaryFolder("repos-kill");
  const place = temporaryFolder("origin-kill");
  let daemon = await startDaemon({ home: home.path }).ready;
  try {
    const origin = makeOrigin(place.path);
    const { worker } = await staff(daemon, origin, true);
    const { companyId } = daemon;
    await daemon.board.call(createGoal, { companyId, title: "Fix the bug" });
    let commit = "";
    await until(async () => {
      for (const session of readdirSync(join(home.path, "workspaces"))) {
        const mark = join(home.path, "workspaces", session, "committed");
        if (!existsSync(mark)) continue;
        commit = readFileSync(mark, "utf8").trim();
        // In a sandbox, the clone uses the objects of the mirror.
        const shared = join(
          home.path,
          "workspaces",
          session,
          "shop",
          ".git",
          "objects",
          "info",
          "alternates",
        );
        assert.ok(readFileSync(shared, "utf8").startsWith(join(home.path, "repos")));
      }
      return commit.length === 40;
    }, 90_000);
    await daemon.kill();
    daemon = await startDaemon({ home: home.path }).ready;
    const { board } = daemon;
    const kept = async () => (await board.call(listRepos, { companyId })).repos[0]?.unpublished ?? [];
    await until(async () => (await kept()).some((one) => one.commit === commit), 60_000);
    const [bundle] = await kept();
    assert.equal(bundle?.branch, "fix");
    const file = join(home.path, "repos", "bundles", bundle?.bundle ?? "");
    assert.ok(git(place.path, "bundle", "list-heads", file).includes(commit));
    assert.match((await board.call(why, { id: worker })).says, /not published/);
  } finally {
    await daemon.stop();
    home.remove();
    place.remove();
  }
});
