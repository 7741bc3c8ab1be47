import {
  hashKey,
  keepPreviousData,
  type Query,
  QueryClient,
  useQuery,
  type UseQueryResult,
} from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { ops } from "virtual:operations";
import { read } from "./batching.ts";
import { numberBy, Refused, Unreachable } from "./calling.ts";
import { liveNow, onEvents, onLive, type Live, sawAnswer, sawNoAnswer, sawSeq } from "./live.ts";
import type { PageOperation } from "./operations.ts";
import { isTouched, touchedBy } from "./touching.ts";

/**
 * Every answer is cached under its operation and input, with the number of the ledger entry that it reflects. An event that
 * touches an answer raises the number that it must reflect. Answers on the screen are then read again, at most every 250 ms;
 * others when they are next shown. So a page never shows less than the events it has seen.
 */
export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Infinity,
      gcTime: 10 * 60_000,
      networkMode: "always",
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      retry: (failures, error) => error instanceof Unreachable && failures < 1000,
      retryDelay: (failures) => Math.min(500 * 2 ** failures, 5000),
    },
  },
});

let company = "";
/** The ledger entry that each answer reflects, and the one it must reflect. */
export const reflects = new Map<string, number>();
const wanted = new Map<string, number>();
const askedAt = new Map<string, number>();

export function readCompany(id: string): void {
  if (id === company) return;
  company = id;
  numberBy(id);
  // The numbers belonged to another company.
  reflects.clear();
}

export interface Reading<O> {
  readonly data: O | undefined;
  readonly refused: Refused | undefined;
  readonly isLoading: boolean;
  /** True if the answer is for an earlier input (`keep`). */
  readonly isOld: boolean;
}

export interface ReadOptions {
  /** True to show the last answer while another input loads. */
  readonly keep?: boolean;
}

/** Reads an operation and keeps the answer fresh. With a null input it waits. */
export function useRead<I, O>(
  operation: PageOperation<I, O>,
  input: I | null,
  { keep = false }: ReadOptions = {},
): Reading<O> {
  const key = [operation.name, input];
  const query = useQuery({
    queryKey: key,
    enabled: input !== null,
    queryFn: async ({ signal }): Promise<O> => {
      if (input === null) throw new Error("not enabled");
      return readAnswer(operation, input, hashKey(key), signal);
    },
    ...(keep && { placeholderData: keepPreviousData }),
  });
  return readingOf(query);
}

const readingOf = <O>({ data, error, isPending, isPlaceholderData }: UseQueryResult<O>): Reading<O> => ({
  data,
  refused: error instanceof Refused ? error : undefined,
  isLoading: isPending,
  isOld: isPlaceholderData,
});

export interface Paged {
  readonly nextCursor: string | null;
}

/** The names of the lists in an answer. */
type ListIn<O> = { [K in keyof O]: O[K] extends readonly unknown[] ? K : never }[keyof O];

/** The most rows that the daemon sends at once. */
export const mostRows = 1000;

/** Reads this many rows of a list, page by page. They are one answer, which changes as a whole. */
export function useRows<I extends object, O extends Paged>(
  operation: PageOperation<I, O>,
  list: ListIn<O>,
  input: I | null,
  rows: number,
): Reading<O> {
  const key = [operation.name, input === null ? null : { ...input, limit: rows }];
  const asked = useQuery({
    queryKey: key,
    enabled: input !== null,
    queryFn: async ({ signal }): Promise<O> => {
      if (input === null) throw new Error("not enabled");
      return askRows(operation, list, input, rows, hashKey(key), signal);
    },
    // More rows or another filter replace the shown list. A list about something else starts empty.
    placeholderData: (before, query) => (idsIn(query?.queryKey[1]) === idsIn(input) ? before : undefined),
  });
  return readingOf(asked);
}

const idsIn = (input: unknown): string => (JSON.stringify(input) ?? "").match(/[0-9a-f-]{36}/g)?.join() ?? "";

/** Reads a whole list, for controls that choose among everything. Empty until it is loaded. */
export function useAll<I extends object, O extends Paged, K extends ListIn<O>>(
  operation: PageOperation<I, O>,
  list: K,
  input: I | null,
): O[K] | readonly [] {
  return useRows(operation, list, input, Infinity).data?.[list] ?? none;
}

const none = [] as const;

async function askRows<I extends object, O extends Paged>(
  operation: PageOperation<I, O>,
  list: keyof O,
  input: I,
  rows: number,
  hash: string,
  signal: AbortSignal,
): Promise<O> {
  let answer = await readAnswer(operation, { ...input, limit: Math.min(rows, mostRows) }, hash, signal);
  // The whole list reflects no more than its first page.
  const reflected = reflects.get(hash);
  for (let all = rowsIn(answer[list]); answer.nextCursor !== null && all.length < rows;) {
    const next = { ...input, limit: Math.min(rows - all.length, mostRows), cursor: answer.nextCursor };
    const page = await readAnswer(operation, next, hash, signal);
    all = [...all, ...rowsIn(page[list])];
    answer = { ...page, [list]: all };
  }
  if (reflected !== undefined) reflects.set(hash, reflected);
  return answer;
}

const rowsIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The answers of an operation about a company that this page already has, whatever their other inputs. */
export function answersNow<I, O>(operation: PageOperation<I, O>, companyId: string): readonly O[] {
  return cache
    .getQueriesData<O>({ queryKey: [operation.name] })
    .flatMap(([[, input], data]) =>
      data !== undefined && Object(input)["companyId"] === companyId ? [data] : [],
    );
}

/** Reads an answer before a component needs it. */
export function readAhead<I, O>(operation: PageOperation<I, O>, input: I): void {
  const key = [operation.name, input];
  void cache.prefetchQuery({
    queryKey: key,
    queryFn: ({ signal }) => readAnswer(operation, input, hashKey(key), signal),
  });
}

/** Asks for an answer that is cached under this hash. */
export async function readAnswer<I, O>(
  operation: PageOperation<I, O>,
  input: I,
  hash: string,
  signal: AbortSignal,
): Promise<O> {
  // The least that the answer reflects, if the daemon does not say.
  const known = liveNow().seq;
  const followed = company;
  askedAt.set(hash, performance.now());
  try {
    const { output, seq } = await read(operation, input, signal);
    if (followed === company) reflects.set(hash, seq ?? known);
    if (seq !== undefined) sawSeq(followed, seq);
    sawAnswer();
    return output;
  } catch (error) {
    if (error instanceof Unreachable) sawNoAnswer();
    // A refusal is an answer too, and as fresh as any.
    else if (error instanceof Refused) reflects.set(hash, known);
    throw error;
  }
}

const reads: ReadonlySet<string> = new Set(
  Object.values(ops).flatMap(({ name, writes }) => (writes === true ? [] : [name])),
);

onEvents((events, cursor, hasGap) => {
  const touched = touchedBy(events, reads);
  const each = events.map((event) => ({ seq: event.seq, touched: touchedBy([event], reads) }));
  for (const query of cache.getQueryCache().getAll()) {
    const [operation, input] = query.queryKey;
    if (typeof operation !== "string") continue;
    if (hasGap && (reflects.get(query.queryHash) ?? cursor) < cursor) want(query, cursor);
    else if (isTouched(operation, input, company, touched)) {
      const last = each.findLast((event) => isTouched(operation, input, company, event.touched));
      want(query, last?.seq ?? cursor);
    }
  }
  pump();
});

/**
 * After a change made here, everything is read again at once, because the person waits for it. An answer that is on its way may be
 * from before the change, so it is not waited for. Resolves when everything on the screen has been read.
 */
export async function refreshAll(): Promise<void> {
  const reads = cache.getQueryCache().getAll();
  for (const query of reads) query.invalidate();
  const shown = reads.filter((query) => query.isActive());
  await Promise.all(
    shown.map((query) => query.fetch(undefined, { cancelRefetch: true }).catch(() => undefined)),
  );
}

/** A member gets no events: what is on the screen is read again every ten seconds. A hidden page asks for nothing. Returns how to end it. */
export function keepReading(): () => void {
  const timer = setInterval(() => {
    if (!document.hidden) void refreshAll();
  }, 10_000);
  return () => clearInterval(timer);
}

function want(query: Query, seq: number): void {
  wanted.set(query.queryHash, Math.max(seq, wanted.get(query.queryHash) ?? 0));
}

let pumping: ReturnType<typeof setTimeout> | undefined;

function pump(): void {
  if (pumping !== undefined || wanted.size === 0 || document.hidden) return;
  pumping = setTimeout(() => {
    pumping = undefined;
    for (const [hash, seq] of wanted) renew(hash, seq);
    pump();
  }, 60);
}

document.addEventListener("visibilitychange", pump);

function renew(hash: string, seq: number): void {
  const query = cache.getQueryCache().get(hash);
  if (query === undefined || (reflects.get(hash) ?? 0) >= seq) {
    wanted.delete(hash);
    return;
  }
  if (!query.isActive()) {
    // It is read again when it is shown.
    query.invalidate();
    wanted.delete(hash);
    return;
  }
  const isHeavy =
    heavy.has(String(query.queryKey[0])) || Number(Object(query.queryKey[1])["limit"]) > mostRows;
  const rest = isHeavy ? 1000 : 250;
  const isAsking = query.state.fetchStatus === "fetching";
  if (isAsking || performance.now() - (askedAt.get(hash) ?? 0) < rest) return;
  void query.fetch().catch(() => undefined);
}

/** Reads that take the daemon longer. */
const heavy = new Set([
  "attention.view",
  "company.counts",
  "org.view",
  "org.roster",
  "outcome.graph",
  "cost.list",
  "why",
  "why.many",
  "agent.view",
  "approval.view",
  "outcome.view",
]);

cache.getQueryCache().subscribe(({ type, query }) => {
  if (type !== "removed") return;
  for (const map of [reflects, wanted, askedAt]) map.delete(query.queryHash);
});

export function useLive(): Live {
  return useSyncExternalStore(onLive, liveNow);
}

/** Only the state: an entry that arrives renders nothing again. */
export const useConnection = (): Live["state"] => useSyncExternalStore(onLive, () => liveNow().state);
