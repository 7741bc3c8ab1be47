import { existsSync, readFileSync, renameSync, statSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { z } from "zod";
import { allHeads, append, system } from "../events/ledger.ts";
import { type Anchors, sealOperation } from "../events/verify.ts";
import type { Mac, Store } from "../store/store.ts";
import { afterCommits, type Follower } from "./after-commits.ts";
import { inMap } from "../contract/in-map.ts";

/**
 * The anchor notes the heads of all chains outside the database, at most once a second and when the daemon stops. Each time
 * that something was recorded, it gets a line of JSON with a keyed hash. If a database is older than its anchor, it was put
 * back to an earlier state. The lines can also go to a second place: a file, or an address that gets each line by POST.
 *
 * Once a minute the heads are also sealed in the installation's chain. So a single chain can't be put back, even by someone who
 * can write the anchor.
 */
export interface Anchor extends Follower {
  readonly read: () => Anchors;
}

export interface AnchorParts {
  readonly store: Store;
  readonly file: string;
  readonly copy?: string | undefined;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly reportBug: (error: unknown, about: string) => void;
}

const noteEvery = 1000;
const sealEvery = 60_000;
/** A file of this size is renamed to `….1`, which replaces an older one. */
const largest = 16 * 1024 * 1024;

const Line = z.object({
  at: z.number(),
  heads: z.record(z.string(), z.tuple([z.number(), z.string()])),
  mac: z.string(),
});
type Heads = z.infer<typeof Line>["heads"];
const macOfLine = (mac: Mac, at: number, heads: Heads): string => mac(JSON.stringify(["anchor", at, heads]));

export async function keepAnchor(parts: AnchorParts): Promise<Anchor> {
  const { store, file, copy } = parts;
  const mac = await store.read(async (tx) => tx.mac);
  const noted = new Map<string, string>();
  const sealed = new Map<string, string>();

  /** The heads that differ from those in `before`. Also updates `before`. */
  async function moved(before: Map<string, string>, which: (companyId: string) => boolean): Promise<Heads> {
    const heads: Heads = {};
    for (const { company_id, seq, hash } of await store.read((tx) => tx.all(allHeads, {})))
      if (seq > 0 && which(company_id) && before.get(company_id) !== hash) {
        before.set(company_id, hash);
        heads[company_id] = [seq, hash];
      }
    return heads;
  }

  async function note(): Promise<void> {
    const heads = await moved(noted, () => true);
    if (Object.keys(heads).length === 0) return;
    const at = await store.read(async (tx) => tx.now);
    const line = JSON.stringify({ at, heads, mac: macOfLine(mac, at, heads) });
    await addLine(file, line);
    if (copy === undefined) return;
    if (!/^https?:/.test(copy)) return addLine(copy, line);
    const signal = AbortSignal.timeout(5000);
    const { ok, status } = await fetch(copy, { method: "POST", body: line, signal });
    if (!ok) throw new Error(`${copy} answered ${status} to a line of the anchor`);
  }

  async function seal(): Promise<void> {
    const heads = await moved(sealed, (companyId) => companyId !== "");
    if (Object.keys(heads).length === 0) return;
    await store.write(async (tx) =>
      append(tx, { companyId: "", actor: system, operation: sealOperation, subject: null, data: heads }),
    );
  }

  let sealedAt = performance.now();
  async function work(isLast: boolean): Promise<number> {
    try {
      if (isLast || performance.now() - sealedAt > sealEvery) {
        await seal();
        sealedAt = performance.now();
      }
      await note();
    } catch (error) {
      // Failed, for example on a full disk. The daemon keeps running, and the next line includes the missing heads.
      noted.clear();
      parts.reportBug(error, "audit anchor");
    }
    return noteEvery;
  }

  return {
    read: () => readAnchors(mac, [`${file}.1`, file, ...(copy === undefined ? [] : [copy])]),
    ...afterCommits({ store, sleep: parts.sleep, pause: 0, atLeastEvery: sealEvery, work }),
  };
}

async function addLine(file: string, line: string): Promise<void> {
  if (existsSync(file) && statSync(file).size > largest) renameSync(file, `${file}.1`);
  // A crash can leave half a line. The newline before keeps the new line apart, and an empty line is harmless.
  await appendFile(file, `\n${line}\n`, { mode: 0o600, flush: true });
}

/**
 * The notes in the files, by company and number. Incomplete lines and lines written with another key don't count. The first
 * line about an event counts: a database that was put back records other events with the same numbers.
 */
export function readAnchors(mac: Mac, files: readonly string[]): Anchors {
  const found = new Map<string, Map<number, { hash: string; at: number }>>();
  for (const file of files.filter((name) => existsSync(name)))
    for (const text of readFileSync(file, "utf8").split("\n")) {
      const line = Line.safeParse(parsed(text));
      if (!line.success || line.data.mac !== macOfLine(mac, line.data.at, line.data.heads)) continue;
      for (const [companyId, [seq, hash]] of Object.entries(line.data.heads))
        inMap(
          inMap(found, companyId, () => new Map()),
          seq,
          () => ({ hash, at: line.data.at }),
        );
    }
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
