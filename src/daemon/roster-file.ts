import { mkdirSync, readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import { markSeen, newDeeds, type Seen, seenSoFar } from "../events/ledger.ts";
import { companiesByAge, rosterText } from "../roster/roster.ts";
import type { Store } from "../store/store.ts";
import { afterCommits, type Follower } from "./after-commits.ts";

/**
 * Keeps roster.json up to date: the list of employed agents, for people and programs that read files. The file is written from
 * the database after a change and never read. The first company has `roster.json`, every other one `roster-<company id>.json`.
 * The next start after a crash compares every file with the database and writes what is missing.
 *
 * Changes within 200 ms are written together. A long roster takes long to write. So the pauses grow with it, to 3 seconds at
 * most, and writing takes less than a twentieth of the time.
 */
const together = 200;
const share = 1 / 20;
const longest = 3000;
/** The most frequent events that never change who is employed. Every other event leads to a comparison. */
const irrelevant = new Set([
  "access",
  "event",
  "growth",
  "knowledge",
  "ledger",
  "mail",
  "outcome",
  "permission",
  "session",
  "skill",
]);

export function keepRosterFiles(parts: {
  store: Store;
  folder: string;
  sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** Called before a file is written. Tests stop the daemon there. */
  at: (step: string) => Promise<void> | void;
  reportBug: (error: unknown, about: string) => void;
}): Follower {
  const { store, folder } = parts;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const changed = new Set<string>();
  let seen: Seen | undefined;

  /** Notes the companies whose roster may have changed since the last look. The first look notes all of them. */
  async function look(): Promise<void> {
    if (seen === undefined) {
      const start = await store.read(async (tx) => ({
        seen: await seenSoFar(tx),
        companies: await tx.all(companiesByAge, {}),
      }));
      for (const { id } of start.companies) changed.add(id);
      seen = start.seen;
    }
    for (const after = seen; ;) {
      const events = await store.read((tx) => newDeeds(tx, after));
      if (events.length === 0) return;
      for (const { operation, company_id, subject } of events) {
        // The event of a new company belongs to the installation. Its subject is the company.
        const company = company_id || subject;
        if (company !== null && !irrelevant.has(operation.split(".")[0] ?? "")) changed.add(company);
      }
      markSeen(after, events);
    }
  }

  async function write(): Promise<void> {
    await look();
    if (changed.size === 0) return;
    const companies = await store.read((tx) => tx.all(companiesByAge, {}));
    for (const [index, { id }] of companies.entries()) {
      if (!changed.has(id)) continue;
      const file = join(folder, index === 0 ? "roster.json" : `roster-${id}.json`);
      const words = await store.read((tx) => rosterText(tx, id));
      if (words !== contentOf(file)) {
        await parts.at("roster");
        await replace(file, words);
      }
      changed.delete(id);
    }
    changed.clear();
  }

  async function work(): Promise<number> {
    const begun = performance.now();
    // Failed, for example on a full disk. The daemon keeps running, and tries the file again.
    await write().catch((error: unknown) => parts.reportBug(error, "roster.json"));
    return Math.min(longest, Math.max(together, (performance.now() - begun) / share));
  }

  return afterCommits({ store, sleep: parts.sleep, pause: together, atLeastEvery: 10_000, work });
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Replaces a file completely or not at all, even if the power fails. Meanwhile the daemon answers other calls. */
async function replace(file: string, words: string): Promise<void> {
  await using written = await open(`${file}.tmp`, "w", 0o600);
  await written.writeFile(words);
  await written.sync();
  await rename(`${file}.tmp`, file);
  await using folder = await open(join(file, ".."), "r");
  await folder.sync();
}
