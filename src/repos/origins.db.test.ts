import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { grantPermission } from "../contract/capabilities.ts";
import * as contract from "../contract/repos.ts";
import { refusal, storeKinds } from "../testing/organization.ts";
import { commitFile, gitAs, openRepoScene, type RepoScene } from "../testing/repo-scene.ts";
import { originOf } from "./repository.ts";
import { sweepMirrors } from "./salvage.ts";

/** The addresses of the names in these tests. The tests change them, as the owner of a name can. */
const names = new Map<string, string[]>();
const resolve = async (host: string): Promise<string[]> => {
  const found = names.get(host);
  if (found === undefined) throw new Error(`${host} is not known`);
  return found;
};

/** Accepts connections and remembers the first bytes of each. */
async function listener() {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", (first) => {
      heard.push(first.toString("latin1"));
      socket.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    heard,
    port: typeof address === "object" && address !== null ? address.port : 0,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

for (const kind of storeKinds) {
  describe(`origins on ${kind}`, () => {
    let scene: RepoScene;
    let org: RepoScene["org"];
    let companyId = "";
    before(async () => {
      scene = await openRepoScene(kind, resolve);
      ({ org } = scene);
      ({ companyId } = org);
    });
    after(() => scene.close());

    const add = (name: string, url: string, more: { privateNetwork?: boolean; secret?: string } = {}) =>
      org.board(contract.addRepo, { companyId, name, url, ...more });

    test("a name that leads to a private address or to the network itself is refused before anything connects", async () => {
      const inside = await listener();
      try {
        const bad = {
          "metadata.example": [
            ["169.254.169.254"],
            /never connects to metadata\.example.*169\.254\.169\.254/,
          ],
          "mapped.example": [["::ffff:169.254.169.254"], /never connects/],
          "local.example": [["127.0.0.1"], /127\.0\.0\.1 of a private network.*--private-network/],
          "office.example": [["10.1.2.3"], /10\.1\.2\.3 of a private network/],
          "six.example": [["fd00::1"], /fd00::1 of a private network/],
          // One good address does not help: the name could lead to any of them.
          "both.example": [["93.184.216.34", "127.0.0.1"], /127\.0\.0\.1 of a private network/],
        } as const;
        for (const [host, [addresses, says]] of Object.entries(bad)) {
          names.set(host, [...addresses]);
          for (const url of [
            `https://${host}:${inside.port}/x`,
            `ssh://git@${host}:${inside.port}/x`,
            ...(inside.port === 22 ? [`git@${host}:x`] : []),
          ]) {
            const said = await refusal(add("inside", url), "refused");
            assert.match(said.message, says, url);
          }
        }
        assert.match(
          (await refusal(add("inside", "https://nothing.example/x"), "refused")).message,
          /no address/,
        );
        // This holds even if the board allows private networks.
        const never = add("inside", "https://metadata.example/x", { privateNetwork: true });
        assert.match((await refusal(never, "refused")).message, /never connects/);
        assert.deepEqual(inside.heard, []);
      } finally {
        inside.close();
      }
    });

    test("git and ssh connect to the checked address, whatever address the name leads to later", async () => {
      const inside = await listener();
      try {
        // No name server knows this name, so git could not get there on its own.
        names.set("origin.example", ["127.0.0.1"]);
        const https = `https://origin.example:${inside.port}/x`;
        await refusal(add("pinned", https, { privateNetwork: true }), "refused");
        assert.match(inside.heard.at(-1) ?? "", /origin\.example/, "the name is in the first message of TLS");
        await refusal(
          add("pinned", `ssh://git@origin.example:${inside.port}/x`, { privateNetwork: true }),
          "refused",
        );
        assert.match(inside.heard.at(-1) ?? "", /^SSH-2\.0-/);
        // A git that does not know the setting would look up the name itself.
        const heard = inside.heard.length;
        const old = join(scene.folder, "old");
        mkdirSync(old);
        const real = execFileSync("which", ["git"], { encoding: "utf8" }).trim();
        const script = `#!/bin/sh\nfor last; do :; done\nif [ "$last" = version ]; then echo git version 2.30.2; else exec ${real} "$@"; fi\n`;
        writeFileSync(join(old, "git"), script, { mode: 0o755 });
        const path = process.env["PATH"];
        process.env["PATH"] = `${old}:${path}`;
        try {
          const said = await refusal(add("pinned", https, { privateNetwork: true }), "refused");
          assert.match(said.message, /2\.30\.2 can't be told which address/);
        } finally {
          process.env["PATH"] = path;
        }
        assert.equal(inside.heard.length, heard);
      } finally {
        inside.close();
      }
    });

    test("a name that led to the origin once is checked again with each fetch and push", async () => {
      const inside = await listener();
      const { mirrors } = scene;
      try {
        const url = `https://rebound.example:${inside.port}/x`;
        const origin = originOf(url);
        assert.ok(!("wrong" in origin));
        const reached = { origin, credential: undefined, privateNetwork: false };
        const mirror = await scene.mirrorNamed("site");
        names.set("rebound.example", ["127.0.0.1"]);
        const fetched = await mirrors.fetch(mirror, reached, { force: true });
        assert.match(fetched.trouble ?? "", /127\.0\.0\.1 of a private network/);
        const commit = gitAs(scene.origin, "rev-parse", "main");
        await refusal(mirrors.push(mirror, reached, commit, "x"), "refused");
        assert.deepEqual(inside.heard, []);
      } finally {
        inside.close();
      }
    });

    test("a branch whose commit failed is in no clone, and an earlier branch is unchanged", async () => {
      const ada = await scene.developer("Ada", "read");
      const { path } = await ada.session.call(contract.cloneRepo, { name: "site" });
      gitAs(path, "checkout", "-qb", "kept");
      const first = commitFile(path, "kept.txt", "1\n");
      const publish = (branch: string) =>
        ada.session.call(contract.publishBranch, { repo: "site", branch, message: "x" });
      await publish("kept");
      commitFile(path, "kept.txt", "2\n");
      gitAs(path, "branch", "fresh");
      scene.state.isFull = true;
      await assert.rejects(publish("kept"), /full/);
      await assert.rejects(publish("fresh"), /full/);
      scene.state.isFull = false;
      const folder = scene.mirrors.folderOf(await scene.mirrorNamed("site"));
      const published = () =>
        gitAs(folder, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads/agency");
      assert.equal(published(), `${first} agency/ada/kept`);
      // A crash can leave the same state. The next start repairs it.
      gitAs(folder, "update-ref", "refs/heads/agency/ada/ghost", first);
      gitAs(folder, "update-ref", "-d", "refs/heads/agency/ada/kept");
      await sweepMirrors(scene);
      assert.equal(published(), `${first} agency/ada/kept`);
      await publish("kept");
      await publish("fresh");
      assert.equal(published().split("\n").length, 2);
    });

    test("a repository that is removed and added again shows nothing of the first one on another node", async () => {
      const eve = await scene.developer("Eve");
      const grantAgain = async () => {
        await org.board(grantPermission, { companyId, to: eve.id, resource: "repo:twice" });
      };
      await add("twice", scene.origin);
      await grantAgain();
      const first = await scene.mirrorNamed("twice");
      const { path } = await eve.session.call(contract.cloneRepo, { name: "twice" });
      gitAs(path, "checkout", "-qb", "old");
      commitFile(path, "old.txt", "old\n");
      await eve.session.call(contract.publishBranch, { repo: "twice", branch: "old", message: "x" });
      // The mirror of the other node has the published branch too.
      const other = scene.mirrorsIn("other");
      mkdirSync(join(scene.folder, "other", companyId), { recursive: true });
      execFileSync("cp", ["-r", scene.mirrors.folderOf(first), other.folderOf(first)]);
      await org.board(contract.removeRepo, { companyId, name: "twice" });
      await add("twice", scene.origin);
      const second = await scene.mirrorNamed("twice");
      const origin = originOf(scene.origin);
      assert.ok(!("wrong" in origin));
      const reached = { origin, credential: undefined, privateNetwork: false };
      const made = await Promise.all([1, 2, 3].map(() => other.refresh(second, reached)));
      assert.ok(
        made.every(({ trouble }) => trouble === null),
        JSON.stringify(made),
      );
      assert.equal(gitAs(other.folderOf(second), "for-each-ref", "refs/heads/agency"), "");
      await sweepMirrors({ store: scene.store, mirrors: other });
      assert.ok(!other.has(first) && other.has(second));
    });

    test("submodules and large files are named but not fetched", async () => {
      const { folder } = scene;
      const inside = await listener();
      try {
        const [origin, work] = [join(folder, "parts.git"), join(folder, "parts")];
        mkdirSync(join(work, "deep", "media"), { recursive: true });
        gitAs(folder, "init", "-q", "--bare", "-b", "main", origin);
        gitAs(work, "init", "-q", "-b", "main");
        const server = `http://127.0.0.1:${inside.port}`;
        const other = gitAs(scene.origin, "rev-parse", "main");
        writeFileSync(
          join(work, ".gitmodules"),
          `[submodule "lib"]\n\tpath = lib\n\turl = ${server}/lib.git\n\tupdate = checkout\n`,
        );
        gitAs(work, "update-index", "--add", "--cacheinfo", `160000,${other},lib`);
        // The attributes are in a subfolder, and the repository names its own server for large files.
        writeFileSync(
          join(work, "deep", "media", ".gitattributes"),
          "*.psd filter=lfs diff=lfs merge=lfs -text\n",
        );
        writeFileSync(join(work, ".lfsconfig"), `[lfs]\n\turl = ${server}/lfs\n`);
        const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 12345\n`;
        writeFileSync(join(work, "deep", "media", "logo.psd"), pointer);
        // A filter of Git LFS on this machine would change the pointer.
        const plain = ["-c", "filter.lfs.clean=cat", "-c", "filter.lfs.required=false"];
        gitAs(work, ...plain, "add", ".gitmodules", ".lfsconfig", "deep");
        gitAs(work, ...plain, "commit", "-qm", "Parts");
        gitAs(work, "push", "-q", "--no-verify", origin, "main");
        await add("parts", origin);
        const dev = await scene.developer("Parter");
        await org.board(grantPermission, { companyId, to: dev.id, resource: "repo:parts" });
        const clone = await dev.session.call(contract.cloneRepo, { name: "parts" });
        assert.match(clone.notes.join("\n"), /has submodules\. Agency does not clone them/);
        assert.match(clone.notes.join("\n"), /Git LFS\. Agency does not download them/);
        assert.equal(readFileSync(join(clone.path, "deep", "media", "logo.psd"), "utf8"), pointer);
        assert.ok(!existsSync(join(clone.path, "lib", ".git")), "the submodule was cloned");
        // Other work can be published, and the pointer stays unchanged.
        gitAs(clone.path, "checkout", "-qb", "beside");
        commitFile(clone.path, "read.me", "text\n");
        const { branch } = await dev.session.call(contract.publishBranch, {
          repo: "parts",
          branch: "beside",
          message: "x",
        });
        const diff = await org.board(contract.viewDiff, { companyId, repo: "parts", branch });
        assert.deepEqual(
          diff.files.map(({ path }) => path),
          ["read.me"],
        );
        assert.deepEqual(inside.heard, []);
      } finally {
        inside.close();
      }
    });

    test("an origin over plain http can't send git to another place", async () => {
      const inside = await listener();
      const asked: string[] = [];
      const id = gitAs(scene.origin, "rev-parse", "main");
      const evil = createHttp((request, response) => {
        const url = request.url ?? "";
        asked.push(url);
        const there = `http://127.0.0.1:${inside.port}/objects`;
        if (url.startsWith("/moved"))
          response.writeHead(302, { location: `http://127.0.0.1:${inside.port}${url}` }).end();
        // The old protocol without a program on the server can name other places for objects.
        else if (url.startsWith("/dumb/info/refs")) response.end(`${id}\trefs/heads/main\n`);
        else if (url.startsWith("/dumb/HEAD")) response.end("ref: refs/heads/main\n");
        else if (url.endsWith("/info/http-alternates") || url.endsWith("/info/alternates"))
          response.end(`${there}\n`);
        else response.writeHead(404).end();
      });
      evil.listen(0, "127.0.0.1");
      await once(evil, "listening");
      try {
        const address = evil.address();
        const base = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
        await refusal(add("moved", `${base}/moved`), "refused");
        await refusal(add("dumb", `${base}/dumb`), "refused");
        assert.ok(
          asked.some((url) => url.startsWith("/moved")) && asked.some((url) => url.startsWith("/dumb")),
        );
        assert.deepEqual(inside.heard, []);
      } finally {
        inside.close();
        evil.close();
        evil.closeAllConnections();
      }
    });
  });
}
