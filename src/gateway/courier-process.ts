/**
 * A process beside the daemon that asks the models. The daemon decides which requests are sent and hears every answer from this
 * process. If the daemon is killed, this process hears the answers to their ends, so the next daemon knows their usage.
 *
 *   a call arrives ──▶ its file is written ──▶ the provider is asked ──answered──▶ its usage is in the file
 *   the daemon is gone (its pipe closes) ──▶ no new call arrives ──the last one is answered──▶ this process ends
 *
 * The daemon removes a file when the call is booked. So a file without an end belongs to a call that is being answered, unless
 * this process was killed as well.
 */
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { type CallEnd, callEnd } from "./call-files.ts";
import { CourierOrder, type Answered, windowSize } from "./courier.ts";
import { endpointOf } from "./dialects.ts";
import { eventsIn } from "./server-events.ts";

const folder = process.argv[2] ?? "";
/** The gateway waits as long. */
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
  } = CourierOrder.parse(JSON.parse(decodeURIComponent(String(headers["order"]))));
  const body = await buffer(stream);
  // The daemon was killed before it had sent the whole request.
  if (stream.aborted) return;
  write(id, {});
  const listener = endpointOf(config, method, path)?.listens?.();
  let status: CallEnd["status"] = "failed";
  let isWhole = false;
  // A stream that breaks off looks as if it had ended. Only this trailer says that the answer is whole.
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
    // Record the end now, because the daemon may ask again at once.
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
    answer(stream, { failed: String((error instanceof Error ? error.cause : undefined) ?? error) });
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

/** Sends a chunk and waits until the daemon takes more. If the daemon is gone, the chunk is dropped. */
async function send(stream: ServerHttp2Stream, chunk: Uint8Array): Promise<void> {
  if (stream.destroyed || stream.write(chunk)) return;
  await new Promise<void>((resolve) => {
    stream.once("drain", resolve);
    stream.once("close", resolve);
  });
}

/** Replaces the file in one step, because the next daemon may read it at any moment. */
function write(id: string, more: { readonly end?: CallEnd }): void {
  const file = join(folder, id);
  const made = `${file}.new`;
  try {
    writeFileSync(made, JSON.stringify({ pid: process.pid, ...more }), { mode: 0o600 });
    renameSync(made, file);
  } catch (error) {
    rmSync(made, { force: true });
    // Without a file, no call may be made. The daemon notes the end as well, if it still runs.
    if (more.end === undefined) throw error;
  }
}
