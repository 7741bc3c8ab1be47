import { type FeedNews, type FeedStart, type LedgerEvent, readFeed } from "./feed.ts";

/**
 * One reader of events for all tabs of the browser: a browser opens at most six connections to a host, and each tab needs some
 * for itself. A tab says which company it shows; it says goodbye when it is closed or hidden for good.
 */
interface Feed {
  readonly ports: Set<MessagePort>;
  readonly stop: AbortController;
  readonly pageKey: string;
  last: FeedNews;
  /** The newest events, for a tab that joins: it has read something before it, and hears what came after that. */
  recent: LedgerEvent[];
  /** Everything after this number is in `recent`. */
  from: number;
}

const mostRecent = 500;

const feeds = new Map<string, Feed>();

addEventListener("connect", (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  if (port === undefined) return;
  port.addEventListener("message", ({ data }: MessageEvent<FeedStart | "bye">) => {
    leave(port, data === "bye" ? undefined : data.company);
    if (data !== "bye") join(port, data);
  });
  port.start();
});

function join(port: MessagePort, start: FeedStart): void {
  const known = feeds.get(start.company);
  if (known !== undefined && known.pageKey === start.pageKey && known.last.state !== "refused") {
    known.ports.add(port);
    const hasGap = start.after < known.from;
    const events = hasGap ? [] : known.recent.filter(({ seq }) => seq > start.after);
    port.postMessage({ ...known.last, events, hasGap });
    return;
  }
  known?.stop.abort();
  const stop = new AbortController();
  const feed: Feed = {
    ports: new Set(known?.ports).add(port),
    stop,
    pageKey: start.pageKey,
    last: {
      company: start.company,
      state: "starting",
      since: null,
      cursor: start.after,
      events: [],
      hasGap: false,
    },
    recent: [],
    from: start.after,
  };
  feeds.set(start.company, feed);
  void readFeed(start, stop.signal, (news) => {
    feed.last = { ...news, events: [] };
    feed.recent.push(...news.events);
    const dropped = feed.recent.splice(0, Math.max(0, feed.recent.length - mostRecent)).at(-1);
    feed.from = dropped?.seq ?? feed.from;
    for (const each of feed.ports) each.postMessage(news);
  });
}

/** A tab follows one company at a time. A feed without tabs ends. */
function leave(port: MessagePort, except: string | undefined): void {
  for (const [company, feed] of feeds)
    if (company !== except && feed.ports.delete(port) && feed.ports.size === 0) {
      feed.stop.abort();
      feeds.delete(company);
    }
}
