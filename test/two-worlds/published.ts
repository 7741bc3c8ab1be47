import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepMirrors } from "../../src/repos/mirrors.ts";
import { putBranch } from "../../src/repos/table.ts";
import type { Store } from "../../src/store/store.ts";
import { plantRepo } from "../../src/testing/repos.ts";

const git = (...args: string[]): string =>
  execFileSync("git", ["-c", "user.name=Rex", "-c", "user.email=rex@example.com", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      ...process.env,
      GIT_AUTHOR_DATE: "2030-01-01T00:00:00Z",
      GIT_COMMITTER_DATE: "2030-01-01T00:00:00Z",
    },
  }).trim();

let made: { folder: string; commit: string } | undefined;

/** One mirror on disk for all worlds: a commit on `main` and one on a branch that Rex published. */
function mirrored(): { folder: string; commit: string } {
  if (made !== undefined) return made;
  const folder = mkdtempSync(join(tmpdir(), "agency-worlds-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const [work, mirror] = [join(folder, "work"), join(folder, "all", "shared", "some.git")];
  git("init", "-q", "-b", "main", work);
  const save = (text: string): void => {
    writeFileSync(join(work, "a.txt"), text);
    git("-C", work, "add", "a.txt");
    git("-C", work, "commit", "-qm", text);
  };
  save("first");
  git("-C", work, "checkout", "-qb", "agency/rex/fix");
  save("fixed");
  mkdirSync(join(folder, "all", "shared"), { recursive: true });
  git("clone", "-q", "--bare", work, mirror);
  return (made = { folder: join(folder, "all"), commit: git("-C", work, "rev-parse", "HEAD") });
}

export const worldMirrors = () => keepMirrors({ folder: mirrored().folder, enclose: () => undefined });

/** Gives the company the repository `some` with the published branch. */
export async function publish(
  store: Store,
  companyId: string,
  by: { readonly agentId: string; readonly fileId: string },
): Promise<void> {
  const { folder, commit } = mirrored();
  const own = join(folder, companyId);
  if (!existsSync(own)) symlinkSync("shared", own);
  await plantRepo(store, companyId, "some");
  await store.write(async (tx) => {
    await tx.lock(companyId);
    await tx.run(putBranch, {
      company_id: companyId,
      repo: "some",
      name: "agency/rex/fix",
      agent_id: by.agentId,
      commit_id: commit,
      commits: 1,
      message: "fixed",
      file_id: by.fileId,
      bytes: 0,
      published_at: tx.now,
      pushed_at: null,
      pushed_to: null,
    });
  });
}
