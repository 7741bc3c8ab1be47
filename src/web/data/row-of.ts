import { hashKey, QueryObserver } from "@tanstack/react-query";
import { useMemo, useSyncExternalStore } from "react";
import { liveNow } from "./live.ts";
import type { PageOperation } from "./operations.ts";
import { cache, mostRows, type Paged, readAnswer, reflects } from "./reading.ts";

/**
 * A row of a list by its id: from the first page, which all names share, or from the page that has it. No later page is read.
 * A name is rendered again only if its own row changes.
 */
export function useRowOf<I extends object, L extends string, R extends { readonly id: string }>(
  operation: PageOperation<I, Paged & Readonly<Record<L, readonly R[]>>>,
  list: L,
  input: I,
  id: string | null,
): R | undefined {
  const { watch, row } = useMemo(
    () => rowSource(operation, list, input, id),
    [operation, list, hashKey([input]), id],
  );
  return useSyncExternalStore(watch, row);
}

function rowSource<I extends object, L extends string, R extends { readonly id: string }>(
  operation: PageOperation<I, Paged & Readonly<Record<L, readonly R[]>>>,
  list: L,
  input: I,
  id: string | null,
): { readonly watch: (tell: () => void) => () => void; readonly row: () => R | undefined } {
  if (id === null) return { watch: () => () => undefined, row: () => undefined };
  type Rows = Paged & Readonly<Record<L, readonly R[]>>;
  const ofFirst = { ...input, limit: mostRows };
  const first = watched(operation.name, ofFirst, (hash, signal) =>
    readAnswer(operation, ofFirst, hash, signal),
  );
  const here = (answer: Rows | undefined): R | undefined => answer && rowsById(answer[list]).get(id);
  const further = watched(operation.name, { ...input, id }, async (hash): Promise<R | null> => {
    const known = liveNow().seq;
    let cursor = first.now()?.nextCursor ?? null;
    while (cursor !== null) {
      const next: Rows = await sharedPage(operation, { ...input, limit: mostRows, cursor }, known);
      const row = here(next);
      if (row !== undefined) {
        reflects.set(hash, known);
        return row;
      }
      cursor = next.nextCursor;
    }
    reflects.set(hash, known);
    return null;
  });
  return {
    row: () => here(first.now()) ?? further.now() ?? undefined,
    watch: (tell) => {
      let stopFurther: (() => void) | undefined;
      // A name on the first page adds no entry to the cache.
      const look = (): void => {
        const answer = first.now();
        if (answer !== undefined && answer.nextCursor !== null && here(answer) === undefined)
          stopFurther ??= further.watch(tell);
      };
      const stop = first.watch(() => {
        look();
        tell();
      });
      look();
      return () => {
        stop();
        stopFurther?.();
      };
    },
  };
}

/** Observers by the answer that they watch. Everything on the screen that reads the same answer shares one. */
const observers = new Map<string, QueryObserver>();

/** An answer outside of a component: what is known of it now, and being told when that changes. */
function watched<O>(
  name: string,
  input: object,
  read: (hash: string, signal: AbortSignal) => Promise<O>,
): { readonly now: () => O | undefined; readonly watch: (tell: () => void) => () => void } {
  const queryKey: readonly unknown[] = [name, input];
  const hash = hashKey(queryKey);
  return {
    now: () => cache.getQueryCache().get<O>(hash)?.state.data,
    watch: (tell) => {
      const observer =
        observers.get(hash) ??
        new QueryObserver<unknown>(cache, { queryKey, queryFn: ({ signal }) => read(hash, signal) });
      observers.set(hash, observer);
      const stop = observer.subscribe(tell);
      return () => {
        stop();
        if (!observer.hasListeners() && observers.get(hash) === observer) observers.delete(hash);
      };
    },
  };
}

/** If several names look for their rows at the same time, a page is read once. */
function sharedPage<I, O>(operation: PageOperation<I, O>, input: I, known: number): Promise<O> {
  const key = [operation.name, input];
  const hash = hashKey(key);
  return cache.fetchQuery({
    queryKey: key,
    queryFn: ({ signal }) => readAnswer(operation, input, hash, signal),
    staleTime: (reflects.get(hash) ?? 0) < known ? 0 : Infinity,
  });
}

const byId = new WeakMap<object, ReadonlyMap<string, unknown>>();

function rowsById<R extends { readonly id: string }>(rows: readonly R[]): ReadonlyMap<string, R> {
  let known = byId.get(rows);
  if (known === undefined) byId.set(rows, (known = new Map(rows.map((row) => [row.id, row]))));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made from these rows
  return known as ReadonlyMap<string, R>;
}
