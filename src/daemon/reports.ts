import { type AttentionItem, viewAttention } from "../contract/attention.ts";
import { listCompanies } from "../contract/companies.ts";
import { listEvents } from "../contract/ledger.ts";
import type { z } from "zod";
import type { Operation } from "../contract/operation.ts";
import { Refusal } from "../contract/refusal.ts";
import { markSeen, newDeeds, type Seen, seenSoFar } from "../events/ledger.ts";
import { isDiskFull } from "../store/disk.ts";
import type { Store } from "../store/store.ts";
import { afterCommits, type Follower } from "./after-commits.ts";

/**
 * Tells the person who runs the daemon what happens: one sentence for each event that matters, and for each item that newly
 * needs a person. Items from before the start are not reported. One look prints at most 20 sentences, and looks take at most a
 * tenth of the time. So a flood of events neither fills the terminal nor slows the daemon.
 */
export interface ReportsTo {
  readonly tell: (event: { readonly at: string; readonly says: string }) => void;
  /** Called with all items that newly need a person. The next call waits until this one is done. */
  readonly notify?:
    | ((notice: { company: string; items: readonly AttentionItem[] }) => Promise<void>)
    | undefined;
}

const together = 500;
const share = 1 / 10;
const longest = 60_000;
const mostAtOnce = 20;

/** Events that a person wants to see. Reads, messages and the steps of the agents are in `agency logs`. */
const matters =
  /^(?:session\.(?:start|end)|agent\.(?:create|hire|pause|resume|retire|terminate)|approval\.(?:create|request|approve|reject|request_revision|resubmit|expire)|goal\.create|outcome\.(?:submit|complete|close|stall)|budget\.notice|mcp_server\.(?:fail|recover)|company\.(?:freeze|thaw)|reorganization\.apply)$/;

export async function keepReports(parts: {
  readonly store: Store;
  /** Calls an operation as the board. */
  readonly ask: <O extends z.ZodType>(
    operation: Operation<z.ZodObject, O>,
    input: Record<string, unknown>,
  ) => Promise<z.infer<O>>;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly reportBug: (error: unknown, about: string) => void;
  readonly to: ReportsTo;
}): Promise<Follower> {
  const { store, ask, to } = parts;
  const seen: Seen = await store.read(seenSoFar);
  /** The items that needed a person at the last look, by company. */
  const known = new Map<string, Set<string>>();
  if (to.notify !== undefined)
    await calmly(async () => {
      for (const { id } of (await ask(listCompanies, { limit: 1000 })).companies)
        known.set(id, new Set((await ask(viewAttention, { companyId: id, limit: 1000 })).items.map(keyOf)));
    });

  /** The companies with events since the last look, and the events among them that a person wants to see. */
  async function changed(): Promise<Map<string, Told | undefined>> {
    const companies = new Map<string, Told | undefined>();
    for (;;) {
      const events = await store.read((tx) => newDeeds(tx, seen));
      if (events.length === 0) return companies;
      for (const { company_id, seq, at, operation } of events) {
        const before = companies.get(company_id);
        const isTold = matters.test(operation);
        if (isTold)
          companies.set(company_id, { first: before?.first ?? seq, count: (before?.count ?? 0) + 1, at });
        else if (to.notify !== undefined) companies.set(company_id, before);
      }
      markSeen(seen, events);
    }
  }

  async function tellOf(companyId: string, { first, count, at }: Told): Promise<void> {
    let left = Math.min(count, mostAtOnce);
    for (let cursor: string | undefined; left > 0;) {
      const page = await ask(listEvents, {
        companyId,
        after: first - 1,
        refused: false,
        limit: 1000,
        cursor,
      });
      const told = page.events.filter(({ operation }) => matters.test(operation)).slice(0, left);
      for (const { at: when, says } of told) to.tell({ at: when, says });
      left -= told.length;
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    if (count > mostAtOnce)
      to.tell({
        at: new Date(at).toISOString(),
        says: `… and ${count - mostAtOnce} more events: agency logs`,
      });
  }

  async function notifyOf(companyId: string, company: string): Promise<void> {
    if (to.notify === undefined) return;
    const { items } = await ask(viewAttention, { companyId, limit: 1000 });
    const before = known.get(companyId);
    known.set(companyId, new Set(items.map(keyOf)));
    const fresh = items.filter((item) => before?.has(keyOf(item)) !== true);
    if (fresh.length > 0) await to.notify({ company, items: fresh });
  }

  async function look(): Promise<void> {
    const happened = await changed();
    if (happened.size === 0) return;
    const { companies } = await ask(listCompanies, { limit: 1000 });
    for (const { id, name } of companies) {
      if (!happened.has(id)) continue;
      const told = happened.get(id);
      if (told !== undefined) await tellOf(id, told);
      await notifyOf(id, name);
    }
  }

  async function calmly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // The owner of the board token may have lost the board role. A full disk is in the log already.
      if (isDiskFull(error) || (error instanceof Refusal && error.code !== "unavailable")) return;
      parts.reportBug(error, "reports");
    }
  }

  return afterCommits({
    ...parts,
    pause: 0,
    atLeastEvery: longest,
    work: async (isLast) => {
      const begun = performance.now();
      if (!isLast) await calmly(look);
      return Math.min(Math.max((performance.now() - begun) / share, together), longest);
    },
  });
}

/** The first events of a company that a person wants to see, how many there are, and when the last one happened. */
interface Told {
  readonly first: number;
  readonly count: number;
  readonly at: number;
}

const keyOf = ({ kind, subject, since }: AttentionItem): string => `${kind} ${subject.id ?? ""} ${since}`;
