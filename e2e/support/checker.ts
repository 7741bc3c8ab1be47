// Compares a store with the answers of its clients: over the API of a running daemon, by the CLI, and in its tables. Returns a
// list of problems. kill-checker.test.ts shows that it finds planted damage.
import { hash } from "node:crypto";
import type { z } from "zod";
import { type Event, listEvents } from "../../src/contract/ledger.ts";
import { listFiles, readVersion, viewHistory } from "../../src/contract/knowledge.ts";
import { listOutcomes, viewOutcome } from "../../src/contract/outcomes.ts";
import { agency, type BuiltDaemon, type DaemonOptions } from "./daemon.ts";
import {
  type FileAttempt,
  type History,
  outcomeActions,
  type OutcomeAttempt,
  type OutcomeState,
} from "./history.ts";
import { checkInvariants } from "./invariants.ts";
import { checkTables, type Tables } from "./tables.ts";

/** Checks everything: each version of each file, each outcome, each event, the chain and the tables. */
export async function check(
  daemon: BuiltDaemon,
  options: DaemonOptions,
  tables: Tables,
  history: History,
): Promise<string[]> {
  const problems = [...history.problems];
  const events = await allEvents(daemon);
  const files = await allFiles(daemon, problems);
  checkFiles(files, history.files, eventsBySubject(events), problems);
  await checkOutcomes(daemon, files, history.outcomes, eventsBySubject(events), problems);
  await checkChain(options, problems);
  problems.push(...(await checkInvariants(daemon)), ...(await checkTables(tables)));
  return problems;
}

/** Checks only the last attempts: each acknowledged version is there, with its bytes. */
export async function checkRecent(daemon: BuiltDaemon, attempts: readonly FileAttempt[]): Promise<string[]> {
  const problems: string[] = [];
  await inParallel(attempts, async ({ label, saved, hash: wanted }) => {
    if (saved === undefined) return;
    try {
      const version = await daemon.board.call(readVersion, { id: saved.id, version: saved.version });
      if (bytesHash(version) !== wanted)
        problems.push(`${label}: version ${saved.version} of ${saved.id} has other bytes`);
    } catch (error) {
      problems.push(`${label}: version ${saved.version} of ${saved.id} is lost (${messageOf(error)})`);
    }
  });
  return problems;
}

interface SeenFile {
  readonly id: string;
  readonly kind: string;
  readonly description: string;
  readonly versions: ReadonlyMap<number, string>;
  /** The text of the newest version. */
  readonly newest: string;
}

/** Reads every version of every file, and compares what the list, the history and the bytes say. */
async function allFiles(daemon: BuiltDaemon, problems: string[]): Promise<SeenFile[]> {
  const { board, companyId } = daemon;
  const seen: SeenFile[] = [];
  const listed = await pages((cursor) => board.call(listFiles, { companyId, limit: 1000, cursor }), "files");
  await inParallel(listed, async (file) => {
    const about = `file ${file.id} (${file.description.slice(0, 40)})`;
    const history = await pages(
      (cursor) => board.call(viewHistory, { id: file.id, limit: 1000, cursor }),
      "versions",
    );
    const versions = new Map<number, string>();
    let newest = "";
    for (const [index, { version, hash, size }] of history.toReversed().entries()) {
      if (version !== index + 1) problems.push(`${about}: version ${index + 1} is missing`);
      try {
        const content = await board.call(readVersion, { id: file.id, version });
        if (bytesHash(content) !== hash || content.hash !== hash || content.size !== size)
          problems.push(`${about}: version ${version} does not have the bytes of its hash`);
        newest = content.content;
      } catch (error) {
        problems.push(`${about}: version ${version} cannot be read (${messageOf(error)})`);
      }
      versions.set(version, hash);
    }
    // Reading the file of an outcome may render it again, and the list is older.
    if (
      file.kind !== "outcome" &&
      (file.version !== versions.size || file.hash !== versions.get(file.version))
    )
      problems.push(
        `${about}: it is listed at version ${file.version}, its history ends at ${versions.size}`,
      );
    seen.push({ id: file.id, kind: file.kind, description: file.description, versions, newest });
  });
  return seen;
}

function checkFiles(
  files: readonly SeenFile[],
  attempts: readonly FileAttempt[],
  events: ReadonlyMap<string, readonly Event[]>,
  problems: string[],
): void {
  const byHash = new Map(attempts.map((attempt) => [attempt.hash, attempt]));
  const found = new Map<FileAttempt, string>();
  for (const { id, kind, description, versions } of files) {
    if (kind !== "file") continue;
    for (const [version, hash] of versions) {
      const attempt = byHash.get(hash);
      const place = `version ${version} of ${id}`;
      if (attempt === undefined) {
        problems.push(`${place} was written by no client`);
        continue;
      }
      const { label, base, fileId } = attempt;
      const before = found.get(attempt);
      if (before !== undefined) problems.push(`${label} had two effects: ${before} and ${place}`);
      found.set(attempt, place);
      if (attempt.verdict === "refused") problems.push(`${label} was refused and is there: ${place}`);
      if (version !== base + 1 || (fileId ?? id) !== id || (base === 0 && description !== label))
        problems.push(`${label} is in the wrong place: ${place}`);
    }
    checkFileEvents(id, versions, events.get(id) ?? [], problems);
  }
  for (const attempt of attempts) {
    if (attempt.verdict !== "acknowledged") continue;
    const { label, saved, base } = attempt;
    const promised = `version ${saved?.version ?? 0} of ${saved?.id ?? ""}`;
    if (found.get(attempt) !== promised)
      problems.push(
        `${label} was acknowledged as ${promised} and is lost (${found.get(attempt) ?? "nowhere"})`,
      );
    if (saved?.hash !== attempt.hash || saved.version !== base + 1)
      problems.push(`${label} was acknowledged with the wrong version or hash`);
  }
}

/** Each version was recorded once, in order, with its hash, and every recorded version exists. */
function checkFileEvents(
  id: string,
  versions: ReadonlyMap<number, string>,
  events: readonly Event[],
  problems: string[],
): void {
  const recorded = events
    .filter(({ operation }) => operation === "knowledge.create" || operation === "knowledge.write")
    .map(({ data }) => `${String(data["version"])} ${String(data["hash"])}`);
  const expected = [...versions].map(([version, hash]) => `${version} ${hash}`);
  if (recorded.join() !== expected.join())
    problems.push(`file ${id}: ${recorded.length} versions are on record, ${expected.length} are there`);
}

async function checkOutcomes(
  daemon: BuiltDaemon,
  files: readonly SeenFile[],
  attempts: readonly OutcomeAttempt[],
  events: ReadonlyMap<string, readonly Event[]>,
  problems: string[],
): Promise<void> {
  const { board, companyId } = daemon;
  const byLabel = Map.groupBy(attempts, ({ label }) => label);
  const texts = new Map(files.map(({ id, newest }) => [id, newest]));
  const seen = new Set<string>();
  const listed = await pages(
    (cursor) => board.call(listOutcomes, { companyId, limit: 1000, cursor }),
    "outcomes",
  );
  await inParallel(
    listed.filter(({ kind }) => kind === "work"),
    async ({ id }) => {
      const outcome = await board.call(viewOutcome, { id });
      const label = outcome.acceptance ?? "";
      const about = `outcome ${id} (${label})`;
      const tried = byLabel.get(label) ?? [];
      if (tried.length === 0) problems.push(`${about} was created by no client`);
      if (seen.has(label)) problems.push(`${about}: its creation had two effects`);
      seen.add(label);
      if (!possibleStates(tried).has(stateKey(outcome)))
        problems.push(`${about} is not as its client left it: ${stateKey(outcome).slice(0, 200)}`);
      for (const action of outcomeActions) {
        const recorded = (events.get(id) ?? []).filter(
          ({ operation }) => operation === `outcome.${action}`,
        ).length;
        const of = tried.filter((attempt) => attempt.action === action);
        const least = of.filter(({ verdict }) => verdict === "acknowledged").length;
        const most = least + of.filter(({ verdict }) => verdict === "open").length;
        if (recorded < least || recorded > most)
          problems.push(`${about}: ${action} is on record ${recorded} times, not ${least} to ${most}`);
      }
      const text = texts.get(id) ?? "";
      if (!text.includes(`\nstatus: ${outcome.status}\n`) || !text.includes(JSON.stringify(outcome.title)))
        problems.push(`${about}: its file does not show its state`);
    },
  );
  for (const { action, verdict, label } of attempts)
    if (action === "create" && verdict === "acknowledged" && !seen.has(label))
      problems.push(`outcome ${label} was acknowledged and is lost`);
}

/** Every state that agrees with the answers: an acknowledged change happened, and an open one may have happened. */
function possibleStates(attempts: readonly OutcomeAttempt[]): Set<string> {
  let states = new Map<string, OutcomeState>();
  for (const { action, change, verdict } of attempts) {
    if (verdict === "refused") continue;
    const before = action === "create" ? [blank] : [...states.values()];
    const after = before.map((state) => ({ ...state, ...change }));
    const both = verdict === "acknowledged" ? after : [...states.values(), ...after];
    states = new Map(both.map((state) => [stateKey(state), state]));
  }
  return new Set(states.keys());
}

const blank: OutcomeState = { title: "", description: "", status: "", rationale: null };

function stateKey({ status, title, rationale, description }: OutcomeState): string {
  return JSON.stringify([status, title, rationale, description]);
}

async function checkChain(options: DaemonOptions, problems: string[]): Promise<void> {
  const { code, out, err } = await agency(["audit", "verify", "--json"], options);
  if (code !== 0) problems.push(`audit verify: ${(out + err).trim().slice(0, 300)}`);
}

async function allEvents(daemon: BuiltDaemon): Promise<Event[]> {
  const { board, companyId } = daemon;
  return pages<"events", Event>(
    (cursor) => board.call(listEvents, { companyId, limit: 1000, after: cursor ?? 0 }),
    "events",
  );
}

function eventsBySubject(events: readonly Event[]): Map<string, Event[]> {
  return Map.groupBy(events, ({ subject }) => subject ?? "");
}

/** All rows of a list that comes in pages. */
async function pages<K extends string, T>(
  page: (cursor: string | undefined) => Promise<Record<K, T[]> & { nextCursor: string | null }>,
  key: K,
): Promise<T[]> {
  const rows: T[] = [];
  for (let cursor: string | undefined; ;) {
    const next = await page(cursor);
    rows.push(...next[key]);
    if (next.nextCursor === null) return rows;
    cursor = next.nextCursor;
  }
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

function bytesHash(content: z.infer<typeof readVersion.output>): string {
  return hash("sha256", Buffer.from(content.content, content.encoding));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
