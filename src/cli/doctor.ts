import { existsSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import type { Client } from "../client/client.ts";
import { viewAgent } from "../contract/agents.ts";
import { viewAttention } from "../contract/attention.ts";
import { listCompanies, viewCompany } from "../contract/companies.ts";
import { examineDeeply, fixFinding } from "../contract/doctor.ts";
import { type Sandbox, viewInstallation } from "../contract/installation.ts";
import { listProviders } from "../contract/providers.ts";
import { listBrains } from "../contract/hiring.ts";
import { listMcpServers, testMcpServer } from "../contract/servers.ts";
import { fetchRepo, listRepos } from "../contract/repos.ts";
import { refusalOf } from "../contract/refusal.ts";
import type { Output } from "../contract/operation.ts";
import { plural } from "../contract/phrases.ts";
import { onOneLine } from "../contract/visible-text.ts";
import { describeAudit, verifyAll } from "./audit.ts";
import { sandboxNotice } from "./isolation.ts";
import { databaseFinding, portFinding } from "./system-checks.ts";
import { clientOf, companyOf, type Context, print } from "./terminal.ts";
import { example, jsonFlag, serverTestFails, toolsDiffer } from "./texts.ts";
import { cliVersion } from "./version.ts";
import { homeOf, tokenOf, urlOf } from "./where.ts";

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly says: string;
  readonly warns?: boolean;
  readonly sandbox?: Sandbox;
}

export function addDoctor(program: Command, context: Context): void {
  program
    .command("doctor")
    .description("Check the installation and explain how to fix each problem.")
    .option("--deep", "Also check every invariant of the stored rows, with a fix or advice for each finding.")
    .option("--fix", "Like --deep, and fix the findings that need no decision.")
    .option("--company <id or name>", "With --deep or --fix: check only the rows of this company.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency doctor", "agency doctor --deep", "agency doctor --fix"))
    .action(async (flags: { json?: true; deep?: true; fix?: true; company?: string }) => {
      const findings = await examine(context.env);
      const answers = findings.some(({ check, ok: isFine }) => check === "daemon" && isFine);
      const isDeep = answers && (flags.deep === true || flags.fix === true);
      const deep = isDeep ? await examineDeep(context.env, flags) : undefined;
      // The ledger is checked afterwards, because repairing a row also corrects the record of that row.
      if (answers) findings.push(await ledgerFinding(context.env, isDeep));
      const ok = findings.every((finding) => finding.ok) && deep?.ok !== false;
      const lines = findings.map(
        (found) =>
          `${(found.warns === true ? "warn" : found.ok ? "ok" : "fix").padEnd(5)}${found.check.padEnd(15)}${found.says}`,
      );
      if (deep !== undefined) lines.push(describeDeep(deep));
      print(context, flags, { ok, findings, deep }, ...lines);
      if (!ok) context.exitCode = 1;
    });
}

async function examine(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const daemon = await daemonFindings(env);
  const isRunning = daemon.some(({ check, ok }) => check === "daemon" && ok);
  return [
    nodeVersion(),
    ...homeFindings(homeOf(env)),
    await portFinding(env, isRunning),
    await databaseFinding(env, isRunning),
    ...daemon,
  ];
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
  const token = join(home, "board-token");
  return [
    isPrivate("home", home),
    diskFinding(home),
    ...(existsSync(token) ? [isPrivate("board token", token)] : []),
  ];
}

function isPrivate(check: string, path: string): Finding {
  const ok = (statSync(path).mode & 0o077) === 0;
  return { check, ok, says: ok ? path : `Other users can read ${path}. Run: chmod go= ${path}` };
}

async function daemonFindings(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  if (tokenOf(env) === undefined)
    return [{ check: "daemon", ok: false, says: "There is no board token yet. Start the daemon: agency up" }];
  try {
    const { companies } = await clientOf(env).call(listCompanies, { limit: 1000 });
    const client = clientOf(env);
    const { sandbox, kernelLimits, secrets, brain, version } = await client.call(viewInstallation, {});
    const running = `Running at ${urlOf(env)} with ${plural(companies.length, "company", "companies")}`;
    return [
      { check: "daemon", ok: true, says: running },
      versionFinding(version),
      {
        check: "sandbox",
        ok: true,
        // Only a warning: agents without programs work, but the person must know.
        warns: sandbox.status !== "works",
        says: sandboxNotice(sandbox)[0] ?? sandbox.says,
        sandbox,
      },
      limitsFinding(kernelLimits),
      secretsFinding(secrets),
      ...(await serverFindings(client, companies)),
      ...(await providerFindings(clientOf(env), companies)),
      ...(await repoFindings(client, companies)),
      ...(await brainFindings(client, companies)),
      ...(await stuckFindings(client, companies)),
      { check: "new companies", ok: true, says: brain.says },
    ];
  } catch (error) {
    return [{ check: "daemon", ok: false, says: error instanceof Error ? error.message : String(error) }];
  }
}

function versionFinding(version: string): Finding {
  const isSame = version === cliVersion;
  const says = isSame
    ? `${version}, as this command line`
    : `The daemon has version ${version}, this command line ${cliVersion}. Restart it: agency stop, then agency up`;
  return { check: "version", ok: true, warns: !isSame, says };
}

/** Only a warning: the daemon enforces the limits as well, a few seconds later. */
function limitsFinding({ processes, memory }: Output<typeof viewInstallation>["kernelLimits"]): Finding {
  const lacks = [...(processes ? [] : ["processes"]), ...(memory ? [] : ["memory"])].join(" and ");
  const says =
    lacks === ""
      ? "The kernel limits the processes and the memory of each session."
      : `The kernel does not limit the ${lacks} of sessions: the daemon may not create control groups with limits. The daemon looks itself, and ends a session that exceeds a limit a moment later. In a unit of systemd 254 or newer, set Delegate=yes and DelegateSubgroup=agency-daemon.`;
  return { check: "limits", ok: true, warns: lacks !== "", says };
}

/** Checks the brain of each root agent, which every goal needs. */
async function brainFindings(client: Client, companies: readonly Named[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { id: companyId, name, slug } of companies) {
    const { rootAgentId } = await client.call(viewCompany, { companyId });
    const { adapterType } = await client.call(viewAgent, { id: rootAgentId });
    const { brains } = await client.call(listBrains, { companyId });
    const found = brains.find(({ type }) => type === adapterType);
    const works = found?.available === true;
    const fix = `can't work now. ${found?.says ?? "This version of Agency does not have it."} To choose another: agency brains use <type> --company ${slug}`;
    findings.push({
      check: "brain",
      ok: works,
      says: `${adapterType}, of ${name}${works ? `. Try it: agency brains test ${adapterType}` : `, ${fix}`}`,
    });
  }
  return findings;
}

async function stuckFindings(client: Client, companies: readonly Named[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { id: companyId, name, slug } of companies) {
    const { stuck } = (await client.call(viewAttention, { companyId, limit: 1 })).health;
    const see = `${stuck === 1 ? "1 outcome is" : `${stuck} outcomes are`} stuck in ${name}. See which, and what helps: agency attention --company ${slug}`;
    findings.push({
      check: "work",
      ok: true,
      warns: stuck > 0,
      says: stuck === 0 ? `Nothing is stuck in ${name}` : see,
    });
  }
  return findings;
}

type Named = Pick<Output<typeof listCompanies>["companies"][number], "id" | "name" | "slug">;

/** With less than a gigabyte, the daemon will soon refuse operations that would fill the disk. */
function diskFinding(home: string): Finding {
  const { bavail, bsize } = statfsSync(home);
  const gigabytes = (bavail * bsize) / 2 ** 30;
  const free = `${gigabytes.toFixed(1)} GB free`;
  return {
    check: "disk",
    ok: true,
    warns: gigabytes < 1,
    says:
      gigabytes < 1
        ? `Only ${free}. Make room on the disk of ${home}, or move it: AGENCY_HOME=<folder> agency up`
        : free,
  };
}

/**
 * Tests every server, without accepting tools whose description has changed. A failing server is not a fault of the
 * installation, because agents work without it.
 */
async function serverFindings(client: Client, companies: readonly Named[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { id: companyId, name: company } of companies) {
    const servers = async () => (await client.call(listMcpServers, { companyId })).servers;
    const tests = new Map<string, { warns: boolean; says: string }>();
    for (const { name } of await servers())
      tests.set(
        name,
        await client.call(testMcpServer, { companyId, name, accept: false }).then(
          ({ status, says, tools }) =>
            status === "works"
              ? { warns: false, says: `works, ${plural(tools.length, "tool")}` }
              : {
                  warns: true,
                  says: serverTestFails(name, status === "running" ? "no answer in 60 seconds" : says),
                },
          (error: unknown) => ({
            warns: true,
            says: serverTestFails(name, error instanceof Error ? error.message : String(error)),
          }),
        ),
      );
    for (const { name, changedTools } of await servers()) {
      const { warns, says } =
        changedTools.length > 0
          ? { warns: true, says: toolsDiffer(name, changedTools) }
          : (tests.get(name) ?? { warns: true, says: "was added just now" });
      findings.push({
        check: "MCP server",
        ok: true,
        warns,
        says: onOneLine(`${name} of ${company}: ${says}`),
      });
    }
  }
  return findings;
}

/** Providers that can't be asked now, although they have a key or a login. */
async function providerFindings(client: Client, companies: readonly Named[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { id: companyId, name: company } of companies)
    for (const { name, status, says } of (await client.call(listProviders, { companyId })).providers)
      if (status !== "ready" && status !== "no_key")
        findings.push({ check: "models", ok: true, warns: true, says: `${name} of ${company}: ${says}` });
  return findings;
}

/** Fetches every repository. An origin that can't be reached is a warning, because the installation itself works. */
async function repoFindings(client: Client, companies: readonly Named[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { id: companyId, name: company } of companies)
    for (const { name, url } of (await client.call(listRepos, { companyId })).repos) {
      const refusal = await refusalOf(client.call(fetchRepo, { companyId, name }));
      findings.push({
        check: "repository",
        ok: true,
        warns: refusal !== undefined,
        says: `${name} of ${company}, ${url}: ${refusal === undefined ? "fetched" : refusal.message}`,
      });
    }
  return findings;
}

function secretsFinding({ kept, missing }: Output<typeof viewInstallation>["secrets"]): Finding {
  const names = missing.map(
    ({ company, name, usedBy }) =>
      `${name} of ${company}${usedBy.length === 0 ? "" : `, which ${usedBy.join(", ")} ${usedBy.length === 1 ? "waits" : "wait"} for`}`,
  );
  const where = kept === "encrypted" ? "Stored encrypted" : "Kept in memory until the daemon stops";
  const says =
    missing.length === 0 ? where : `Missing: ${names.join("; ")}. Set each: agency secrets set <name>`;
  return { check: "secrets", ok: true, warns: missing.length > 0, says };
}

async function ledgerFinding(env: NodeJS.ProcessEnv, isDeep: boolean): Promise<Finding> {
  const audit = await verifyAll(env, isDeep);
  return { check: "ledger", ok: audit.ok, says: describeAudit(audit) };
}

/** `agency doctor --deep` and `--fix` check every invariant of the stored rows, page after page. */
type Broken = Output<typeof examineDeeply>["findings"][number];

interface DeepReport {
  readonly ok: boolean;
  readonly invariants: number;
  readonly broken: number;
  readonly findings: readonly Broken[];
  readonly fixed: readonly Broken[];
}

async function examineDeep(
  env: NodeJS.ProcessEnv,
  flags: { readonly company?: string; readonly fix?: true },
): Promise<DeepReport> {
  const client = clientOf(env);
  const companyId = flags.company === undefined ? undefined : await companyOf(client, flags.company);
  const fixed: Broken[] = [];
  let { invariants, findings } = await examineAll(client, companyId);
  if (flags.fix === true) {
    for (const finding of findings) {
      const { companyId, invariant, id, fix } = finding;
      if (fix === null || companyId === null) continue;
      await client.call(fixFinding, { companyId, invariant, id });
      fixed.push(finding);
    }
    if (fixed.length > 0) ({ findings } = await examineAll(client, companyId));
  }
  const broken = new Set(findings.map(({ invariant }) => invariant)).size;
  return { ok: broken === 0, invariants, broken, findings, fixed };
}

function describeDeep({ invariants, broken, findings, fixed }: DeepReport): string {
  const byInvariant = Map.groupBy(findings, ({ invariant }) => invariant);
  return [
    ...fixed.map(({ invariant, what }) => `fixed  ${invariant}: ${what}`),
    ...[...byInvariant.values()].flatMap((group) => [
      `broken ${group[0]?.invariant ?? ""}: ${group[0]?.statement ?? ""}`,
      ...group.flatMap(({ what, fix, advice }) => [
        `       ${what}`,
        `       ${fix === null ? (advice ?? "") : `Fix it: ${fix}`}`,
      ]),
    ]),
    `${broken} of ${invariants} invariants broken${findings.length === 0 ? "" : `, ${plural(findings.length, "finding")}`}`,
  ].join("\n");
}

async function examineAll(
  client: Client,
  companyId: string | undefined,
): Promise<{ invariants: number; findings: Broken[] }> {
  const findings: Broken[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await client.call(examineDeeply, { companyId, cursor });
    findings.push(...page.findings);
    if (page.nextCursor === null) return { invariants: page.invariants, findings };
    cursor = page.nextCursor;
  }
}
