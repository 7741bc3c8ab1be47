import { once } from "node:events";
import { viewSession, viewTranscript } from "../contract/sessions.ts";
import { notFound } from "../contract/refusal.ts";
import { authenticate } from "../dispatch/identity.ts";
import type { Store } from "../store/store.ts";
import { credentialOf, positionIn } from "./credential.ts";
import { goneWith, type OtherDoor } from "./http.ts";
import { boardFollowsTranscripts } from "./texts.ts";
import { startOf } from "./stream.ts";
import type { PatientDispatch } from "./waiting.ts";

/** How often a running session is looked at. */
const every = 300;

/**
 * Server-sent events for people at `/api/sessions/<id>/transcript/stream?after=<next>`: what a session has said and done since,
 * then live. Each message has the entries, where the next part begins (also as its id, for Last-Event-ID), and whether the
 * session has ended. The stream ends with the session. Agents read parts: every reading of theirs is on record.
 */
export function transcriptStream(
  store: Store,
  dispatch: PatientDispatch,
  closing: AbortSignal,
  sleep: (milliseconds: number) => Promise<void>,
): OtherDoor {
  return {
    prefix: "/api/sessions",
    handle: async (request, response, url, account) => {
      const [token, as] = [credentialOf(request), positionIn(request)];
      const { actor } = await store.read((tx) => authenticate(tx, token, as));
      const [, id] = /^\/api\/sessions\/([^/]+)\/transcript\/stream$/.exec(url.pathname) ?? [];
      if (id === undefined || request.method !== "GET")
        throw notFound("route", `${request.method ?? ""} ${url.pathname}`.slice(0, 200));
      if (actor.kind !== "board") throw boardFollowsTranscripts();
      const given = startOf(request, url);
      const gone = AbortSignal.any([goneWith(response), closing]);
      const look = async (after: number | "now") => {
        const session = viewSession.output.parse(
          await dispatch({ operation: viewSession, token, as, input: { id } }),
        );
        const at = after === "now" ? {} : { after };
        const part = viewTranscript.output.parse(
          await dispatch({ operation: viewTranscript, token, as, input: { id, ...at } }),
        );
        const { endedAt, endReason } = session;
        return { entries: after === "now" ? [] : part.entries, next: part.next, endedAt, endReason };
      };
      let part = await look(given);
      const ended = await account.listen(request.socket);
      response.once("close", ended);
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      });
      response.write(": follows\n\n");
      const beat = setInterval(() => response.write(": beat\n\n"), 15_000);
      try {
        for (;;) {
          const isNews = part.entries.length > 0 || part.endedAt !== null;
          if (isNews && !response.write(`id: ${part.next}\ndata: ${JSON.stringify(part)}\n\n`))
            await once(response, "drain", { signal: gone }).catch(() => undefined);
          if (part.endedAt !== null || gone.aborted) return;
          await sleep(every);
          if (gone.aborted) return;
          part = await look(part.next);
        }
      } catch {
        // The credential has ended, or its person may no longer see the session.
      } finally {
        clearInterval(beat);
        response.end();
      }
    },
  };
}
