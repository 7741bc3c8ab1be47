import { type FeedNews, type FeedStart, type LedgerEvent, readFeed } from "./feed.ts";

/**
 * One reader of events for all tabs of the browser: a browser opens at most six connections to a host, and each tab needs some
 * for itself. A tab names the company that it shows, and says goodbye when it is closed or hidden for good. The hub lives in a
 * worker that the tabs share (feed-worker.ts) or, if the browser has none, in the elected tab (elected.ts).
 */
export interface FeedTab {
  postMessage(news: FeedNews): void;
}

interface Feed {
  readonly tabs: Set<FeedTab>;
  readonly stop: AbortController;
  readonly pageKey: string;
  last: FeedNews;
  /** The newest events for a tab that joins. It has read older data before, and gets the events since then. */
  recent: LedgerEvent[];
  /** All events after this number are in `recent`. */
  from: number;
}

const mostRecent = 500;

export class FeedHub {
  readonly #feeds = new Map<string, Feed>();

  /** Handles a message of a tab. */
  take(tab: FeedTab, said: FeedStart | "bye"): void {
    this.#leave(tab, said === "bye" ? undefined : said.company);
    if (said !== "bye") this.#join(tab, said);
  }

  stop(): void {
    for (const { stop } of this.#feeds.values()) stop.abort();
    this.#feeds.clear();
  }

  #join(tab: FeedTab, start: FeedStart): void {
    const known = this.#feeds.get(start.company);
    if (known !== undefined && known.pageKey === start.pageKey && known.last.state !== "refused") {
      known.tabs.add(tab);
      const hasGap = start.after < known.from;
      const events = hasGap ? [] : known.recent.filter(({ seq }) => seq > start.after);
      tab.postMessage({ ...known.last, events, hasGap });
      return;
    }
    known?.stop.abort();
    const stop = new AbortController();
    const feed: Feed = {
      tabs: new Set(known?.tabs).add(tab),
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
    this.#feeds.set(start.company, feed);
    void readFeed(start, stop.signal, (news) => {
      feed.last = { ...news, events: [] };
      feed.recent.push(...news.events);
      const dropped = feed.recent.splice(0, Math.max(0, feed.recent.length - mostRecent)).at(-1);
      feed.from = dropped?.seq ?? feed.from;
      for (const each of feed.tabs) each.postMessage(news);
    });
  }

  /** A tab follows one company at a time. A feed without tabs ends. */
  #leave(tab: FeedTab, except: string | undefined): void {
    for (const [company, feed] of this.#feeds)
      if (company !== except && feed.tabs.delete(tab) && feed.tabs.size === 0) {
        feed.stop.abort();
        this.#feeds.delete(company);
      }
  }
}
