// Checks a daemon that was killed together with its agents. It compares the daemon with the answers to agents and board, and
// with the rules that always hold.
import { allowed } from "../../src/testing/allowed.ts";
import type { Attempt, Notes } from "./agents.ts";
import { agency, type BuiltDaemon, type DaemonOptions } from "./daemon.ts";
import { listOutcomes } from "../../src/contract/outcomes.ts";
import { why } from "../../src/contract/why.ts";
import { checkInvariants } from "./invariants.ts";
import { checkLedger, checkRest, type LedgerSight } from "./living-rules.ts";
import { allPages } from "./pages.ts";
import { checkTables, type Tables } from "./tables.ts";

export interface LivingCheck {
  readonly daemon: BuiltDaemon;
  readonly options: DaemonOptions;
  readonly tables: Tables;
  /** The attempts and answers so far, read again at each call. */
  readonly recall: () => {
    readonly attempts: readonly Attempt[];
    readonly acknowledged: Notes["acknowledged"];
    /** Nothing exists that was not tried. */
    readonly whole: boolean;
  };
  readonly moment: "busy" | "at rest";
}

export async function checkLiving(check: LivingCheck): Promise<LedgerSight> {
  const { daemon, options, tables, moment } = check;
  const isPostgres = options.databaseUrl !== undefined;
  const ledger = await checkLedger(tables, isPostgres ? allowed(2000) : 0);
  const problems = [...ledger.problems, ...(await checkInvariants(daemon))];
  if (moment === "at rest") problems.push(...(await checkRest(tables)), ...(await checkTables(tables)));
  problems.push(...(await checkEffects(tables, check)));
  problems.push(...(await checkWhy(daemon)));
  const { code, out, err } = await agency(["audit", "verify", "--json"], options);
  if (code !== 0) problems.push(`audit verify: ${(out + err).trim().slice(0, 300)}`);
  return { ...ledger, problems };
}

/** Every acknowledged attempt has one effect, no other attempt has two, and every effect belongs to an attempt. */
async function checkEffects(tables: Tables, { recall }: LivingCheck): Promise<string[]> {
  const problems: string[] = [];
  const before = recall();
  const found = {
    letter: await byLabel(
      tables,
      `select m.id, substr(f.description, 10) as label from messages m join files f on f.id = m.file_id
         where f.kind = 'message' and m.from_system = 0`,
    ),
    file: await byLabel(
      tables,
      "select id, description as label from files where kind = 'file' and description like 'label-%'",
    ),
    outcome: await byLabel(tables, "select id, title as label from outcomes where kind = 'work'"),
  };
  for (const { kind, label, id } of before.attempts) {
    const ids = found[kind].get(label) ?? [];
    if (ids.length > 1) problems.push(`${kind} ${label} is there ${ids.length} times`);
    if (id !== undefined && ids.length === 0) problems.push(`${kind} ${label} was acknowledged and is lost`);
    if (id !== undefined && id !== "" && !ids.includes(id))
      problems.push(`${kind} ${label} was acknowledged as ${id} and is ${ids.join() || "nowhere"}`);
  }
  // Actors keep working while the tables are read. Every row found here was tried before this moment.
  const after = recall();
  const tried = new Set(after.attempts.map(({ kind, label }) => `${kind} ${label}`));
  for (const kind of ["letter", "file", "outcome"] as const)
    for (const label of found[kind].keys())
      if (after.whole && !tried.has(`${kind} ${label}`))
        problems.push(`${kind} ${label} was made, but no actor tried to make it`);

  const acknowledged = new Set(
    (await tables.ask("select id from messages where acknowledged_at is not null")).map((row) => row["id"]),
  );
  for (const id of before.acknowledged)
    if (!acknowledged.has(id)) problems.push(`message ${id} was acknowledged and is not`);
  return problems;
}

async function byLabel(tables: Tables, sql: string): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const row of await tables.ask(sql)) {
    const label = String(row["label"]);
    found.set(label, [...(found.get(label) ?? []), String(row["id"])]);
  }
  return found;
}

/** Checks that every open outcome has a live path or a named reason. */
async function checkWhy({ board, companyId }: BuiltDaemon): Promise<string[]> {
  const problems: string[] = [];
  const listed = await allPages(
    (cursor) => board.call(listOutcomes, { companyId, limit: 1000, cursor }),
    "outcomes",
  );
  for (const { id, status, kind } of listed) {
    if (status !== "open" && status !== "submitted") continue;
    // The outcome may have ended since, which counts as a live path as well.
    const answer = await board.call(why, { id });
    if (answer.says.trim() === "" || answer.path.length === 0)
      problems.push(`${kind} ${id} is ${status}, and "why" gives no reason: ${JSON.stringify(answer)}`);
  }
  return problems;
}

/** Checks that none of these tokens is accepted, for reading or writing. */
export async function checkRefused(url: string, tokens: readonly string[]): Promise<string[]> {
  const problems: string[] = [];
  for (const token of tokens) {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const read = await fetch(`${url}/api/inbox`, { headers });
    const body = JSON.stringify({ summary: "from the dead" });
    const write = await fetch(`${url}/api/summary`, { method: "POST", headers, body });
    for (const { status } of [read, write])
      if (status !== 401 && status !== 403)
        problems.push(`the token of an ended session was answered ${status}`);
  }
  return problems;
}
