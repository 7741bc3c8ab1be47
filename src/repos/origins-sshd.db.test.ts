// Origins over ssh, with the server of OpenSSH. Without that server, the test runner leaves this file out (scripts/test.ts).
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sshServer } from "../../scripts/test-plan.ts";
import { grantPermission } from "../contract/capabilities.ts";
import * as contract from "../contract/repos.ts";
import { removeSecret, setSecret } from "../contract/secrets.ts";
import { refusal, storeKinds } from "../testing/organization.ts";
import { commitFile, gitAs, openRepoScene, type RepoScene } from "../testing/repo-scene.ts";

const host = "git.example";
const sshd =
  sshServer() ?? assert.fail("there is no sshd on this machine (Debian: apt-get install openssh-server)");

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

for (const kind of storeKinds)
  describe(`origins over ssh on ${kind}`, () => {
    let scene: RepoScene;
    let org: RepoScene["org"];
    let companyId = "";
    before(async () => {
      scene = await openRepoScene(kind, async (name) => {
        if (name !== host) throw new Error(`${name} is not known`);
        return ["127.0.0.1"];
      });
      ({ org } = scene);
      ({ companyId } = org);
    });
    after(() => scene.close());

    const add = (name: string, url: string, more: { privateNetwork?: boolean; secret?: string } = {}) =>
      org.board(contract.addRepo, { companyId, name, url, ...more });

    test("fetch and push use the secret key over ssh, keep no key on disk, and remember the host's key", async () => {
      const place = join(scene.folder, "ssh");
      mkdirSync(place, { mode: 0o700 });
      const key = (name: string): string => {
        execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", join(place, name)]);
        return readFileSync(join(place, name), "utf8");
      };
      key("host");
      const [good, wrong] = [key("good"), key("wrong")];
      writeFileSync(join(place, "authorized"), readFileSync(join(place, "good.pub")), { mode: 0o600 });
      const port = await freePort();
      const settings = Object.entries({
        Port: String(port),
        ListenAddress: "127.0.0.1",
        HostKey: join(place, "host"),
        AuthorizedKeysFile: join(place, "authorized"),
        PidFile: "none",
        StrictModes: "no",
        UsePAM: "no",
        PasswordAuthentication: "no",
        KbdInteractiveAuthentication: "no",
      }).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
      // As root, sshd needs this folder.
      if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });
      const server = spawn(sshd, ["-D", "-e", "-f", "/dev/null", ...settings], {
        stdio: ["ignore", "ignore", "pipe"],
      });
      let log = "";
      const listening = new Promise<void>((resolve, reject) => {
        server.stderr.on("data", (chunk: Buffer) => {
          log += chunk.toString();
          if (log.includes("listening on")) resolve();
        });
        server.once("exit", () => reject(new Error(log)));
      });
      try {
        await listening;
        const url = `ssh://${userInfo().username}@${host}:${port}${scene.origin}`;
        const more = { privateNetwork: true, secret: "DEPLOY_KEY" };
        await org.board(setSecret, { companyId, name: "DEPLOY_KEY", value: wrong });
        assert.match((await refusal(add("far", url, more), "refused")).message, /Permission denied/);
        await org.board(removeSecret, { companyId, name: "DEPLOY_KEY" });
        await org.board(setSecret, { companyId, name: "DEPLOY_KEY", value: good });
        const made = await add("far", url, more);
        assert.equal(made.defaultBranch, "main");
        const known = join(scene.folder, "repos", "known_hosts");
        assert.match(
          readFileSync(known, "utf8"),
          new RegExp(`^\\[git\\.example\\]:${port} ssh-ed25519 `, "m"),
        );
        const newest = commitFile(scene.work, "ssh.txt", `${kind}\n`);
        gitAs(scene.work, "push", "-q", scene.origin, "main");
        await org.board(contract.fetchRepo, { companyId, name: "far" });
        const dev = await scene.developer("Remote");
        await org.board(grantPermission, { companyId, to: dev.id, resource: "repo:far", level: "push" });
        const clone = await dev.session.call(contract.cloneRepo, { name: "far" });
        assert.equal(clone.commit, newest);
        gitAs(clone.path, "checkout", "-qb", "over-ssh");
        const commit = commitFile(clone.path, "more.txt", "more\n");
        await dev.session.call(contract.publishBranch, { repo: "far", branch: "over-ssh", message: "x" });
        await dev.session.call(contract.pushBranch, { repo: "far", branch: "over-ssh", onto: "over-ssh" });
        assert.equal(gitAs(scene.origin, "rev-parse", "over-ssh"), commit);
        const secret = good.split("\n")[1] ?? "no key";
        const holders = execFileSync(
          "sh",
          ["-c", 'grep -rlF -- "$1" "$2" || true', "sh", secret, join(scene.folder, "repos")],
          {
            encoding: "utf8",
          },
        );
        assert.equal(holders, "", "the key is in a file of Agency");
        // If another machine answers for the name, it has another key.
        writeFileSync(
          known,
          readFileSync(known, "utf8").replace(
            /ssh-ed25519 .*/,
            `ssh-ed25519 ${readFileSync(join(place, "wrong.pub"), "utf8").split(" ")[1]}`,
          ),
        );
        const changed = org.board(contract.fetchRepo, { companyId, name: "far" });
        assert.match((await refusal(changed, "refused")).message, /host key|HOST IDENTIFICATION/i);
      } finally {
        server.kill("SIGKILL");
        if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
      }
    });
  });
