// Attacks through repositories: by the person who names an origin, by the origin itself, and by a session through its clone.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { grantPermission } from "../../src/contract/capabilities.ts";
import { updateCompany, viewCompany } from "../../src/contract/companies.ts";
import * as repos from "../../src/contract/repos.ts";
import { refusal } from "../../src/testing/organization.ts";
import { aRepo, changedClone, clonableRepo, knownRepo } from "../walk-repos.ts";
import type { DaemonAttack, Place } from "./attack.ts";

function attack(
  threat: string,
  attempt: string,
  expected: string,
  run: (place: Place) => Promise<void>,
): DaemonAttack {
  return { class: "injection", threat, attempt, expected, run };
}

const git = (...args: string[]): string =>
  execFileSync("git", ["-c", "user.name=Mallory", "-c", "user.email=mallory@example.com", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  }).trim();

const mark = join(tmpdir(), `agency-ran-${randomUUID()}`);
const origins = join(tmpdir(), `agency-origins-${randomUUID()}`);
process.once("exit", () => rmSync(origins, { recursive: true, force: true }));
const session = ({ world: { org, tokens } }: Place) => org.as(tokens.session);

/** URLs with which a careless git would run a program, read a file, or ask the network around this machine. */
const urls: Readonly<Record<string, string>> = {
  "an option for the program at the other end": `--upload-pack=touch ${mark}`,
  "a short option": `-u${mark}`,
  "the transport ext": `ext::sh -c touch% ${mark}`,
  "the transport fd": "fd::17",
  "a transport helper": "transport::https://example.com/x",
  "a proxy command as host": `ssh://-oProxyCommand=touch%20${mark}/x`,
  "a proxy command as host in the short form": `-oProxyCommand=touch ${mark}:x`,
  "an option as path": "ssh://git@example.com/-x",
  "an option as path in the short form": "host:-x",
  "a file of another host": "file://host/etc",
  "a second line": "/tmp/\nx",
  "git without encryption": "git://example.com/x",
  "http without encryption": "http://example.com/x",
  "a password": "https://user:password@example.com/x",
  "the address of the cloud's metadata": "https://169.254.169.254/latest",
  "that address as one number": "https://2852039166/latest",
  "that address for ssh": "ssh://git@0xa9fea9fe/x",
  "that address in the short form": "git@169.254.169.254:x",
  "the address of no machine": "https://0.0.0.0/x",
};

const names = Object.entries(urls).map(([what, url]) =>
  attack(
    "a program that git starts for a URL",
    `a repository whose URL has ${what}`,
    "invalid, and nothing ran",
    async ({ world }) => {
      const said = await refusal(world.org.board(repos.addRepo, { ...aRepo(world), url }), "invalid");
      assert.ok(!said.message.includes(":password"), said.message);
      assert.ok(!existsSync(mark));
    },
  ),
);

/** A separate origin, with these branches. */
function originWith(branches: readonly string[], head = "main"): string {
  const folder = join(origins, randomUUID());
  const [origin, work] = [join(folder, "origin.git"), join(folder, "work")];
  git("init", "-q", "--bare", "-b", head, origin);
  git("init", "-q", "-b", head, work);
  writeFileSync(join(work, "a.txt"), "a\n");
  git("-C", work, "add", "-A");
  git("-C", work, "commit", "-qm", "First");
  for (const branch of [head, ...branches])
    git("-C", work, "push", "-q", origin, `HEAD:refs/heads/${branch}`);
  return origin;
}

const hostileOrigins: readonly DaemonAttack[] = [
  attack(
    "an origin that stops all work",
    "an origin with a branch called agency, where published branches are kept",
    "fetched without it, and published branches stay",
    async (place) => {
      const { org, sitter } = place.world;
      const { companyId, name } = aRepo(place.world);
      const url = originWith([]);
      await org.board(repos.addRepo, { companyId, name, url });
      await grant(place, name, sitter);
      const branch = await publishOnce(place, name);
      git("-C", url, "branch", "agency", "main");
      git("-C", url, "branch", "later", "main");
      const { trouble } = await org.board(repos.fetchRepo, { companyId, name });
      assert.equal(trouble, null);
      const { path } = await session(place)(repos.cloneRepo, { name });
      assert.match(git("-C", path, "branch", "-r"), /origin\/later/);
      assert.match(git("-C", path, "branch", "-r"), new RegExp(`origin/${branch}`));
      const fresh = aRepo(place.world);
      await org.board(repos.addRepo, { ...fresh, url });
    },
  ),
  attack(
    "an origin that stops all work",
    "an origin whose default branch is called agency",
    "refused with the reason",
    async ({ world }) => {
      const url = originWith([], "agency");
      const said = await refusal(world.org.board(repos.addRepo, { ...aRepo(world), url }), "refused");
      assert.match(said.message, /is called agency/);
    },
  ),
  attack(
    "a program that git starts for a repository",
    "an origin with hooks, submodules, filters and Git LFS",
    "cloned as files, with notes, and nothing ran",
    async (place) => {
      const { world } = place;
      const url = originWith([]);
      const work = join(dirname(url), "work");
      for (const hook of ["post-checkout", "upload-pack", "pre-receive", "reference-transaction"])
        writeFileSync(join(url, "hooks", hook), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
      git("-C", url, "config", "uploadpack.packObjectsHook", `touch ${mark}`);
      writeFileSync(join(work, ".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs\n*.txt filter=evil\n");
      writeFileSync(join(work, "x.bin"), "version https://git-lfs.github.com/spec/v1\n");
      writeFileSync(
        join(work, ".gitmodules"),
        '[submodule "x"]\n\tpath = x\n\turl = https://example.com/x.git\n',
      );
      git("-C", work, "add", "-A");
      git("-C", work, "commit", "-qm", "More");
      git("-C", work, "push", "-q", "--no-verify", url, "HEAD:main");
      rmSync(mark, { force: true });
      const { companyId, name } = aRepo(world);
      await world.org.board(repos.addRepo, { companyId, name, url });
      await grant(place, name, world.sitter);
      const { notes, path } = await session(place)(repos.cloneRepo, { name });
      assert.match(notes.join("\n"), /has submodules\. Agency does not clone them/);
      assert.match(notes.join("\n"), /Git LFS\. Agency does not download them/);
      assert.ok(existsSync(join(path, "x.bin")) && !existsSync(join(path, "x")));
      assert.ok(!existsSync(mark), "something ran");
    },
  ),
];

async function grant({ world: { org } }: Place, name: string, to: string): Promise<void> {
  await org.board(grantPermission, { companyId: org.companyId, to, resource: `repo:${name}` });
}

/** Clones, commits and publishes, and returns the name of the published branch. */
async function publishOnce(place: Place, name: string): Promise<string> {
  const call = session(place);
  const { path } = await call(repos.cloneRepo, { name });
  writeFileSync(join(path, "a.txt"), randomUUID());
  git("-C", path, "commit", "-qam", "Change");
  return (await call(repos.publishBranch, { repo: name, branch: "main", message: "x" })).branch;
}

/** A clone with commits, which the session changes before it publishes. */
const prepared = (what: string, prepare: (own: string, other: string) => string): DaemonAttack =>
  attack(
    "a session without a sandbox that reads the commits of another",
    `a branch published from ${what}`,
    "refused, and nothing is taken",
    async (place) => {
      const { world } = place;
      const call = session(place);
      const { name } = await clonableRepo(world);
      const own = (await call(repos.cloneRepo, { name })).path;
      // Another repository. The session must not publish any of its commits here.
      const other = dirname(originWith([]));
      git("-C", join(other, "work"), "checkout", "-qb", "stolen");
      writeFileSync(join(other, "work", "secret.txt"), "secret\n");
      git("-C", join(other, "work"), "add", "-A");
      git("-C", join(other, "work"), "commit", "-qm", "Secret");
      const path = prepare(own, join(other, "work"));
      const tried = call(repos.publishBranch, { repo: name, branch: "stolen", message: "x", path });
      assert.match((await refusal(tried, "refused")).message, /is not a clone in your workspace/);
    },
  );

const clones: readonly DaemonAttack[] = [
  prepared("a folder outside of the workspace", (_, other) => other),
  prepared("a path that climbs out of the workspace", (own, other) => join(own, "..", "..", "..", other)),
  prepared("a link to a clone of another", (own, other) => {
    symlinkSync(other, `${own}-link`);
    return `${own}-link`;
  }),
  prepared("a clone whose .git is a link", (own, other) => {
    renameSync(join(own, ".git"), join(own, "git"));
    symlinkSync(join(other, ".git"), join(own, ".git"));
    return own;
  }),
  prepared("a clone whose .git names another folder", (own, other) => {
    renameSync(join(own, ".git"), join(own, "git"));
    writeFileSync(join(own, ".git"), `gitdir: ${join(other, ".git")}\n`);
    return own;
  }),
  prepared("a clone that shares the folder of another", (own, other) => {
    writeFileSync(join(own, ".git", "commondir"), join(other, ".git"));
    return own;
  }),
  prepared("a clone that borrows the objects of another", (own, other) => {
    mkdirSync(join(own, ".git", "objects", "info"), { recursive: true });
    appendFileSync(join(own, ".git", "objects", "info", "alternates"), `${join(other, ".git", "objects")}\n`);
    return own;
  }),
  prepared("a clone with a link among its objects", (own, other) => {
    symlinkSync(join(other, ".git", "objects"), join(own, ".git", "objects", "borrowed"));
    return own;
  }),
  attack(
    "a disk that commits fill",
    "a branch with more than the agent's storage",
    "limited, and no clone is made either until there is room",
    async (place) => {
      const { org } = place.world;
      const { companyId } = org;
      const call = session(place);
      const change = await changedClone(place.world);
      const clone = await call(repos.cloneRepo, { name: change.repo });
      const { maxAgentBytes } = (await org.board(viewCompany, { companyId })).settings;
      const publish = () =>
        call(repos.publishBranch, { repo: change.repo, branch: "main", message: "x", path: clone.path });
      const grow = (bytes: number): void => {
        writeFileSync(join(clone.path, `${randomUUID()}.bin`), randomBytes(bytes));
        git("-C", clone.path, "add", "-A");
        git("-C", clone.path, "commit", "-qm", "More");
      };
      await org.board(updateCompany, { companyId, maxAgentBytes: 1024 * 1024 });
      try {
        grow(1_200_000);
        assert.match((await refusal(publish(), "limited")).message, /commits take \d+ bytes/);
        git("-C", clone.path, "reset", "-q", "--hard", "HEAD~1");
        grow(600_000);
        await publish();
        grow(600_000);
        assert.match((await refusal(publish(), "limited")).message, /maxAgentBytes/);
      } finally {
        await org.board(updateCompany, { companyId, maxAgentBytes });
      }
      await publish();
      await org.board(updateCompany, { companyId, maxAgentBytes: 1024 * 1024 });
      try {
        await refusal(call(repos.cloneRepo, { name: change.repo }), "limited");
      } finally {
        await org.board(updateCompany, { companyId, maxAgentBytes });
      }
      // Bytes of a removed repository don't count any more.
      await org.board(repos.removeRepo, { companyId, name: change.repo });
    },
  ),
  attack(
    "a name that git reads as an option or another place",
    "branches called --upload-pack=x, a:b, @{-1}, $(touch x) and others",
    "invalid",
    async (place) => {
      const { companyId, name: repo } = await knownRepo(place.world);
      await grant(place, repo, place.world.sitter);
      for (const branch of [
        "--upload-pack=x",
        "-f",
        "a..b",
        "a:b",
        "+main",
        "x y",
        "x\ny",
        "$(touch x)",
      ].concat(["a.lock", "@{-1}", "/x", "x/", "HEAD", "~1", "a^"])) {
        await refusal(session(place)(repos.publishBranch, { repo, branch, message: "x" }), "invalid");
        await refusal(place.world.org.board(repos.pushBranch, { companyId, repo, branch }), "invalid");
      }
    },
  ),
];

export const repositoryAttacks: readonly DaemonAttack[] = [...names, ...hostileOrigins, ...clones];
