// The files in deploy/ and the page that explains them name only flags, variables and files that exist.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join, matchesGlob } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { parse } from "yaml";
import { z } from "zod";
import { screenOn } from "../src/cli/terminal.ts";
import { commandsOf } from "../src/cli/run.ts";
import { ShortIds } from "../src/cli/short-ids.ts";
import { createClient } from "../src/client/client.ts";
import { createCompany } from "../src/contract/companies.ts";
import { startDaemon } from "../src/daemon/daemon.ts";
import { delegated } from "../src/processes/cgroups.ts";

const page = readFileSync("docs/guide/deployment.md", "utf8");
const files = new Map(
  readdirSync("deploy").map((name) => [name, readFileSync(join("deploy", name), "utf8")] as const),
);
const all = [page, ...files.values()].join("\n");

function commands() {
  const env = {};
  const shorts = new ShortIds(env);
  const nothing = { out: () => undefined, err: () => undefined, readStdin: async () => Buffer.alloc(0) };
  return commandsOf({ env, terminal: screenOn(nothing, shorts, false), shorts, exitCode: 0 }, []).commands;
}

test("every command and flag exists", () => {
  const known = new Map(commands().map((command) => [command.name(), command]));
  const named = all.matchAll(/\bagency ([a-z]+)((?: --[a-z-]+(?: [^\s-]\S*)?)*)/g);
  const used = [...named].filter(([, name = ""]) => known.has(name));
  assert.ok(used.length >= 6, `${used.length} commands`);
  for (const [whole, name = "", rest = ""] of used)
    for (const [, flag = ""] of rest.matchAll(/ (--[a-z-]+)/g))
      assert.ok(
        known.get(name)?.options.some(({ long }) => long === flag),
        `${whole} has a flag that does not exist`,
      );
});

test("every variable is read somewhere in the program", () => {
  const source = ["cli/up.ts", "cli/terminal.ts", "cli/where.ts"]
    .map((name) => readFileSync(join("src", name), "utf8"))
    .join("\n");
  const variables = new Set(all.match(/\b(?:AGENCY_[A-Z_]+|DATABASE_URL[A-Z_]*)\b/g));
  assert.ok(variables.size >= 4);
  for (const name of variables) assert.ok(source.includes(`"${name}"`), name);
});

test("the compose file describes nodes that are built from the Dockerfile and known by the proxy", () => {
  const Service = z.looseObject({
    build: z.object({ context: z.string(), dockerfile: z.string() }).optional(),
    hostname: z.string().optional(),
    volumes: z.array(z.string()),
    environment: z.record(z.string(), z.string()).optional(),
  });
  const Compose = z.looseObject({
    services: z.record(z.string(), Service),
    volumes: z.record(z.string(), z.null()),
  });
  const { services, volumes } = Compose.parse(parse(files.get("compose.yaml") ?? "", { merge: true }));
  const nodes = Object.entries(services).filter(([, { build }]) => build !== undefined);
  assert.equal(nodes.length, 2);
  const proxy = files.get("Caddyfile") ?? "";
  for (const [name, { build, environment, hostname }] of nodes) {
    assert.ok(existsSync(join("deploy", build?.context ?? "", build?.dockerfile ?? "")));
    assert.equal(hostname, name);
    assert.ok(proxy.includes(`${name}:4600`), `the proxy does not know ${name}`);
    assert.ok(proxy.startsWith(environment?.["AGENCY_ORIGIN"]?.replace("https://", "") ?? "?"));
  }
  for (const { volumes: used } of Object.values(services))
    for (const volume of used) {
      const [from = ""] = volume.split(":");
      const isMade = from.startsWith("./") && (files.has(from.slice(2)) || page.includes(from.slice(2)));
      assert.ok(isMade || from in volumes, `nothing makes ${from}`);
    }
});

test("the probes of the proxy and of Prometheus are answered by a node that knows only its origin", async (t) => {
  const proxy = files.get("Caddyfile") ?? "";
  const [name = ""] = /^[a-z.]+/.exec(proxy) ?? [];
  const probed = /health_uri (\S+)/.exec(proxy)?.[1] ?? "";
  const sentHost = /health_headers \{\s*Host (\S+)\s*\}/.exec(proxy)?.[1];
  assert.deepEqual([probed, sentHost], ["/api/health", name]);
  const home = mkdtempSync(join(tmpdir(), "agency-deploy-"));
  const origins = [`https://${name}`];
  const quiet = { schedule: false, log: () => undefined };
  const daemon = await startDaemon({ home, port: 0, address: "0.0.0.0", origins, ...quiet });
  t.after(async () => {
    await daemon.stop();
    rmSync(home, { recursive: true });
  });
  await createClient(daemon).call(createCompany, { name: "Bakery" });
  const ask = async (path: string, headers: Record<string, string>) => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    get({ host: "127.0.0.1", port: new URL(daemon.url).port, path, headers }, resolve).once("error", reject);
    const response = await promise;
    return [response.statusCode, await text(response)] as const;
  };
  const caddy = { "user-agent": "Go-http-client/1.1", "accept-encoding": "gzip" };
  assert.equal((await ask(probed, { host: sentHost ?? "", ...caddy }))[0], 200);
  // Other load balancers send the name or the address that they have for the machine.
  for (const host of ["alpha:4600", "10.0.0.5:4600", "10.0.0.5"]) {
    assert.deepEqual(await ask(probed, { host, ...caddy }), [200, '{"status":"ok"}'], host);
    const scraped = await ask("/metrics", { host, authorization: `Bearer ${daemon.token}` });
    assert.equal(scraped[0], 200, host);
    assert.match(scraped[1], /^agency_companies 1$/m);
    assert.equal((await ask("/metrics", { host }))[0], 403, host);
    assert.equal((await ask("/api/companies", { host, authorization: `Bearer ${daemon.token}` }))[0], 403);
  }
});

test("the page names every file, and the package has what the Dockerfile copies", () => {
  for (const name of files.keys()) assert.ok(page.includes(name) || name === "Dockerfile", name);
  for (const [, from = ""] of (files.get("Dockerfile") ?? "").matchAll(/^COPY ((?:[a-z][\w.-]*(?: |$))+)/gm))
    for (const path of from.trim().split(" ").slice(0, -1)) assert.ok(existsSync(path), path);
});

test("neither the image nor git takes the homes, keys and passwords that the page makes, or installed libraries", (t) => {
  const made = [
    // Below deploy/, as the page says.
    ...[...page.matchAll(/^ {4}.*> ([\w./-]+)$/gm)].map(([, path = ""]) => `deploy/${path}`),
    ...[...page.matchAll(/^ {4}mkdir -m 700 (.+)$/gm)].flatMap(([, folders = ""]) =>
      folders.split(" ").flatMap((folder) => [`deploy/${folder}/board-token`, `deploy/${folder}/agency.db`]),
    ),
    // For systemd, in any folder.
    ...[...page.matchAll(/^ {4}install -m 600 -o \w+ -g \w+ (.+) \S+$/gm)].flatMap(([, names = ""]) =>
      names.split(" ").flatMap((name) => [name, `somewhere/${name}`]),
    ),
  ];
  for (const path of [
    "deploy/alpha/audit-key",
    "deploy/beta/agency.db",
    "deploy/database-password",
    "secrets-key",
  ])
    assert.ok(made.includes(path), `the page no longer makes ${path}: ${made.join(" ")}`);
  const kept = ["package.json", "scripts/build.ts", "src/cli/main.ts", "docs/guide/deployment.md", "skills"];

  const patterns = readFileSync(".dockerignore", "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const isLeftOut = (path: string): boolean => {
    const parts = path.split("/");
    const above = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
    return above.some((each) => patterns.some((pattern) => matchesGlob(each, pattern)));
  };
  for (const path of [
    ...made,
    "node_modules/zod/index.js",
    "src/node_modules/x.js",
    "dist/cli/main.js",
    ".git/HEAD",
  ])
    assert.ok(isLeftOut(path), `the image gets ${path}`);
  for (const path of kept) assert.ok(!isLeftOut(path), `the image lacks ${path}`);

  const folder = mkdtempSync(join(tmpdir(), "agency-ignored-"));
  t.after(() => rmSync(folder, { recursive: true }));
  execFileSync("git", ["init", "--quiet", folder]);
  copyFileSync(".gitignore", join(folder, ".gitignore"));
  const all = [...made, ...kept, ...[...files.keys()].map((name) => `deploy/${name}`)];
  const { stdout } = spawnSync("git", ["-C", folder, "check-ignore", "--stdin"], {
    input: all.join("\n"),
    encoding: "utf8",
  });
  assert.deepEqual(stdout.trim().split("\n"), made);
});

test("the unit tries again until the database is there", () => {
  const unit = files.get("agency.service") ?? "";
  const [before = "", service = ""] = unit.split("[Service]");
  assert.match(before, /^StartLimitIntervalSec=0$/m);
  assert.match(service, /^Restart=on-failure$/m);
  assert.match(service, /^RestartSec=[1-9]\d*$/m);
});

test("a unit lets the daemon make control groups, beside the one in which systemd puts the daemon", () => {
  const background = readFileSync("src/cli/background.ts", "utf8");
  for (const unit of [files.get("agency.service") ?? "", background]) {
    assert.match(unit, /^Delegate=yes$/m);
    const [, group = ""] = /^DelegateSubgroup=(.+)$/m.exec(unit) ?? [];
    assert.equal(
      delegated(`/sys/fs/cgroup/system.slice/agency.service/${group}`),
      "/sys/fs/cgroup/system.slice/agency.service",
    );
  }
  assert.equal(
    delegated("/sys/fs/cgroup/user.slice/session-1.scope"),
    "/sys/fs/cgroup/user.slice/session-1.scope",
  );
});

test("systemd accepts the unit", (t) => {
  if (!existsSync("/usr/bin/systemd-analyze")) return t.diagnostic("there is no systemd-analyze here");
  // The program also reports faults of other units of the machine, so only lines about this one count.
  const said = execFileSync(
    "sh",
    ["-c", "systemd-analyze verify --man=no deploy/agency.service 2>&1 || true"],
    {
      encoding: "utf8",
    },
  );
  assert.deepEqual(
    // Older than version 254, it does not know this setting and ignores it.
    said
      .split("\n")
      .filter((line) => line.includes("agency.service") && !line.includes("'DelegateSubgroup'")),
    [],
  );
});
