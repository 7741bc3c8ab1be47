/**
 * The events of one company, read with fetch, which can send the page key; EventSource can't. States: starting → live ⇄ lost,
 * and refused, which ends it. After a lost connection it resumes after the last delivered event, so no event is missed.
 */
export interface LedgerEvent {
  readonly seq: number;
  readonly at: string;
  readonly operation: string;
  readonly subject: string | null;
  readonly actor: {
    readonly kind: string;
    readonly agentId: string | null;
    readonly sessionId: string | null;
    readonly personId: string | null;
  };
  readonly data: Readonly<Record<string, unknown>>;
}

export type FeedState = "starting" | "live" | "lost" | "refused";

export interface FeedNews {
  readonly company: string;
  readonly state: FeedState;
  /** When the connection was lost. */
  readonly since: number | null;
  /** The number of the last delivered event. */
  readonly cursor: number;
  readonly events: readonly LedgerEvent[];
  /** True if there were events before the cursor that this tab does not get. */
  readonly hasGap: boolean;
}

export interface FeedStart {
  readonly company: string;
  readonly after: number;
  readonly pageKey: string;
}

/** Reads until the signal aborts. `tell` gets every change of state and every batch of events. */
export async function readFeed(
  { company, after, pageKey }: FeedStart,
  signal: AbortSignal,
  tell: (news: FeedNews) => void,
): Promise<void> {
  let cursor = after;
  let since: number | null = null;
  let wait = firstWait;
  const say = (state: FeedState, events: readonly LedgerEvent[] = []): void =>
    tell({ company, state, since, cursor, events, hasGap: false });
  while (!signal.aborted) {
    const attempt = new AbortController();
    const stop = (): void => attempt.abort();
    signal.addEventListener("abort", stop);
    // The daemon sends something every 15 seconds. If a connection is silent for longer, it is dead.
    let silence = setTimeout(stop, silenceMilliseconds);
    try {
      const response = await fetch(`/api/events?company=${encodeURIComponent(company)}&after=${cursor}`, {
        headers: { "x-agency-page": pageKey, accept: "text/event-stream" },
        signal: attempt.signal,
        cache: "no-store",
      });
      if (response.status === 401 || response.status === 403) return say("refused");
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
      since = null;
      wait = firstWait;
      say("live");
      let rest = "";
      for await (const chunk of decodedText(response.body)) {
        clearTimeout(silence);
        silence = setTimeout(stop, silenceMilliseconds);
        const parts = (rest + chunk).split("\n\n");
        rest = parts.pop() ?? "";
        const events = parts.flatMap(eventIn).filter(({ seq }) => seq > cursor);
        cursor = events.at(-1)?.seq ?? cursor;
        if (events.length > 0) say("live", events);
      }
    } catch {
      // Every failure is handled in the same way: wait, then resume.
    } finally {
      clearTimeout(silence);
      signal.removeEventListener("abort", stop);
    }
    if (signal.aborted) return;
    since ??= Date.now();
    say("lost");
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, longestWait);
  }
}

const firstWait = 500;
const longestWait = 5000;
const silenceMilliseconds = 40_000;

export async function* decodedText(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}

function eventIn(part: string): LedgerEvent[] {
  const data = part.split("\n").find((line) => line.startsWith("data: "));
  if (data === undefined) return [];
  const event: LedgerEvent = JSON.parse(data.slice("data: ".length));
  return [event];
}
