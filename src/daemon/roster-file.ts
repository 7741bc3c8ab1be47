import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ledgerEnd, listAfter } from "../events/ledger.ts";
import { companiesByAge, rosterText } from "../roster/roster.ts";
import type { Store } from "../store/store.ts";

/**
 * roster.json says who is employed, for people and programs that look at files. It is written out from the database
 * after a change and never read: the first company's is `roster.json`, any further one's `roster-<company id>.json`. What a
 * crash prevented is made up for at the next start, where every file is compared.
 */
export interface RosterFiles {
  /** Writes what is left to write. */
  stop(): Promise<void>;
}

/** Several changes in a row are one file. A long roster takes long to write, and at most a twentieth of the time goes to it. */
const together = 200;
const share = 1 / 20;
const longest = 3000;
/** What happens most and changes nobody's employment. Whatever else is on record makes us compare. */
const irrelevant = new Set([
  "access",
  "event",
  "growth",
  "knowledge",
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
  /** Where tests stop the world. */
  at: (step: string) => Promise<void> | void;
  reportBug: (error: unknown, about: string) => void;
}): RosterFiles {
  const { store, folder } = parts;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const changed = new Set<string>();
  const stopping = new AbortController();
  let seen: number | undefined;

  /** Whose roster may have changed since the last look; at the first look, everybody's. */
  async function look(): Promise<void> {
    if (seen === undefined) {
      const start = await store.read(async (tx) => ({
        seq: (await tx.first(ledgerEnd, {}))?.seq ?? 0,
        companies: await tx.all(companiesByAge, {}),
      }));
      for (const { id } of start.companies) changed.add(id);
      seen = start.seq;
    }
    for (let more = true; more;) {
      const after: number = seen;
      const events = await store.read((tx) => listAfter(tx, { companyId: null, after, limit: 500 }));
      for (const { operation, company_id, subject } of events) {
        // A company that is made is the subject of an event of the installation.
        const company = company_id ?? subject;
        if (company !== null && !irrelevant.has(operation.split(".")[0] ?? "")) changed.add(company);
      }
      seen = events.at(-1)?.seq ?? seen;
      more = events.length === 500;
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
        replace(file, words);
      }
      changed.delete(id);
    }
    changed.clear();
  }

  async function work(): Promise<void> {
    let wake: () => void = () => undefined;
    let committed = true;
    let pause = together;
    const deaf = store.onCommit(() => {
      committed = true;
      wake();
    });
    for (let isLast = false; !isLast;) {
      if (!committed)
        await Promise.race([
          new Promise<void>((resolve) => (wake = resolve)),
          parts.sleep(10_000, stopping.signal),
        ]);
      await parts.sleep(pause, stopping.signal);
      const begun = performance.now();
      isLast = stopping.signal.aborted;
      committed = false;
      // A full disk, say: everything else goes on, and the file is tried again.
      await write().catch((error: unknown) => parts.reportBug(error, "roster.json"));
      pause = Math.min(longest, Math.max(together, (performance.now() - begun) / share));
    }
    deaf();
  }

  const working = work();
  return {
    stop: async () => {
      stopping.abort();
      await working;
    },
  };
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Whole or not at all, also when the power goes. */
function replace(file: string, words: string): void {
  const descriptor = openSync(`${file}.tmp`, "w", 0o600);
  try {
    writeFileSync(descriptor, words);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(`${file}.tmp`, file);
  const folder = openSync(join(file, ".."), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
