// `npm run test:brains`: the brains with their real programs, against a model that plays scripts. The programs are installed from
// npm into a cache outside the repository: AGENCY_CACHE, or `agency-clis` in the user's own cache folder. Further arguments choose
// files by a part of their path.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installFolder, packages } from "../e2e/brains/support/programs.ts";

const folder = installFolder();
const missing = Object.entries(packages).filter(([name, version]) => installed(name) !== version);
if (missing.length > 0) {
  mkdirSync(folder, { recursive: true });
  // Without this file, npm would install into a folder above that has one.
  if (!existsSync(join(folder, "package.json")))
    writeFileSync(join(folder, "package.json"), '{"private":true}\n');
  console.log(`installing ${missing.map(([name, version]) => `${name} ${version}`).join(", ")} in ${folder}`);
  const wanted = missing.map(([name, version]) => `${name}@${version}`);
  run("npm", ["install", "--prefix", folder, "--save-exact", "--no-audit", "--no-fund", ...wanted]);
}
const chosen = process.argv.slice(2);
run(process.execPath, ["scripts/test.ts", ...(chosen.length === 0 ? ["e2e/brains/"] : chosen)], {
  AGENCY_TEST_PROGRAMS: join(folder, "node_modules", ".bin"),
});

function installed(name: string): string | undefined {
  const file = join(folder, "node_modules", name, "package.json");
  return existsSync(file) ? String(Object(JSON.parse(readFileSync(file, "utf8"))).version) : undefined;
}

function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const { status } = spawnSync(command, args, { stdio: "inherit", env: { ...process.env, ...env } });
  if (status !== 0) process.exit(status ?? 1);
}
