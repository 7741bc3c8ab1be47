import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { constants, createGzip } from "node:zlib";
import { z } from "zod";
import { isBatched } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { check, sentencesOf } from "../contract/problems.ts";
import { invalid, notFound, Refusal, refusalCodes } from "../contract/refusal.ts";
import { JsonObject } from "../contract/words.ts";
import { KeptAnswer } from "../dispatch/kept-answers.ts";
import { readJson, roomFor } from "./body.ts";
import type { Account } from "./callers.ts";
import { credentialOf, followedBy, positionIn } from "./credential.ts";
import { goneWith } from "./answering.ts";
import { type DoorParts, headerOf, holding, type OtherDoor } from "./http.ts";
import { batchOfReadsOnly, bodyNotDeclared, howToBatch, internalError, noSuchBatch } from "./texts.ts";
import { takesGzip } from "./encodings.ts";

/**
 * Several reads in one request: `POST /api/batch` with `{"calls": [{"operation": "attention.view", "input": {…}}]}`. Each call
 * passes the gates of a separate request: it is admitted and counted, waits for its turn, and is dispatched with the caller's
 * credential and position. An answer is sent as soon as it is ready, as one line of JSON, so a slow call holds up no other.
 * `at` says which call it answers:
 *
 *   {"at": 1, "status": 200, "seq": 41, "output": {…}}      {"at": 0, "status": 404, "error": {…}}
 */
export interface BatchParts extends DoorParts {
  readonly admit: (token: string | undefined, socket: Socket) => Promise<Account>;
}

const mostCalls = 20;

const Batch = z.strictObject({
  calls: z
    .array(z.strictObject({ operation: z.string().max(100), input: JsonObject.optional() }))
    .min(1)
    .max(mostCalls),
});
type Call = z.infer<typeof Batch>["calls"][number];

const byName = new Map(operations.map((operation) => [operation.name, operation]));

export function batchDoor(parts: BatchParts): OtherDoor {
  return {
    prefix: "/api/batch",
    handle: async (request, response, url, account) => {
      const token = credentialOf(request);
      await parts.authenticate(token);
      if (url.pathname !== "/api/batch" || request.method !== "POST") throw noSuchBatch();
      const held = holding(account, response);
      const body = await readJson(request, roomFor([], parts.limits), held);
      if (!/^application\/json\b/i.test(headerOf(request, "content-type") ?? "")) throw bodyNotDeclared();
      const batch = check(Batch, body);
      if ("problems" in batch) throw invalid(sentencesOf(batch.problems), howToBatch);
      const line = lines(request, response);
      const caller = {
        token,
        as: positionIn(request),
        follows: followedBy(request),
        trace: headerOf(request, "traceparent"),
        gone: goneWith(response),
        socket: request.socket,
      };
      await Promise.all(
        batch.data.calls.map(async (call, at) => line.write(at, await answerTo(parts, call, caller, at))),
      );
      line.end();
    },
  };
}

interface BatchCaller {
  readonly token: string | undefined;
  readonly as: string | undefined;
  readonly follows: string | undefined;
  readonly trace: string | undefined;
  readonly gone: AbortSignal;
  readonly socket: Socket;
}

/** The part after `at` in the line of an answer. */
async function answerTo(
  parts: BatchParts,
  call: Call,
  { socket, ...caller }: BatchCaller,
  at: number,
): Promise<string> {
  let seq: number | undefined;
  try {
    const operation = byName.get(call.operation);
    if (operation === undefined) throw notFound("operation", call.operation);
    if (!isBatched(operation)) throw batchOfReadsOnly(operation.name);
    // The request itself was admitted once, which counts as its first call.
    if (at > 0) await parts.admit(caller.token, socket);
    const whole = await parts.dispatch({
      ...caller,
      operation,
      input: call.input ?? {},
      reflects: (number) => (seq = number),
      takesText: true,
    });
    const text = whole instanceof KeptAnswer ? whole.bytes.toString() : JSON.stringify(whole);
    return `"status":200,${seq === undefined ? "" : `"seq":${seq},`}"output":${text}`;
  } catch (error) {
    const isRefusal = error instanceof Refusal;
    const body = isRefusal
      ? error.toBody()
      : internalError(parts.reportBug(error, `batch ${call.operation}`));
    return `"status":${isRefusal ? refusalCodes[error.code].http : 500},${JSON.stringify(body).slice(1, -1)}`;
  }
}

/** Writes the lines, each sent at once. They are compressed for a client that accepts it. */
function lines(request: IncomingMessage, response: ServerResponse) {
  const isPacked = takesGzip(headerOf(request, "accept-encoding"));
  response.writeHead(200, {
    "content-type": "application/x-ndjson; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-accel-buffering": "no",
    vary: "accept-encoding",
    ...(isPacked && { "content-encoding": "gzip" }),
  });
  const packing = isPacked ? createGzip({ level: constants.Z_BEST_SPEED }) : undefined;
  packing?.pipe(response);
  return {
    write: (at: number, rest: string): void => {
      if (response.destroyed) return;
      (packing ?? response).write(`{"at":${at},${rest}}\n`);
      packing?.flush();
    },
    end: () => (packing ?? response).end(),
  };
}
