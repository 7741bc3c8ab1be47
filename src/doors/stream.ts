import type { IncomingMessage, ServerResponse } from "node:http";
import { authenticate, type Caller } from "../dispatch/identity.ts";
import { follow } from "../events/follow.ts";
import { presentEvent } from "../events/ledger.ts";
import type { Store } from "../store/store.ts";
import { bearer, type OtherDoor } from "./http.ts";
import { boardFollowsOnly, noSuchStream, notASequence } from "./texts.ts";

/**
 * Server-sent events for the board at `/api/events?after=<seq>&company=<id>`: every event after the given one, in order and
 * without gaps, then live. A reader that reconnects sends Last-Event-ID, as browsers do automatically.
 */
export function eventStream(
  store: Store,
  closing: AbortSignal,
  sleep: (milliseconds: number) => Promise<void>,
): OtherDoor {
  return {
    prefix: "/api/events",
    handle: async (request, response, url) => {
      const token = bearer(request);
      const caller = await store.read((tx) => authenticate(tx, token));
      if (caller.actor.kind !== "board") throw boardFollowsOnly();
      if (url.pathname !== "/api/events" || request.method !== "GET") throw noSuchStream();
      const after = startOf(request, url);
      const companyId = url.searchParams.get("company") ?? url.searchParams.get("companyId");
      const gone = new AbortController();
      response.on("close", () => gone.abort());
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      });
      response.write(": follows\n\n");
      const beat = setInterval(() => void stillAllowed(store, token, gone, response), 15_000);
      try {
        await follow(
          store,
          { companyId, after, signal: AbortSignal.any([gone.signal, closing]), sleep },
          async (row) => {
            const event = presentEvent(row);
            if (
              !response.write(
                `id: ${event.seq}\nevent: ${event.operation}\ndata: ${JSON.stringify(event)}\n\n`,
              )
            )
              await drained(response);
          },
        );
      } finally {
        clearInterval(beat);
        response.end();
      }
    },
  };
}

/** Keeps the connection alive, and closes it once the credential is no longer valid. */
async function stillAllowed(
  store: Store,
  token: string | undefined,
  gone: AbortController,
  response: ServerResponse,
): Promise<Caller | undefined> {
  try {
    const caller = await store.read((tx) => authenticate(tx, token));
    response.write(": beat\n\n");
    return caller;
  } catch {
    gone.abort();
    return undefined;
  }
}

function startOf(request: IncomingMessage, url: URL): number {
  const given = request.headers["last-event-id"] ?? url.searchParams.get("after") ?? "0";
  if (typeof given !== "string" || !/^\d{1,15}$/.test(given)) throw notASequence();
  return Number(given);
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
  });
}
