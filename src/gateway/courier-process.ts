/**
 * A process beside the daemon that asks the models. The daemon decides what is asked and hears every answer from here. If the
 * daemon is killed, this process hears the answers to their ends, so what they used is known to the next daemon.
 *
 *   a call arrives ──▶ its file is written ──▶ the provider is asked ──answered──▶ the file says what was used
 *   the daemon is gone (its pipe closes) ──▶ no call arrives any more ──the last one is answered──▶ this process ends
 *
 * The daemon removes a file when the call is booked. So a file without an end belongs to a call that is being answered, or this
 * process was killed as well.
 */
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { type CallEnd, callEnd } from "./call-files.ts";
import { Order, type Answered, windowSize } from "./courier.ts";
import { endpointOf } from "./dialects.ts";
import { eventsIn } from "./server-events.ts";

const folder = process.argv[2] ?? "";
/** As long as the gateway waits. */
const patience = 15 * 60_000;
let open = 0;
let isLeft = false;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
const daemon = new Socket({ fd: 3 });
daemon.on("error", () => undefined);
daemon.once("close", () => {
  isLeft = true;
  leave();
});
const server = createServer({ settings: { initialWindowSize: windowSize } });
server.on("sessionError", () => undefined);
server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  stream.on("error", () => undefined);
  open += 1;
  void carry(stream, headers)
    .catch((error: unknown) => {
      answer(stream, { failed: String(error) });
      stream.end();
    })
    .finally(() => {
      open -= 1;
      leave();
    });
});
server.emit("connection", daemon);

function leave(): void {
  if (isLeft && open === 0) process.exit(0);
}

async function carry(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
  const {
    id,
    url,
    method,
    config,
    path,
    headers: asks,
  } = Order.parse(JSON.parse(decodeURIComponent(String(headers["order"]))));
  const body = await buffer(stream);
  // The daemon was killed before it had said everything.
  if (stream.aborted) return;
  write(id, {});
  const listener = endpointOf(config, method, path)?.listens?.();
  let status: CallEnd["status"] = "failed";
  let isWhole = false;
  // A stream that is broken off ends like any other. Only this says that it has everything.
  stream.once("wantTrailers", () => stream.sendTrailers({ whole: String(isWhole) }));
  try {
    const found = await fetch(url, {
      method,
      headers: asks,
      body,
      redirect: "error",
      signal: AbortSignal.timeout(patience),
    });
    if (found.ok) status = "cut";
    // Now, because the daemon may ask again at once.
    else record();
    answer(stream, { status: found.status, headers: [...found.headers] });
    const events = eventsIn(found.headers.get("content-type") ?? "", (data) => listener?.heard(data));
    for await (const chunk of found.body ?? []) {
      events.write(chunk);
      await send(stream, chunk);
    }
    events.end();
    if (found.ok) {
      status = "done";
      record();
    }
    isWhole = true;
  } catch (error) {
    if (status === "cut" || !stream.headersSent) record();
    answer(stream, { failed: String(Object(error).cause ?? error) });
  } finally {
    stream.end();
  }

  function record(): void {
    write(id, { end: callEnd(status, listener) });
  }
}

function answer(stream: ServerHttp2Stream, answered: Answered): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond({ answered: encodeURIComponent(JSON.stringify(answered)) }, { waitForTrailers: true });
}

/** Waits until the daemon takes more. A daemon that is gone takes nothing. */
async function send(stream: ServerHttp2Stream, chunk: Uint8Array): Promise<void> {
  if (stream.destroyed || stream.write(chunk)) return;
  await new Promise<void>((resolve) => {
    stream.once("drain", resolve);
    stream.once("close", resolve);
  });
}

/** In one step: the next daemon may read it at any moment. */
function write(id: string, more: { readonly end?: CallEnd }): void {
  const file = join(folder, id);
  const made = `${file}.new`;
  try {
    writeFileSync(made, JSON.stringify({ pid: process.pid, ...more }), { mode: 0o600 });
    renameSync(made, file);
  } catch (error) {
    rmSync(made, { force: true });
    // A call that leaves no trace is not made. The end of one is noted by the daemon as well, if it is there.
    if (more.end === undefined) throw error;
  }
}
