// People install what `npm pack` makes. These tests build the package, install it in another folder without development
// dependencies, and run it from there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { tracesOfAMachine } from "../test/architecture.ts";
import { agency, type DaemonOptions, startDaemon, temporaryFolder } from "./support/daemon.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = temporaryFolder("package");
const source = join(folder.path, "source");
const place = join(folder.path, "installed");
const promisedMegabytes = 15;

const Packed = z.tuple([
  z.object({ filename: z.string(), size: z.number(), files: z.array(z.object({ path: z.string() })) }),
]);
let packed: z.infer<typeof Packed>[0];

// Packs a copy of the repository: packing builds, and building would replace dist under tests that run meanwhile.
before(async () => {
  cpSync(root, source, {
    recursive: true,
    filter: (path) => path === root || !/^(?:node_modules|dist|\..*)$/.test(basename(path)),
  });
  symlinkSync(join(root, "node_modules"), join(source, "node_modules"));
  mkdirSync(place);
  const answer = await npm(["pack", "--json", "--pack-destination", folder.path], source);
  // The output of the build comes before the answer.
  [packed] = Packed.parse(JSON.parse(answer.slice(answer.search(/^\[$/m))));
  await npm(["install", join(folder.path, packed.filename), "--omit=dev", "--no-audit", "--no-fund"], place);
});

after(() => folder.remove());

test("the package holds the files it needs at run time and no others", (t) => {
  const paths = packed.files.map(({ path }) => path);
  t.diagnostic(`${paths.length} files, ${(packed.size / 1024).toFixed(0)} kB packed`);
  const isExpected =
    /^(?:package\.json|README\.md|LICENSE|dist\/.+\.(?:js|html|css|svg|woff2)(?:\.gz)?|dist\/web\/files\.json|dist\/licenses\.txt|skills\/.+|docs\/guide\/.+)$/;
  assert.deepEqual(
    paths.filter((path) => !isExpected.test(path) || /(?:^|[./])(?:test|testing|e2e)(?:[./]|$)/.test(path)),
    [],
  );
  for (const path of ["package.json", "LICENSE", "dist/cli/main.js", "dist/licenses.txt"])
    assert.ok(paths.includes(path), path);
});

test("nothing in the package names the machine it was built on", () => {
  const installed = join(place, "node_modules", "agency");
  const texts = new Map(
    packed.files.map(({ path }) => [path, readFileSync(join(installed, path), "utf8")] as const),
  );
  assert.deepEqual(tracesOfAMachine(texts), []);
  for (const trace of [root.replace(/\/$/, ""), folder.path])
    assert.deepEqual(
      [...texts].filter(([, content]) => content.includes(trace)).map(([path]) => path),
      [],
    );
});

test("the programs are ASCII, which Node keeps in memory at one byte for each character", () => {
  const installed = join(place, "node_modules", "agency");
  const programs = packed.files.filter(({ path }) => /^dist\/(?!web\/).+\.js$/.test(path));
  assert.ok(programs.length > 20);
  for (const { path } of programs)
    assert.doesNotMatch(readFileSync(join(installed, path), "utf8"), /[^\0-\x7f]/, path);
});

test("an installation brings no other package, and takes less than 15 MB", (t) => {
  const megabytes = sizeOf(join(place, "node_modules")) / 1024 / 1024;
  const packages = readdirSync(join(place, "node_modules")).filter((name) => !name.startsWith("."));
  t.diagnostic(`${megabytes.toFixed(1)} MB in node_modules: ${packages.join(", ")}`);
  assert.ok(megabytes < promisedMegabytes, `${megabytes.toFixed(1)} MB`);
  assert.deepEqual(packages, ["agency"]);
});

test("the package names the licence of each package inside it", () => {
  const licenses = readFileSync(join(place, "node_modules", "agency", "dist", "licenses.txt"), "utf8");
  for (const name of ["zod", "pg", "commander", "ai", "react", "uplot"])
    assert.match(licenses, new RegExp(`^${name} [0-9.]+ \\((?:MIT|Apache-2.0)\\)\n\n.{20}`, "ms"), name);
});

test("the installed command starts a daemon, works with it, and stops it", async () => {
  const home = temporaryFolder("package");
  const options: DaemonOptions = {
    home: home.path,
    command: [join(place, "node_modules", ".bin", "agency")],
    env: { PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter) },
  };
  try {
    const starting = startDaemon(options);
    const daemon = await starting.ready;
    const health = await fetch(`${daemon.url}/api/health`);
    const { version } = z
      .object({ version: z.string() })
      .parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));
    assert.deepEqual(await health.json(), { status: "ok", version });

    const created = await agency(["kb", "create", "A note", "--content", "kept", "--json"], options);
    assert.equal(created.code, 0, created.err);
    const { id } = z.object({ id: z.string() }).parse(JSON.parse(created.out));
    const read = await agency(["kb", "read", id, "--json"], options);
    assert.equal(z.object({ content: z.string() }).parse(JSON.parse(read.out)).content, "kept");
    const tree = await agency(["tree"], options);
    assert.equal(tree.code, 0, tree.err);
    assert.equal((await agency(["audit", "verify"], options)).code, 0);
    const measured = await agency(["bench", "--seconds", "0.05", "--json"], options);
    assert.equal(measured.code, 0, measured.err);
    assert.equal(
      z.object({ figures: z.array(z.unknown()) }).parse(JSON.parse(measured.out)).figures.length,
      7,
    );

    assert.deepEqual(await daemon.stop(), { code: 0, signal: null });
  } finally {
    home.remove();
  }
});

test("a user tests an organization with the fake model of the package, as the guide shows", async () => {
  const home = temporaryFolder("package");
  const options: DaemonOptions = {
    home: home.path,
    command: [join(place, "node_modules", ".bin", "agency")],
    env: {
      PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
      AGENCY_ALLOW_UNSANDBOXED: "1",
    },
  };
  try {
    const guide = readFileSync(join(place, "node_modules/agency/docs/guide/fake-model.md"), "utf8");
    writeFileSync(join(place, "greeting.mjs"), /```js\n([^]*?)```/.exec(guide)?.[1] ?? "");
    const daemon = await startDaemon(options).ready;
    const env = { ...process.env, AGENCY_URL: daemon.url, AGENCY_TOKEN: daemon.token };
    const child = spawn(process.execPath, ["greeting.mjs"], { cwd: place, env });
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "exit"),
    ]);
    assert.equal(code, 0, err);
    assert.match(out, /^The agent used \d+ tokens of output\.\n$/);
    await daemon.stop();
  } finally {
    home.remove();
  }
});

/** The machine's own settings without those of the npm that runs this test, which would install into this tree. */
async function npm(args: readonly string[], cwd: string): Promise<string> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(?:npm_(?:package|lifecycle|config_local_prefix|command)|INIT_CWD|NODE_TEST)/.test(name),
    ),
  );
  const child = spawn("npm", args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  assert.equal(code, 0, `npm ${args.join(" ")}:\n${out}\n${err}`);
  return out;
}

function sizeOf(path: string): number {
  const status = lstatSync(path);
  if (!status.isDirectory()) return status.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
