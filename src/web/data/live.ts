import type { Feeding } from "./elected.ts";
import type { FeedNews, LedgerEvent } from "./feed.ts";
import workerUrl from "./feed-worker.ts?sharedworker&url";
import { onPageKey, pageKey } from "./page-key.ts";
import { trustedScript } from "./trusted.ts";

/**
 * The state of this tab's connection: whether events arrive, since when they don't, and the newest ledger entry it has seen.
 * Events come from the worker that all tabs share or, if the browser has none, from the elected tab.
 */
export interface Live {
  readonly state: FeedNews["state"];
  readonly since: number | null;
  readonly seq: number;
}

type Listener = (events: readonly LedgerEvent[], cursor: number, hasGap: boolean) => void;

let live: Live = { state: "starting", since: null, seq: 0 };
const watchers = new Set<() => void>();
const listeners = new Set<Listener>();

export const liveNow = (): Live => live;

export function onLive(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** Calls the listener with every batch of events. With a gap, events before the cursor were missed. */
export function onEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Called when a read was answered. The newest number is kept. The feed begins a little before the first number, because answers
 * still under way may reflect less than the first one to arrive.
 */
export function sawSeq(company: string, seq: number): void {
  if (company === following && !started) {
    started = true;
    begin(Math.max(0, seq - 100));
  }
  if (company === following && seq > live.seq) change({ ...live, seq });
}

/** Called when a call got no answer. The feed notices a missing daemon only later. */
export function sawNoAnswer(): void {
  if (live.state === "live") change({ ...live, state: "lost", since: Date.now() });
}

/** Called when a call was answered again. */
export function sawAnswer(): void {
  if (live.state === "lost" && feedState === "live") change({ ...live, state: "live", since: null });
}

let following = "";
let started = false;
/** The last event that the feed has delivered. Answers may reflect more events. */
let heard = 0;
let feedState: FeedNews["state"] = "starting";
let port: Feeding | undefined;

export function followCompany(company: string): void {
  if (company === following) return;
  following = company;
  started = false;
  change({ state: "starting", since: null, seq: 0 });
}

function begin(after: number): void {
  const key = pageKey();
  if (key === null) return;
  heard = after;
  const start = { company: following, after, pageKey: key };
  port ??= connect();
  port.postMessage(start);
}

function connect(): Feeding {
  const feeding = "SharedWorker" in globalThis ? sharedFeed() : electedLater();
  addEventListener("pagehide", () => feeding.postMessage("bye"));
  // A page that returns from the browser's history follows again.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) begin(heard);
  });
  onPageKey(() => {
    if (pageKey() === null) feeding.postMessage("bye");
    else if (started) begin(heard);
  });
  return feeding;
}

/** Few browsers need this code. Messages sent before it is loaded wait for it. */
function electedLater(): Feeding {
  const loaded = import("./elected.ts").then(({ electedFeed }) => electedFeed(hear));
  return { postMessage: (said) => void loaded.then((feed) => feed.postMessage(said)) };
}

function sharedFeed(): Feeding {
  const worker = new SharedWorker(trustedScript(workerUrl), { type: "module", name: "agency" });
  worker.port.addEventListener("message", ({ data }: MessageEvent<FeedNews>) => hear(data));
  worker.port.start();
  return worker.port;
}

function hear({ company, state, since, cursor, events, hasGap }: FeedNews): void {
  if (company !== following) return;
  feedState = state;
  heard = cursor;
  change({ state, since, seq: Math.max(live.seq, cursor) });
  for (const listener of listeners) listener(events, cursor, hasGap);
}

function change(next: Live): void {
  if (next.state === live.state && next.since === live.since && next.seq === live.seq) return;
  live = next;
  for (const watcher of watchers) watcher();
}
