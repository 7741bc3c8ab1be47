import { viewSession, viewTranscript } from "../contract/sessions.ts";
import { notFound } from "../contract/refusal.ts";
import { authenticate } from "../dispatch/identity.ts";
import type { Store } from "../store/store.ts";
import { credentialOf, positionIn } from "./credential.ts";
import { goneWith } from "./answering.ts";
import type { OtherDoor } from "./http.ts";
import { sentEvents } from "./sent-events.ts";
import { boardFollowsTranscripts } from "./texts.ts";
import { startOf } from "./stream.ts";
import type { PatientDispatch } from "./waiting.ts";

/** How often a running session is read, in milliseconds. */
const every = 300;

/**
 * Server-sent events for people at `/api/sessions/<id>/transcript/stream?after=<next>`: what a session has said and done since,
 * then live. Each message has the entries and the place where the next part begins (also as its id, for Last-Event-ID). The
 * last message says that the session has ended; then the stream ends. Agents read parts instead, because each of their readings
 * is recorded.
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
      let at = given;
      let part = await look(at);
      const ended = await account.listen(request.socket);
      response.once("close", ended);
      const events = sentEvents(response, gone);
      try {
        for (;;) {
          // A long transcript comes in several parts. Its end is reported after the last one.
          const isAll = at === "now" || part.next === at;
          const { entries, next } = part;
          const [endedAt, endReason] = isAll ? [part.endedAt, part.endReason] : [null, null];
          if (entries.length > 0 || endedAt !== null)
            await events.send(next, { entries, next, endedAt, endReason });
          if (endedAt !== null || gone.aborted) return;
          if (isAll) await sleep(every);
          if (gone.aborted) return;
          at = next;
          part = await look(at);
        }
      } catch {
        // The credential has ended, or its person can no longer see the session.
      } finally {
        events.end();
      }
    },
  };
}
