import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { Refusal, refusalCodes } from "../contract/refusal.ts";
import type { KeptAnswer } from "../dispatch/kept-answers.ts";
import { NotModified } from "../dispatch/not-modified.ts";
import { takesGzip } from "./encodings.ts";
import { internalError } from "./texts.ts";

/** How answers and refusals are sent over HTTP. */

/** A signal that aborts when the client closes the connection before it has its answer. */
export function goneWith(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

export function sendBody(response: ServerResponse, status: number, body: unknown): void {
  sendJson(response, status, JSON.stringify(body));
}

export function sendJson(response: ServerResponse, status: number, text: string): void {
  writeHead(response, status, text);
  response.end(text);
}

/** Sends a long answer compressed to a client that accepts it. Answers kept in memory are compressed only once. */
export async function sendPacked(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Pick<KeptAnswer, "bytes" | "packed">,
): Promise<void> {
  response.setHeader("vary", "accept-encoding");
  const isPacked = answer.bytes.byteLength >= leastPacked && takesGzip(request.headers["accept-encoding"]);
  if (isPacked) answer.packed ??= await pack(answer.bytes, { level: constants.Z_BEST_SPEED });
  const bytes = (isPacked ? answer.packed : undefined) ?? answer.bytes;
  response.writeHead(200, {
    "content-type": "application/json; charset=utf-8",
    ...(isPacked && { "content-encoding": "gzip" }),
    "content-length": bytes.byteLength,
    ...headers,
  });
  response.end(bytes);
}

const pack = promisify<Buffer, { level: number }, Uint8Array>(gzip);
/** Shorter answers fit into a few packets anyway. */
const leastPacked = 8 * 1024;

export function sendText(response: ServerResponse, text: unknown): void {
  response.writeHead(200, { ...headers, "content-type": "text/plain; charset=utf-8" });
  response.end(String(text));
}

const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

function writeHead(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    ...headers,
  });
}

export function fail(
  parts: { readonly reportBug: (error: unknown, about: string) => string },
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  if (error instanceof NotModified) {
    response.writeHead(304, headers);
    response.end();
    return;
  }
  if (error instanceof Refusal) {
    const { retryAfterSeconds } = error.details ?? {};
    if (typeof retryAfterSeconds === "number") response.setHeader("retry-after", retryAfterSeconds);
    const text = JSON.stringify(error.toBody());
    writeHead(response, refusalCodes[error.code].http, text);
    if (request.complete) response.end(text);
    else linger(request, response, text);
    return;
  }
  const id = parts.reportBug(error, `${request.method ?? ""} ${request.url?.split("?")[0] ?? ""}`);
  sendBody(response, 500, internalError(id));
}

/**
 * A client that is refused half-way may still be sending before it reads the answer. If the connection were closed now, the
 * client's next write would fail and it would lose the answer. So the answer is sent whole, and some more of the request is
 * read and dropped. Then the connection waits a few seconds for the client to close it. Reading everything would cost as much
 * as the refusal saves.
 */
function linger(request: IncomingMessage, response: ServerResponse, text: string): void {
  response.write(text);
  const cut = setTimeout(() => request.socket.destroy(), lingerMilliseconds);
  cut.unref();
  let dropped = 0;
  request.on("data", (chunk: Buffer) => {
    dropped += chunk.byteLength;
    if (dropped > mostDropped) request.pause();
  });
  request.resume().once("close", () => {
    clearTimeout(cut);
    response.end();
  });
}

const lingerMilliseconds = 5000;
const mostDropped = 128 * 1024;
