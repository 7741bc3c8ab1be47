// Steps of others between the commands of command-screens.test.ts: an agent that works in a repository, a person who signs in
// for an MCP server, a root agent that reaches a goal.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient } from "../src/client/client.ts";
import { grantPermission } from "../src/contract/capabilities.ts";
import { listAgents } from "../src/contract/agents.ts";
import { listGoals } from "../src/contract/goals.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { submitOutcome } from "../src/contract/outcomes.ts";
import { cloneRepo, publishBranch } from "../src/contract/repos.ts";
import { signInMcpServer } from "../src/contract/servers.ts";
import { newId, newSecret } from "../src/daemon/ids.ts";
import { keepMirrors } from "../src/repos/mirrors.ts";
import { salvageSession } from "../src/repos/salvage.ts";
import { endSession, openSession } from "../src/runtime/sessions.ts";
import type { CommandLine } from "../src/testing/command-line.ts";

/** Fixed dates and names give the same commits in every run. */
function git(cwd: string, ...args: string[]): void {
  const at = "2026-03-04T12:00:00Z";
  execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args], {
    cwd,
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      ...process.env,
      GIT_AUTHOR_DATE: at,
      GIT_COMMITTER_DATE: at,
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
    },
  });
}

function commit(place: string, file: string, text: string): void {
  writeFileSync(join(place, file), text);
  git(place, "add", "-A");
  git(place, "commit", "-qm", `Change ${file}`);
}

export function makeSite(folder: string): void {
  const site = join(folder, "site");
  git(folder, "init", "-q", "-b", "main", site);
  commit(site, "menu.md", "# Menu\n\n- Rye bread\n");
}

/** In one session, Ada publishes a branch and commits to another one that she does not publish. */
export async function workInRepository(
  { daemon, folder, env }: CommandLine,
  companyId: string,
): Promise<void> {
  const board = createClient(daemon);
  const { agents } = await board.call(listAgents, { companyId });
  const agentId = agents.find(({ slug }) => slug === "ada")?.id ?? "";
  await board.call(grantPermission, { companyId, to: agentId, resource: "repo:site", level: "read" });
  const workspace = join(folder, "workspace");
  mkdirSync(workspace);
  const session = { id: newId(), agentId, credentialId: newId(), token: newSecret(), workspace };
  await daemon.store.write((tx) => openSession(tx, session));
  const ada = createClient({ url: daemon.url, token: session.token });
  const { path } = await ada.call(cloneRepo, { companyId, name: "site" });
  git(path, "checkout", "-qb", "rolls");
  commit(path, "menu.md", "# Menu\n\n- Rye bread\n- Rolls\n");
  await ada.call(publishBranch, { companyId, repo: "site", branch: "rolls", message: "We sell rolls." });
  git(path, "checkout", "-qb", "cakes");
  commit(path, "cakes.md", "# Cakes\n");
  await daemon.store.write((tx) =>
    endSession(tx, session.id, { reason: "exited with code 0", exitCode: 0 }, newId),
  );
  const mirrors = keepMirrors({ folder: join(env["AGENCY_HOME"] ?? "", "repos"), enclose: () => undefined });
  await salvageSession({ store: daemon.store, mirrors, newId }, session.id, workspace);
}

/** Olga opens the link in a browser and allows the access. */
export async function signInForServer({ daemon }: CommandLine, companyId: string): Promise<void> {
  const { url } = await createClient(daemon).call(signInMcpServer, { companyId, name: "oven" });
  await fetch(url ?? "");
}

/** The root agent writes a file for a goal and submits it, as soon as the command that follows the goal shows the goal. */
export async function reachGoal(
  { daemon, printed }: CommandLine,
  root: Client,
  companyId: string,
  title: string,
): Promise<void> {
  while (!printed().includes(`waiting   Root: ${title}`)) await sleep(20);
  const { outcomes } = await createClient(daemon).call(listGoals, { companyId });
  const id = outcomes.find((goal) => goal.title === title)?.id ?? "";
  const content = "# Bread\n\nMix, wait, bake.\n";
  const file = await root.call(createFile, { companyId, description: "Guide to bread", content });
  await root.call(submitOutcome, { id, note: `The guide is kb://${file.id}`, files: [file.id] });
}
