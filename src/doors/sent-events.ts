import { once } from "node:events";
import type { ServerResponse } from "node:http";

/** Proxies and browsers close a connection that is silent for long. */
const beatEvery = 15_000;

/** An answer of server-sent events. It starts at once and is kept alive until it ends. */
export interface SentEvents {
  /** Sends an event. Waits while the reader is behind. */
  readonly send: (id: number, data: unknown) => Promise<void>;
  readonly end: () => void;
}

export function sentEvents(response: ServerResponse, gone: AbortSignal): SentEvents {
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  response.write(": follows\n\n");
  const beat = setInterval(() => response.write(": beat\n\n"), beatEvery);
  return {
    send: async (id, data) => {
      if (!response.write(`id: ${id}\ndata: ${JSON.stringify(data)}\n\n`))
        await once(response, "drain", { signal: gone }).catch(() => undefined);
    },
    end: () => {
      clearInterval(beat);
      response.end();
    },
  };
}
