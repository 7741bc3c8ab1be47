import { type ChildProcess, spawn } from "node:child_process";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { ProviderConfig } from "../contract/providers.ts";

/** The daemon's side of the courier (courier-process.ts), which runs only while models are asked. */
export interface Courier {
  /** Starts the courier before the first call, because starting takes a moment. */
  wake(): void;
  /** Asks the provider like `fetch`. The courier hears the answer to its end, even if the caller stops waiting. */
  fetchFor(call: CarriedCall): typeof fetch;
  /** Stops the courier after its last call is answered. */
  stop(): void;
}

export interface CarriedCall {
  readonly id: string;
  readonly config: Pick<ProviderConfig, "dialect" | "login">;
  readonly path: string;
}

export const CourierOrder = z.object({
  id: z.string(),
  url: z.string(),
  method: z.string(),
  config: z.object({ dialect: z.enum(["anthropic", "openai"]), login: z.literal("codex").exactOptional() }),
  path: z.string(),
  headers: z.record(z.string(), z.string()),
});
export const Answered = z.object({
  status: z.number().exactOptional(),
  headers: z.array(z.tuple([z.string(), z.string()])).exactOptional(),
  failed: z.string().exactOptional(),
});
export type Answered = z.infer<typeof Answered>;

/** The most bytes on their way to a slow reader. */
export const windowSize = 1024 * 1024;
const idleMilliseconds = 60_000;
const program = fileURLToPath(
  new URL(`../gateway/courier-process${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
);

interface Line {
  readonly child: ChildProcess;
  readonly session: ClientHttp2Session;
}

export function keepCourier(folder: string): Courier {
  let line: Line | undefined;
  let idle: NodeJS.Timeout | undefined;
  let carrying = 0;

  function start(): Line {
    // Detached: a signal that ends the daemon's process group must not end the courier.
    const child = spawn(process.execPath, ["--max-old-space-size=256", program, folder], {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
      detached: true,
      env: proxied(),
    });
    child.unref();
    const pipe = child.stdio[3];
    if (!(pipe instanceof Socket)) throw new Error("the courier has no pipe");
    pipe.on("error", () => undefined);
    pipe.unref();
    // Loaded with the first call of a model: it takes 8 MB.
    const { connect } = process.getBuiltinModule("node:http2");
    const session = connect("http://courier", {
      createConnection: () => pipe,
      settings: { initialWindowSize: windowSize },
    });
    session.on("error", () => undefined);
    const next = { child, session };
    const over = (): void => {
      session.destroy();
      if (line === next) line = undefined;
    };
    child.once("error", over);
    child.once("exit", over);
    session.once("close", over);
    return next;
  }

  const stop = (): void => {
    clearTimeout(idle);
    line?.session.destroy();
    line = undefined;
  };
  const wake = (): Line => {
    clearTimeout(idle);
    idle = undefined;
    return (line ??= start());
  };
  const rest = (): void => {
    clearTimeout(idle);
    if (carrying > 0) return;
    idle = setTimeout(stop, idleMilliseconds);
    idle.unref();
  };

  return {
    wake: () => {
      wake();
      rest();
    },
    stop,
    fetchFor:
      ({ id, config, path }) =>
      async (input, init = {}) => {
        const { method = "GET", body = null, signal } = init;
        signal?.throwIfAborted();
        const { dialect, login } = config;
        const order: z.infer<typeof CourierOrder> = {
          id,
          url: input instanceof Request ? input.url : input.toString(),
          method,
          config: { dialect, ...(login === undefined ? {} : { login }) },
          path,
          headers: Object.fromEntries(new Headers(init.headers)),
        };
        const stream = wake().session.request(
          { ":method": "POST", order: encodeURIComponent(JSON.stringify(order)) },
          { endStream: false },
        );
        carrying += 1;
        const drop = (): void => void stream.destroy();
        signal?.addEventListener("abort", drop);
        stream.once("close", () => {
          signal?.removeEventListener("abort", drop);
          carrying -= 1;
          rest();
        });
        stream.end(typeof body === "string" ? body : undefined);
        return answerOf(stream);
      },
  };
}

async function answerOf(stream: ClientHttp2Stream): Promise<Response> {
  let isWhole = false;
  stream.once("trailers", ({ whole }) => (isWhole = whole === "true"));
  const closed = new Promise<void>((resolve) => stream.once("close", resolve));
  const { status, headers, failed } = await new Promise<Answered>((resolve, reject) => {
    stream.once("response", ({ answered }) =>
      resolve(Answered.parse(JSON.parse(decodeURIComponent(String(answered))))),
    );
    stream.on("error", reject);
    void closed.then(() => reject(new Error("the courier ended")));
  });
  if (status === undefined) {
    stream.destroy();
    throw new Error(failed ?? "the courier failed");
  }
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) yield chunk;
    await closed;
    if (!isWhole) throw new Error("the answer was cut off");
  }
  const body = status === 204 || status === 304 ? null : ReadableStream.from(chunks());
  return new Response(body, { status, headers: headers ?? [] });
}

/** The variables for proxies and certificates. The courier gets no others. */
function proxied(): Record<string, string> {
  const names =
    /^(https?_proxy|no_proxy|all_proxy|node_use_env_proxy|node_extra_ca_certs|ssl_cert_(file|dir))$/i;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      names.test(name) && value !== undefined ? [[name, value]] : [],
    ),
  );
}
