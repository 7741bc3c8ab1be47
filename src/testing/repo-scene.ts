import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Resolve } from "../capabilities/hosts.ts";
import { grantPermission } from "../contract/capabilities.ts";
import { addRepo } from "../contract/repos.ts";
import { keepMirrors, type Mirrors } from "../repos/mirrors.ts";
import { mirrorOf, repoNamed } from "../repos/table.ts";
import type { Store } from "../store/store.ts";
import { createOrganization, openTestStore, type storeKinds } from "./organization.ts";

/** Runs git as a developer does, without the settings of this machine. */
export const gitAs = (cwd: string, ...args: string[]): string =>
  execFileSync("git", ["-c", "user.name=Dev", "-c", "user.email=dev@example.com", ...args], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  }).trim();

export function commitFile(place: string, file: string, text: string): string {
  writeFileSync(join(place, file), text);
  gitAs(place, "add", "-A");
  gitAs(place, "commit", "-qm", `Change ${file}`);
  return gitAs(place, "rev-parse", "HEAD");
}

/** A company with the repository `site`, whose origin is a folder with one commit. */
export async function openRepoScene(kind: (typeof storeKinds)[number], resolve?: Resolve) {
  const folder = mkdtempSync(join(tmpdir(), "agency-repos-"));
  const origin = join(folder, "origin.git");
  const work = join(folder, "work");
  mkdirSync(work);
  gitAs(folder, "init", "-q", "--bare", "-b", "main", origin);
  gitAs(work, "init", "-q", "-b", "main");
  commitFile(work, "price.js", "export const price = (n) => n * 1.1;\n");
  gitAs(work, "push", "-q", origin, "main");
  const opened = await openTestStore(kind);
  const { store } = opened;
  const mirrorsIn = (name: string): Mirrors =>
    keepMirrors({ folder: join(folder, name), enclose: () => undefined, ...(resolve && { resolve }) });
  const mirrors = mirrorsIn("repos");
  const state = { isFull: false };
  const fillable: Store = {
    dialect: store.dialect,
    read: (work) => store.read(work),
    write: (work, on) =>
      store.write(async (tx) => {
        const done = await work(tx);
        if (state.isFull) throw new Error("The disk is full.");
        return done;
      }, on),
    onCommit: (listener) => store.onCommit(listener),
    rest: () => store.rest(),
    close: () => store.close(),
  };
  const org = await createOrganization(fillable, { mirrors });
  const { companyId } = org;
  await org.board(addRepo, { companyId, name: "site", url: origin });
  let sessions = 0;
  return {
    folder,
    origin,
    work,
    store,
    mirrors,
    org,
    /** The mirrors of another node with the same database. */
    mirrorsIn,
    /** With `isFull`, no transaction can commit. */
    state,
    mirrorNamed: async (name: string) => {
      const row = await store.read((tx) => repoNamed(tx, companyId, name));
      if (row === undefined) throw new Error(`no repository ${name}`);
      return mirrorOf(row);
    },
    /** A new agent with this right on the repository, in a session with a workspace. */
    developer: async (name: string, level?: "read" | "push") => {
      const agent = await org.agent(name);
      const right = { companyId, to: agent.id, resource: "repo:site" as const };
      const grant = level && (await org.board(grantPermission, { ...right, level }));
      const workspace = join(folder, `workspace-${++sessions}`);
      mkdirSync(workspace);
      return { ...agent, workspace, grant, session: await org.session(agent.id, workspace) };
    },
    close: async (): Promise<void> => {
      await opened.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
export type RepoScene = Awaited<ReturnType<typeof openRepoScene>>;
