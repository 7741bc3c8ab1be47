// Creates the repositories that rows of the walk need. Each function returns the input that names them.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { grantPermission } from "../src/contract/capabilities.ts";
import * as repos from "../src/contract/repos.ts";
import { bySystem } from "../src/dispatch/context.ts";
import { insertBundle } from "../src/repos/table.ts";
import type { World } from "./walk-row.ts";

const git = (...args: string[]): string =>
  execFileSync("git", ["-c", "user.name=Walker", "-c", "user.email=walker@example.com", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });

let origin: string | undefined;

/** A repository of this machine with one commit. */
function originOfWalk(): string {
  if (origin !== undefined) return origin;
  const folder = join(tmpdir(), `agency-walk-${randomUUID()}`);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(folder);
  origin = join(folder, "origin.git");
  const work = join(folder, "work");
  git("init", "-q", "--bare", "-b", "main", origin);
  git("init", "-q", "-b", "main", work);
  writeFileSync(join(work, "a.txt"), "a\n");
  git("-C", work, "add", "a.txt");
  git("-C", work, "commit", "-qm", "First");
  git("-C", work, "push", "-q", origin, "main");
  return origin;
}

export const aRepo = ({ org, name }: World) => ({
  companyId: org.companyId,
  name: `repo-${name().replace(/\W/g, "")}`,
  url: originOfWalk(),
});

export async function knownRepo(world: World) {
  const { companyId, name, url } = aRepo(world);
  await world.org.board(repos.addRepo, { companyId, name, url });
  return { companyId, name };
}

export async function clonableRepo(world: World) {
  const { companyId, name } = await knownRepo(world);
  await world.org.board(grantPermission, { companyId, to: world.sitter, resource: `repo:${name}` });
  return { companyId, name };
}

export async function changedClone(world: World) {
  const { companyId, name } = await clonableRepo(world);
  const { path } = await world.org.as(world.tokens.session)(repos.cloneRepo, { name });
  writeFileSync(join(path, "a.txt"), `${randomUUID()}\n`);
  git("-C", path, "commit", "-qam", "Change it");
  return { companyId, repo: name, branch: "main", message: "Changed" };
}

export async function publishedBranch(world: World) {
  const change = await changedClone(world);
  const { branch } = await world.org.as(world.tokens.session)(repos.publishBranch, change);
  return { companyId: world.org.companyId, repo: change.repo, branch };
}

export const pushableBranch = async (world: World) => ({
  ...(await publishedBranch(world)),
  onto: `walk-${randomUUID()}`,
});

export async function keptBundle(world: World) {
  const { companyId, name } = await knownRepo(world);
  const id = randomUUID();
  await world.org.core.store.write(async (tx) => {
    await tx.lock(companyId);
    const call = bySystem(tx, companyId, randomUUID);
    await tx.run(insertBundle, {
      id,
      company_id: companyId,
      repo: name,
      agent_id: world.sitter,
      session_id: world.sitter,
      branch: "main",
      commit_id: "0".repeat(40),
      bytes: 0,
      commits: 1,
      created_at: tx.now,
      settled_at: null,
    });
    await call.record(world.sitter, { repo: name }, "repo.salvage");
  });
  return { companyId, name, id };
}
