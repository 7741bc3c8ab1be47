// Makes a fresh clone usable. It installs the dependencies if node_modules does not match package-lock.json. With --build it
// also compiles src into dist if dist is missing or older. It runs before `npm start` and `npm test`, perhaps before
// anything is installed. So it is plain JavaScript without dependencies, for the Node that came with npm (20 or later).
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const lock = join(root, ".installing");
const stamp = join(root, "node_modules", ".installed-from");
const built = join(root, "dist", "cli", "main.js");
const wantsBuild = process.argv.includes("--build");
// Longer than any install. A lock this old was left behind, and its process id now belongs to another process.
const patienceMs = 10 * 60_000;

if (!isReady()) {
  await takeLock();
  process.once("exit", () => rmSync(lock, { force: true }));
  if (!isInstalled()) install();
  if (wantsBuild && !isBuilt()) npm("run", "--silent", "build");
}

function isReady() {
  return isInstalled() && (!wantsBuild || isBuilt());
}

function isInstalled() {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === lockfileHash();
}

function lockfileHash() {
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
}

function isBuilt() {
  if (!existsSync(built)) return false;
  const builtAt = statSync(built).mtimeMs;
  // Folders count too, because deleting a file changes only the time of its folder.
  const sources = [
    "src",
    ...readdirSync(join(root, "src"), { recursive: true }).map((path) => join("src", path)),
  ];
  return sources.every((path) => statSync(join(root, path)).mtimeMs <= builtAt);
}

function install() {
  // With production settings in the environment, npm would leave out the compiler and the bundled Node.
  console.error("Installing packages. This takes about half a minute.");
  npm("ci", "--include=dev", "--no-audit", "--no-fund");
  writeFileSync(stamp, lockfileHash());
}

/** Runs npm on the machine's own Node, because `npm ci` deletes the bundled one and installs it again. */
function npm(...args) {
  const path = (process.env.PATH ?? "").split(delimiter);
  const outside = path.filter((folder) => !folder.endsWith(join("node_modules", ".bin")));
  // npm warns that packages need another version of Node. They run on the bundled one.
  const { status, signal, error } = spawnSync("npm", ["--loglevel=error", ...args], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, PATH: outside.join(delimiter) },
  });
  if (error) throw error;
  if (status !== 0) {
    console.error(`npm ${args.join(" ")} failed (${signal ?? `exit code ${status}`})`);
    process.exit(1);
  }
}

/** Allows one install or build at a time in this tree. A second process waits and then finds the work done. */
async function takeLock() {
  const giveUpAt = Date.now() + patienceMs;
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" });
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (!isHeld() || Date.now() > giveUpAt) rmSync(lock, { force: true });
    else await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function isHeld() {
  try {
    const pid = Number(readFileSync(lock, "utf8"));
    // An empty lock was just created, and its owner has not written its id yet.
    if (pid !== 0) process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== "ESRCH";
  }
}
