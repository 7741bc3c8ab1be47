import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Command } from "commander";
import { NoDaemon } from "../client/client.ts";
import { listCompanies } from "../contract/companies.ts";
import { plural } from "../contract/phrases.ts";
import { verifyAll } from "./audit.ts";
import { describeDeep, examineDeep } from "./doctor-deep.ts";
import { clientOf, type Context, homeOf, tokenOf, urlOf } from "./terminal.ts";
import { example, jsonFlag } from "./texts.ts";

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly says: string;
}

export function addDoctor(program: Command, context: Context): void {
  program
    .command("doctor")
    .description("Check the installation and explain how to fix what is wrong.")
    .option("--deep", "Also check every invariant of the stored rows, with a fix or advice for each finding.")
    .option("--fix", "Like --deep, and mend the findings that need no decision.")
    .option("--company <id or name>", "With --deep or --fix: check only the rows of this company.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency doctor", "agency doctor --deep", "agency doctor --fix"))
    .action(async (flags: { json?: true; deep?: true; fix?: true; company?: string }) => {
      const findings = await examine(context.env);
      const answers = findings.some(({ check, ok: isFine }) => check === "daemon" && isFine);
      const isDeep = answers && (flags.deep === true || flags.fix === true);
      const deep = isDeep ? await examineDeep(context.env, flags) : undefined;
      const ok = findings.every((finding) => finding.ok) && deep?.ok !== false;
      const lines = findings.map(
        (found) => `${(found.ok ? "ok" : "fix").padEnd(5)}${found.check.padEnd(13)}${found.says}`,
      );
      if (deep !== undefined) lines.push(describeDeep(deep));
      context.terminal.out(
        flags.json === true
          ? JSON.stringify({ ok, findings, ...(deep === undefined ? {} : { deep }) })
          : lines.join("\n"),
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
    says: `Node ${process.versions.node}${major >= 24 ? "" : " is too old. Install Node 24 or newer."}`,
  };
}

function homeFindings(home: string): Finding[] {
  if (!existsSync(home))
    return [{ check: "home", ok: true, says: `${home} does not exist yet. \`agency up\` creates it.` }];
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
    says: open ? `Other users can read ${path}. Run: chmod go= ${path}` : path,
  };
}

/** A missing sandbox is not a fault: sessions then run separated by process group only. */
function sandbox(env: NodeJS.ProcessEnv): Finding {
  const found = (env["PATH"] ?? "").split(delimiter).some((folder) => isExecutable(join(folder, "bwrap")));
  return {
    check: "sandbox",
    ok: true,
    says: found
      ? "bubblewrap is installed"
      : "bubblewrap is not installed, so only process groups separate sessions. Install it for a real sandbox.",
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
    return [{ check: "daemon", ok: false, says: "There is no board token yet. Start the daemon: agency up" }];
  try {
    const { companies } = await clientOf(env).call(listCompanies, { limit: 1000 });
    const audit = await verifyAll(env);
    return [
      {
        check: "daemon",
        ok: true,
        says: `Running at ${urlOf(env)} with ${plural(companies.length, "company", "companies")}`,
      },
      {
        check: "ledger",
        ok: audit.ok,
        says:
          audit.firstBad === null
            ? `${plural(audit.checked, "event")} verified`
            : `Event ${audit.firstBad.seq} was altered or is damaged: ${audit.firstBad.why}`,
      },
    ];
  } catch (error) {
    if (error instanceof NoDaemon) return [{ check: "daemon", ok: false, says: error.message }];
    return [{ check: "daemon", ok: false, says: error instanceof Error ? error.message : String(error) }];
  }
}
