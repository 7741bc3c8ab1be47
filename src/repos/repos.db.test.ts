import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { viewHistory, readFile } from "../contract/knowledge.ts";
import { grantPermission, revokePermission } from "../contract/capabilities.ts";
import * as contract from "../contract/repos.ts";
import { setSecret } from "../contract/secrets.ts";
import { refusal, storeKinds } from "../testing/organization.ts";
import { commitFile, gitAs, openRepoScene, type RepoScene } from "../testing/repo-scene.ts";
import { salvageSession, sweepMirrors } from "./salvage.ts";

for (const kind of storeKinds) {
  describe(`repositories on ${kind}`, () => {
    let scene: RepoScene;
    let org: RepoScene["org"];
    let mirrors: RepoScene["mirrors"];
    let folder = "";
    let origin = "";
    let work = "";
    const developer: RepoScene["developer"] = (...args) => scene.developer(...args);

    before(async () => {
      scene = await openRepoScene(kind);
      ({ org, mirrors, folder, origin, work } = scene);
    });
    after(() => scene.close());

    // covers REPO-02
    test("a clone has the newest commit of the origin, and works without the origin", async () => {
      const newest = commitFile(work, "more.txt", "more\n");
      gitAs(work, "push", "-q", origin, "main");
      const { session, workspace } = await developer("Cloner", "read");
      const made = await session.call(contract.cloneRepo, { name: "site" });
      assert.equal(made.path, join(workspace, "site"));
      assert.equal(made.commit, newest);
      assert.equal(readFileSync(join(made.path, "more.txt"), "utf8"), "more\n");
      assert.deepEqual(made.notes, []);
      const away = `${origin}.away`;
      execFileSync("mv", [origin, away]);
      try {
        await refusal(org.board(contract.fetchRepo, { companyId: org.companyId, name: "site" }), "refused");
        const offline = await session.call(contract.cloneRepo, { name: "site" });
        assert.equal(offline.path, join(workspace, "site-2"));
        assert.equal(offline.commit, newest);
        assert.match(offline.notes.join(), /can't be reached now/);
      } finally {
        execFileSync("mv", [away, origin]);
      }
      await org.board(contract.fetchRepo, { companyId: org.companyId, name: "site" });
    });

    // covers REPO-03
    test("twenty clones at the same time fetch once", async () => {
      const developers = [];
      for (let n = 0; n < 20; n++) developers.push(await developer(`Twin ${n}`));
      const { companyId } = org;
      await org.board(contract.addRepo, { companyId, name: "many", url: origin });
      for (const { id: to } of developers)
        await org.board(grantPermission, { companyId, to, resource: "repo:many" });
      const [counting, trace] = [join(folder, "counting"), join(folder, "fetches")];
      mkdirSync(counting);
      // A git in front of the real one that notes each fetch.
      const real = execFileSync("which", ["git"], { encoding: "utf8" }).trim();
      writeFileSync(
        join(counting, "git"),
        `#!/bin/sh\nfor arg; do if [ "$arg" = fetch ]; then echo fetch >> ${trace}; fi; done\nexec ${real} "$@"\n`,
        { mode: 0o755 },
      );
      const path = process.env["PATH"];
      process.env["PATH"] = `${counting}:${path}`;
      try {
        await Promise.all(
          developers.map(({ session }) => session.call(contract.cloneRepo, { name: "many" })),
        );
      } finally {
        process.env["PATH"] = path;
      }
      assert.equal(readFileSync(trace, "utf8"), "fetch\n");
      for (const { workspace } of developers) assert.ok(existsSync(join(workspace, "many", "price.js")));
    });

    test("rights are checked on every call, and again when git has ended", async () => {
      const none = await developer("None");
      await refusal(none.session.call(contract.cloneRepo, { name: "site" }), "not_found");
      assert.deepEqual((await none.session.call(contract.listRepos, {})).repos, []);
      const reader = await developer("Reader", "read");
      const [seen] = (await reader.session.call(contract.listRepos, {})).repos;
      assert.equal(seen?.level, "read");
      await refusal(reader.session.call(contract.pushBranch, { repo: "site", branch: "x" }), "forbidden");
      await refusal(
        org.board(grantPermission, { companyId: org.companyId, to: reader.id, resource: "repo:nothing" }),
        "refused",
      );
      // The right ends while git is working.
      const running = reader.session.call(contract.cloneRepo, { name: "site" });
      await org.board(revokePermission, { id: reader.grant?.id ?? "" });
      await refusal(running, "not_found");
      await refusal(reader.session.call(contract.cloneRepo, { name: "site" }), "not_found");
    });

    test("a branch is published with its diff, pushed only with the right, and never over other commits", async () => {
      const ada = await developer("Ada", "read");
      const { path } = await ada.session.call(contract.cloneRepo, { name: "site" });
      gitAs(path, "checkout", "-qb", "fix");
      const first = commitFile(path, "price.js", "export const price = (n) => Math.round(n * 1.1);\n");
      const published = await ada.session.call(contract.publishBranch, {
        repo: "site",
        branch: "fix",
        message: "Round prices.",
        testOutput: "ok 1 - rounds",
      });
      assert.equal(published.branch, "agency/ada/fix");
      assert.equal(published.commit, first);
      assert.equal(published.commits, 1);
      const { content } = await ada.session.call(readFile, { id: published.file });
      for (const part of [
        "Round prices.",
        "ok 1 - rounds",
        "+export const price = (n) => Math.round",
        "1 file",
      ])
        assert.ok(content.includes(part), part);
      const diff = await org.board(contract.viewDiff, {
        companyId: org.companyId,
        repo: "site",
        branch: "agency/ada/fix",
      });
      assert.match(diff.diff, /\+export const price = \(n\) => Math\.round/);
      assert.deepEqual(diff.files, [{ path: "price.js", added: 1, removed: 1 }]);
      const second = commitFile(path, "note.txt", "why\n");
      const again = await ada.session.call(contract.publishBranch, {
        repo: "site",
        branch: "fix",
        message: "And why.",
      });
      assert.equal(again.file, published.file);
      assert.equal((await ada.session.call(viewHistory, { id: again.file })).versions.length, 2);
      const reviewer = await developer("Reviewer", "push");
      const theirs = await reviewer.session.call(contract.cloneRepo, { name: "site" });
      assert.equal(gitAs(theirs.path, "rev-parse", "origin/agency/ada/fix"), second);
      const pushed = await reviewer.session.call(contract.pushBranch, {
        repo: "site",
        branch: "agency/ada/fix",
      });
      assert.equal(pushed.pushedTo, "agency/ada/fix");
      assert.equal(gitAs(origin, "rev-parse", "agency/ada/fix"), second);
      await org.board(contract.pushBranch, {
        companyId: org.companyId,
        repo: "site",
        branch: "agency/ada/fix",
        onto: "main",
      });
      assert.equal(gitAs(origin, "rev-parse", "main"), second);
      gitAs(work, "pull", "-q", "--rebase", origin, "main");
      commitFile(work, "theirs.txt", "theirs\n");
      gitAs(work, "push", "-q", origin, "HEAD:main");
      gitAs(path, "checkout", "-q", "-b", "other", first);
      commitFile(path, "other.txt", "other\n");
      await ada.session.call(contract.publishBranch, { repo: "site", branch: "other", message: "Other." });
      const forced = org.board(contract.pushBranch, {
        companyId: org.companyId,
        repo: "site",
        branch: "agency/ada/other",
        onto: "main",
      });
      assert.match((await refusal(forced, "refused")).message, /push to the branch main/);
      const missing = ada.session.call(contract.publishBranch, {
        repo: "site",
        branch: "nothing",
        message: "x",
      });
      await refusal(missing, "refused");
    });

    test("a session that ruins its clone harms neither the mirror nor others", async () => {
      const villain = await developer("Villain", "read");
      const { path } = await villain.session.call(contract.cloneRepo, { name: "site" });
      for (const pack of execFileSync("find", [join(path, ".git", "objects"), "-type", "f"], {
        encoding: "utf8",
      })
        .trim()
        .split("\n")) {
        execFileSync("chmod", ["u+w", pack]);
        writeFileSync(pack, "ruined");
      }
      await refusal(
        villain.session.call(contract.publishBranch, { repo: "site", branch: "main", message: "x" }),
        "refused",
      );
      const other = await developer("Bystander", "read");
      const clone = await other.session.call(contract.cloneRepo, { name: "site" });
      gitAs(clone.path, "fsck", "--strict");
      gitAs(mirrors.folderOf(await scene.mirrorNamed("site")), "fsck", "--strict");
    });

    test("commits that were not published are kept, come back with the next clone, and settle when they are published", async () => {
      const eve = await developer("Eve", "read");
      const { path } = await eve.session.call(contract.cloneRepo, { name: "site" });
      gitAs(path, "checkout", "-qb", "half");
      const lost = commitFile(path, "half.txt", "half\n");
      const parts = { store: scene.store, mirrors, newId: () => crypto.randomUUID() };
      await salvageSession(parts, eve.session.id, eve.workspace);
      // The second time, nothing is left to keep.
      await salvageSession(parts, eve.session.id, eve.workspace);
      rmSync(eve.workspace, { recursive: true });
      const listed = (await org.board(contract.listRepos, { companyId: org.companyId })).repos.find(
        ({ name }) => name === "site",
      )?.unpublished;
      assert.deepEqual(
        listed?.map(({ commit: id, branch, commits }) => ({ id, branch, commits })),
        [{ id: lost, branch: "half", commits: 1 }],
      );
      mkdirSync(eve.workspace);
      const next = await org.session(eve.id, eve.workspace);
      const clone = await next.call(contract.cloneRepo, { name: "site" });
      const [, back = ""] = /on the branch (\S+)\. Merge/.exec(clone.notes.join("\n")) ?? [];
      assert.equal(gitAs(clone.path, "rev-parse", back), lost);
      gitAs(clone.path, "checkout", "-qb", "whole", back);
      await next.call(contract.publishBranch, { repo: "site", branch: "whole", message: "Kept." });
      const after = (await org.board(contract.listRepos, { companyId: org.companyId })).repos.find(
        ({ name }) => name === "site",
      )?.unpublished;
      assert.deepEqual(after, []);
    });

    test("no URL, name or branch makes git run a program", async () => {
      const mark = join(folder, "executed");
      const { companyId } = org;
      const urls = [
        `ext::sh -c touch% ${mark}`,
        `ext::touch ${mark}`,
        `--upload-pack=touch ${mark}`,
        `-u${mark}`,
        "fd::17",
        "git://example.com/x",
        "ftp://example.com/x",
        "http://example.com/x",
        "https://user:password@example.com/x",
        "https://token@example.com/x",
        "https://-oProxyCommand=touch/x",
        "ssh://-oProxyCommand=touch%20x/x",
        "-oProxyCommand=touch:x",
        "file://host/etc",
        "https://example.com/x?y=z",
        "transport::https://example.com/x",
        "ssh://git@example.com/-x",
        "host:-x",
        `/tmp/\nx`,
      ];
      for (const [index, url] of urls.entries()) {
        const said = await refusal(
          org.board(contract.addRepo, { companyId, name: `bad-${index}`, url }),
          "invalid",
        );
        assert.ok(!said.message.includes(":password"), said.message);
      }
      const names = ["../x", "-x", "a/b", "x.git", ".x", "x..y", "a b", ""];
      for (const name of names)
        await refusal(org.board(contract.addRepo, { companyId, name, url: origin }), "invalid");
      const mallory = await developer("Mallory", "push");
      const { path } = await mallory.session.call(contract.cloneRepo, { name: "site" });
      const branches = [
        "--upload-pack=x",
        "-f",
        "a..b",
        "a:b",
        "+main",
        "x y",
        "x\ny",
        "$(touch x)",
        "a.lock",
        "@{-1}",
        "/x",
        "x/",
        "HEAD",
        "~1",
        "a^",
      ];
      for (const branch of branches) {
        await refusal(
          mallory.session.call(contract.publishBranch, { repo: "site", branch, message: "x" }),
          "invalid",
        );
        await refusal(mallory.session.call(contract.pushBranch, { repo: "site", branch }), "invalid");
      }
      // The daemon must not run programs that a session puts into its clone.
      const script = join(path, "run.sh");
      writeFileSync(script, `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
      mkdirSync(join(path, ".git", "hooks"), { recursive: true });
      for (const name of ["pre-push", "post-checkout", "reference-transaction", "update", "pre-receive"])
        writeFileSync(join(path, ".git", "hooks", name), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
      gitAs(path, "-c", "core.hooksPath=/dev/null", "checkout", "-qb", "evil");
      writeFileSync(join(path, ".gitmodules"), `[submodule "x"]\n\tpath = x\n\turl = ext::touch ${mark}\n`);
      writeFileSync(join(path, ".gitattributes"), "* filter=evil diff=evil\n");
      gitAs(path, "-c", "core.hooksPath=/dev/null", "add", "-A");
      gitAs(path, "-c", "core.hooksPath=/dev/null", "commit", "-qm", "Evil");
      for (const [key, value] of Object.entries({
        "core.fsmonitor": script,
        "core.sshCommand": script,
        "core.hooksPath": join(path, ".git", "hooks"),
        "filter.evil.smudge": script,
        "filter.evil.clean": script,
        "diff.external": script,
        "diff.evil.textconv": script,
        "core.alternateRefsCommand": script,
        "uploadpack.packObjectsHook": script,
        "credential.helper": `!${script}`,
      }))
        gitAs(path, "config", key, value);
      rmSync(mark, { force: true });
      const evil = mallory.session.call(contract.publishBranch, {
        repo: "site",
        branch: "evil",
        message: "Look.",
      });
      // Git refuses a .gitmodules with such a URL, or treats it as data.
      await evil.catch((error: unknown) => assert.match(String(error), /gitmodules/));
      const reader = await developer("Victim", "read");
      const clone = await reader.session.call(contract.cloneRepo, { name: "site" });
      assert.ok(existsSync(clone.path));
      assert.ok(!existsSync(mark), "something ran");
    });

    test("the origin's login is given to git alone, and no answer shows it", async () => {
      const { companyId } = org;
      const value = "canary-of-the-origin-91";
      const missing = org.board(contract.addRepo, {
        companyId,
        name: "far",
        url: "http://127.0.0.1:1/x",
        secret: "ORIGIN",
      });
      assert.match((await refusal(missing, "refused")).message, /not set: ORIGIN/);
      await org.board(setSecret, { companyId, name: "ORIGIN", value });
      const { createServer } = await import("node:http");
      const heard: string[] = [];
      const server = createServer((request, response) => {
        heard.push(request.headers.authorization ?? "");
        response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end(value);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      try {
        const address = server.address();
        const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/x`;
        const said = await refusal(
          org.board(contract.addRepo, { companyId, name: "far", url, secret: "ORIGIN" }),
          "refused",
        );
        assert.ok(!`${said.message} ${said.hint}`.includes(value));
        const login = Buffer.from(`x-access-token:${value}`).toString("base64");
        assert.ok(heard.includes(`Basic ${login}`), heard.join());
      } finally {
        server.close();
      }
    });

    test("a removal that is rolled back changes nothing, and a removal cut short by a crash is completed at the next start", async () => {
      const { companyId } = org;
      const kept = { companyId, name: "kept" };
      const gone = { companyId, name: "gone", id: crypto.randomUUID() };
      await org.board(contract.addRepo, { ...kept, url: origin });
      scene.state.isFull = true;
      await assert.rejects(org.board(contract.removeRepo, kept), /full/);
      await assert.rejects(org.board(contract.addRepo, { companyId, name: "gone", url: origin }), /full/);
      scene.state.isFull = false;
      const there = await scene.mirrorNamed("kept");
      assert.ok(mirrors.has(there));
      const folders = readdirSync(join(folder, "repos", companyId));
      assert.deepEqual(
        folders.filter((name) => name.includes("gone")),
        [],
        "a rolled back addition left a mirror",
      );
      await org.board(contract.fetchRepo, kept);
      const [unfinished, foreign] = [
        join(folder, "repos", ".incoming-x", "pack"),
        join(folder, "repos", crypto.randomUUID(), "elsewhere.git"),
      ];
      for (const path of [mirrors.folderOf(gone), unfinished, foreign]) mkdirSync(path, { recursive: true });
      await sweepMirrors({ store: scene.store, mirrors });
      assert.ok(mirrors.has(there) && !mirrors.has(gone));
      assert.ok(!existsSync(unfinished));
      assert.ok(existsSync(foreign), "of a company that another database may know");
      rmSync(foreign, { recursive: true });
    });

    test("a session that puts a link in place of its clone gets no commits of another", async () => {
      const [own, other] = [await developer("Swapper", "read"), await developer("Owner", "read")];
      const { path } = await own.session.call(contract.cloneRepo, { name: "site" });
      const theirs = await other.session.call(contract.cloneRepo, { name: "site" });
      commitFile(theirs.path, "private.txt", "private\n");
      rmSync(path, { recursive: true });
      symlinkSync(theirs.path, path);
      await salvageSession(
        { store: scene.store, mirrors, newId: () => crypto.randomUUID() },
        own.session.id,
        own.workspace,
      );
      const listed = (await org.board(contract.listRepos, { companyId: org.companyId })).repos.flatMap(
        ({ unpublished }) => unpublished,
      );
      assert.ok(!listed.some(({ by }) => by.id === own.id));
    });

    test("a removed repository is gone with its rights and its mirror", async () => {
      const { companyId } = org;
      await org.board(contract.addRepo, { companyId, name: "short", url: origin });
      const agent = await org.agent("Left");
      await org.board(grantPermission, { companyId, to: agent.id, resource: "repo:short" });
      await refusal(org.board(contract.addRepo, { companyId, name: "short", url: origin }), "conflict");
      const mirror = await scene.mirrorNamed("short");
      await org.board(contract.removeRepo, { companyId, name: "short" });
      assert.ok(!existsSync(mirrors.folderOf(mirror)));
      await org.board(contract.addRepo, { companyId, name: "short", url: origin });
      assert.deepEqual((await agent.call(contract.listRepos, {})).repos, []);
    });
  });
}
