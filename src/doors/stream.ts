import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { companyNamed } from "../dispatch/dispatch.ts";
import { authenticate } from "../dispatch/identity.ts";
import { follow } from "../events/follow.ts";
import { presentEvent } from "../events/ledger.ts";
import type { Store } from "../store/store.ts";
import { bearer, type OtherDoor } from "./http.ts";
import { boardFollowsOnly, noSuchStream, notASequence } from "./texts.ts";

/**
 * Server-sent events for the board at `/api/events?after=<seq>&company=<id>`: every event of the company after the given one,
 * in order and without gaps, then live. `company=installation` follows the chain of the installation. A reader that reconnects sends Last-Event-ID, as browsers do automatically.
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
      const named = url.searchParams.get("company") ?? url.searchParams.get("companyId") ?? undefined;
      const companyId = named === "installation" ? "" : await store.read((tx) => companyNamed(tx, named));
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
            const lines = [`id: ${event.seq}`, `event: ${event.operation}`, `data: ${JSON.stringify(event)}`];
            if (!response.write(`${lines.join("\n")}\n\n`))
              await once(response, "drain", { signal: gone.signal }).catch(() => undefined);
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
): Promise<void> {
  try {
    await store.read((tx) => authenticate(tx, token));
    response.write(": beat\n\n");
  } catch {
    gone.abort();
  }
}

function startOf(request: IncomingMessage, url: URL): number {
  const given = request.headers["last-event-id"] ?? url.searchParams.get("after") ?? "0";
  if (typeof given !== "string" || !/^\d{1,15}$/.test(given)) throw notASequence();
  return Number(given);
}
