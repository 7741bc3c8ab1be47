import type { FeedNews, FeedStart } from "./feed.ts";
import { FeedHub, type FeedTab } from "./feed-hub.ts";

/**
 * If the browser has no shared worker, the tabs elect one of them to read the events for all: the one that holds a lock of the
 * browser. States of a tab: follower → elected, when the elected tab before it was closed. The elected tab has the hub. The
 * others talk to it over a channel, and repeat what they follow when another tab is elected. A page without locks (plain http
 * to another machine) reads only for itself.
 */
export interface Feeding {
  postMessage(said: FeedStart | "bye"): void;
}

type Note =
  | { readonly from: string; readonly said: FeedStart | "bye" }
  | { readonly to: string; readonly news: FeedNews }
  | "elected";

const name = "agency feed";

export function electedFeed(hear: (news: FeedNews) => void): Feeding {
  const me = [...crypto.getRandomValues(new Uint8Array(8))].join(".");
  const own: FeedTab = { postMessage: hear };
  const others = new Map<string, FeedTab>();
  const channel = new BroadcastChannel(name);
  const tell = (note: Note): void => channel.postMessage(note);
  let hub: FeedHub | undefined;
  /** The company that this tab follows. */
  let last: FeedStart | "bye" = "bye";
  const say = (): void => {
    if (hub === undefined) tell({ from: me, said: last });
    else hub.take(own, last);
  };
  const take = (from: string, said: FeedStart | "bye"): void => {
    const tab = others.get(from) ?? { postMessage: (news: FeedNews) => tell({ to: from, news }) };
    others.set(from, tab);
    hub?.take(tab, said);
    if (said === "bye") others.delete(from);
  };
  channel.addEventListener("message", ({ data }: MessageEvent<Note>) => {
    if (data === "elected") say();
    else if ("said" in data) take(data.from, data.said);
    else if (data.to === me) hear(data.news);
  });
  const lead = (): void => {
    hub = new FeedHub();
    say();
    tell("elected");
  };
  // When this tab is closed, or kept only for its history, the browser gives the lock to the next tab.
  let leave = (): void => undefined;
  const stand = (): void => {
    if (!("locks" in navigator)) return lead();
    const gone = new AbortController();
    const held = Promise.withResolvers<void>();
    leave = () => {
      gone.abort();
      hub?.stop();
      hub = undefined;
      held.resolve();
    };
    const request = navigator.locks.request(name, { signal: gone.signal }, async () => {
      lead();
      return held.promise;
    });
    request.catch(() => undefined);
  };
  stand();
  addEventListener("pagehide", () => leave());
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) stand();
  });
  return {
    postMessage: (said) => {
      last = said;
      say();
    },
  };
}
