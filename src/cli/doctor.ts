import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Command } from "commander";
import { NoDaemon } from "../client/client.ts";
import { listCompanies } from "../contract/companies.ts";
import { verifyAll } from "./audit.ts";
import { clientOf, type Context, homeOf, tokenOf, urlOf } from "./terminal.ts";

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly says: string;
}

export function addDoctor(program: Command, context: Context): void {
  program
    .command("doctor")
    .description("Look at the installation and say what is wrong and what to do about it.")
    .option("--json", "Print the answer as JSON.")
    .action(async (flags: { json?: true }) => {
      const findings = await examine(context.env);
      const rows = findings.map(({ check, ok, says }) => ({ check, result: ok ? "ok" : "look", says }));
      const ok = findings.every((finding) => finding.ok);
      context.terminal.out(
        flags.json === true
          ? JSON.stringify({ ok, findings })
          : rows.map((row) => `${row.result.padEnd(5)}${row.check.padEnd(12)}${row.says}`).join("\n"),
      );
      if (!ok) context.exitCode = 1;
    });
}

async function examine(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  return [nodeVersion(), ...homeFindings(homeOf(env)), sandbox(env), ...(await daemonFindings(env))];
}

function nodeVersion(): Finding {
  const major = Number(process.versions.node.split(".")[0]);
  return {
    check: "node",
    ok: major >= 24,
    says: `Node ${process.versions.node}${major >= 24 ? "" : "; Agency needs 24 or newer"}`,
  };
}

function homeFindings(home: string): Finding[] {
  if (!existsSync(home))
    return [{ check: "home", ok: true, says: `${home} is not there yet; \`agency up\` makes it` }];
  const findings = [isPrivate("home", home, 0o077)];
  const token = join(home, "board-token");
  if (existsSync(token)) findings.push(isPrivate("board token", token, 0o077));
  return findings;
}

function isPrivate(check: string, path: string, forbidden: number): Finding {
  const open = (statSync(path).mode & forbidden) !== 0;
  return {
    check,
    ok: !open,
    says: open ? `${path} can be read by other users; take their rights away (chmod go=)` : path,
  };
}

/** Not a fault: sessions then run in their own process group only. */
function sandbox(env: NodeJS.ProcessEnv): Finding {
  const found = (env["PATH"] ?? "").split(delimiter).some((folder) => isExecutable(join(folder, "bwrap")));
  return {
    check: "sandbox",
    ok: true,
    says: found
      ? "bubblewrap is there"
      : "bubblewrap is not there: sessions are separated by process group only",
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function daemonFindings(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  if (tokenOf(env) === undefined)
    return [{ check: "daemon", ok: false, says: "no board token yet; start the daemon: `agency up`" }];
  try {
    const { companies } = await clientOf(env).call(listCompanies, { limit: 1000 });
    const audit = await verifyAll(env);
    return [
      { check: "daemon", ok: true, says: `answers at ${urlOf(env)}; ${companies.length} companies` },
      {
        check: "ledger",
        ok: audit.ok,
        says:
          audit.firstBad === null
            ? `${audit.checked} events verify`
            : `event ${audit.firstBad.seq} is bad: ${audit.firstBad.why}`,
      },
    ];
  } catch (error) {
    if (error instanceof NoDaemon) return [{ check: "daemon", ok: false, says: error.message }];
    return [{ check: "daemon", ok: false, says: error instanceof Error ? error.message : String(error) }];
  }
}
