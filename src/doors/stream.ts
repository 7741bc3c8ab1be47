import type { IncomingMessage, ServerResponse } from "node:http";
import { authenticate, type Caller } from "../dispatch/identity.ts";
import { Refusal } from "../contract/refusal.ts";
import { follow } from "../events/follow.ts";
import { presentEvent } from "../events/ledger.ts";
import type { Store } from "../store/store.ts";
import { bearer, type OtherDoor } from "./http.ts";

/**
 * Server-sent events at `/api/events?after=<seq>&company=<id>`: every event after the given one, in order, none missed,
 * then live. A reader that reconnects sends Last-Event-ID, as browsers do by themselves. For the board.
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
      if (caller.actor.kind !== "board")
        throw new Refusal(
          "forbidden",
          "Only the board follows all events.",
          "read_audit_log shows your own.",
        );
      if (url.pathname !== "/api/events" || request.method !== "GET")
        throw new Refusal("not_found", "There is no such route.", "GET /api/events?after=<sequence number>.");
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

/** Keeps the connection alive, and ends it when the credential does. */
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
  if (typeof given !== "string" || !/^\d{1,15}$/.test(given))
    throw new Refusal(
      "invalid",
      "after must be a sequence number.",
      "Start with after=0, or the last seq you saw.",
    );
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
