import type { FeedStart } from "./feed.ts";
import { FeedHub } from "./feed-hub.ts";

/** The worker that all tabs of the browser share. */
const hub = new FeedHub();

addEventListener("connect", (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  if (port === undefined) return;
  port.addEventListener("message", ({ data }: MessageEvent<FeedStart | "bye">) => hub.take(port, data));
  port.start();
});
