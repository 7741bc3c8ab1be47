import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keepMirrors } from "../src/repos/mirrors.ts";
import { originOf } from "../src/repos/repository.ts";
import { type Entry, rounds } from "./bench.ts";
import { inTurns } from "./timing.ts";

/** A clone of a repository of 100 MB from the mirror, shared and copied. The baseline is git over its own protocol. */
export const repos: Entry = {
  name: "repos",
  about: "a clone of 100 MB from the mirror",
  run: async (bench) => {
    const place = join(bench.folder, "repos");
    const work = join(place, "work");
    const origin = join(place, "origin.git");
    mkdirSync(work, { recursive: true });
    const git = (cwd: string, ...args: string[]): string =>
      execFileSync("git", ["-c", "user.name=b", "-c", "user.email=b@example.com", ...args], {
        cwd,
        encoding: "utf8",
      });
    const megabytes = bench.quick ? 4 : 100;
    bench.say(`making a repository of ${megabytes} MB`);
    git(work, "init", "-q", "-b", "main");
    for (let n = 0; n < megabytes; n++) writeFileSync(join(work, `file-${n}`), randomBytes(1024 * 1024));
    git(work, "add", "-A");
    git(work, "commit", "-qm", "All");
    git(place, "clone", "-q", "--bare", work, origin);
    const mirrors = keepMirrors({ folder: join(place, "mirrors"), enclose: () => undefined });
    const mirror = { companyId: "company", name: "site", id: "1" };
    const from = originOf(origin);
    if ("wrong" in from) throw new Error(from.wrong);
    const reached = { origin: from, credential: undefined, privateNetwork: false };
    await (await mirrors.create(mirror, reached)).place();
    const workspace = join(place, "workspace");
    const clone = (isShared: boolean) => async () => {
      rmSync(workspace, { recursive: true, force: true });
      mkdirSync(workspace);
      const begun = performance.now();
      const author = { name: "b", email: "b@example.com" };
      await mirrors.clone({ ...mirror, workspace, isShared, defaultBranch: "main", author, bundles: [] });
      return performance.now() - begun;
    };
    const {
      small: shared,
      large: copied,
      raw,
    } = await inTurns(rounds(bench), {
      small: clone(true),
      large: clone(false),
      raw: async () => {
        const target = join(place, "plain");
        rmSync(target, { recursive: true, force: true });
        const begun = performance.now();
        git(place, "clone", "-q", `file://${origin}`, target);
        return performance.now() - begun;
      },
    });
    const baseline = { what: "git clone file://", value: raw };
    const aim = { atMost: raw / 5 };
    return [
      { name: `clone of ${megabytes} MB, objects shared`, unit: "ms" as const, value: shared, baseline, aim },
      { name: `clone of ${megabytes} MB, objects copied`, unit: "ms" as const, value: copied, baseline, aim },
    ];
  },
};
