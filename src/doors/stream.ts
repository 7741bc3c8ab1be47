import type { IncomingMessage } from "node:http";
import { companyNamed } from "../dispatch/dispatch.ts";
import { authenticate } from "../dispatch/identity.ts";
import { follow } from "../events/follow.ts";
import { presentEvent, seenSoFar } from "../events/ledger.ts";
import type { Store } from "../store/store.ts";
import { credentialOf, positionIn } from "./credential.ts";
import type { OtherDoor } from "./http.ts";
import { sentEvents } from "./sent-events.ts";
import { boardFollowsOnly, noSuchStream, notASequence } from "./texts.ts";

/**
 * Server-sent events for the board at `/api/events?after=<seq>&company=<id>`: every event of the company after the given one,
 * in order and without gaps, then live. `after=now` starts with the next event. Events have no SSE name; `data` has the
 * operation. `company=installation` follows the chain of the installation. A reader that reconnects sends Last-Event-ID, as
 * browsers do automatically.
 */
export function eventStream(
  store: Store,
  closing: AbortSignal,
  sleep: (milliseconds: number) => Promise<void>,
): OtherDoor {
  return {
    prefix: "/api/events",
    handle: async (request, response, url) => {
      const demandBoard = async (): Promise<void> => {
        const { actor } = await store.read((tx) =>
          authenticate(tx, credentialOf(request), positionIn(request)),
        );
        if (actor.kind !== "board") throw boardFollowsOnly();
      };
      await demandBoard();
      if (url.pathname !== "/api/events" || request.method !== "GET") throw noSuchStream();
      const named = url.searchParams.get("company") ?? url.searchParams.get("companyId") ?? undefined;
      const companyId = named === "installation" ? "" : await store.read((tx) => companyNamed(tx, named));
      const start = startOf(request, url);
      const after = start === "now" ? ((await store.read(seenSoFar)).get(companyId) ?? 0) : start;
      const gone = new AbortController();
      response.on("close", () => gone.abort());
      const events = sentEvents(response, gone.signal);
      // The credential may end, or its person may lose the board role.
      const check = setInterval(() => void demandBoard().catch(() => gone.abort()), 1000);
      try {
        await follow(
          store,
          { companyId, after, signal: AbortSignal.any([gone.signal, closing]), sleep },
          async (row) => {
            const event = presentEvent(row);
            await events.send(event.seq, event);
          },
        );
      } finally {
        clearInterval(check);
        events.end();
      }
    },
  };
}

/** Where a reader wants to begin: after the last event it has, or now. */
export function startOf(request: IncomingMessage, url: URL): number | "now" {
  const given = request.headers["last-event-id"] ?? url.searchParams.get("after") ?? "0";
  if (given === "now") return given;
  if (typeof given !== "string" || !/^\d{1,15}$/.test(given)) throw notASequence();
  return Number(given);
}
