#!/usr/bin/env node
import * as modules from "node:module";

const needed = 24;
const have = Number(process.versions.node.split(".")[0]);
if (have < needed) {
  process.stderr.write(
    `Agency needs Node ${needed}; you have ${process.versions.node}.\nInstall a newer one from https://nodejs.org, then try again.\n`,
  );
  process.exit(1);
}

// Node caches the compiled code, which makes every start after the first one faster. Older versions of Node lack this function.
modules.enableCompileCache();

// A reader such as `head` may close the pipe before everything is written.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

const args = process.argv.slice(2);
const { env } = process;
const isStatus = args.length === 0 || (args.length === 1 && args[0] === "status");
const isTerminal = process.stdout.isTTY;
const isColoured = isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
const columns = isTerminal ? { columns: Math.max(40, process.stdout.columns || 80) } : {};

/** Shows the page of `agency` and `agency status` without loading the rest. Returns false if something has to be explained. */
async function showStatus(): Promise<boolean> {
  const [{ quickStatus }, { dress }, { shown }] = await Promise.all([
    import("./status.ts"),
    import("./look.ts"),
    import("../contract/visible-text.ts"),
  ]);
  const look = { columns: columns.columns ?? 100, now: Date.now(), short: (text: string) => text };
  const page = await quickStatus(env, look);
  if (page === undefined) return false;
  process.stdout.write(`${dress(shown(page), isColoured)}\n`);
  return true;
}

/** A connected program waits only a few seconds for its tools, so the bridge starts without loading the rest. */
async function serveConnected(): Promise<boolean> {
  const { serveProgram } = await import("./mcp-bridge.ts");
  return serveProgram(env, args[1] ?? "");
}

const isBridge = args.length === 2 && args[0] === "mcp" && /^[a-z]+$/.test(args[1] ?? "");
const isDone = isStatus ? await showStatus() : isBridge && (await serveConnected());
if (!isDone) {
  const { openTerminal } = await import("./opening.ts");
  const { run } = await import("./run.ts");
  process.exitCode = await run(args, env, openTerminal({ ...columns, isColoured }));
}
