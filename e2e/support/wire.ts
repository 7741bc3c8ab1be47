// Requests that a well-behaved client would not make: byte by byte, with any header, path and body.
import { allowed } from "../../src/testing/allowed.ts";
import { type ClientRequest, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

export interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface Got {
  readonly status: number;
  readonly text: string;
  /** The code of the refusal; undefined without one. MCP's own errors have numbers instead. */
  readonly code: string | undefined;
}

const Refused = z.object({
  error: z.union([
    z.object({ code: z.string(), message: z.string().min(1), hint: z.string().min(1) }),
    z.object({ code: z.number() }),
  ]),
});

/** Unlike fetch, sends exactly the given headers, including Host and Origin. */
export function sendTo(url: string, sent: Sent): Promise<Got> {
  const call = open(url, sent);
  call.end(sent.body);
  return answerTo(call);
}

/** Sends `megabytes` of spaces for as long as the server reads them. Returns the status. */
export async function upload(url: string, sent: Sent, megabytes: number, declared: boolean): Promise<number> {
  const chunk = new Uint8Array(1024 * 1024).fill(0x20);
  const length = { "content-length": String(megabytes * chunk.byteLength) };
  const call = open(url, { ...sent, headers: { ...sent.headers, ...(declared ? length : {}) } });
  let answered = false;
  const answer = answerTo(call).finally(() => (answered = true));
  // A broken connection shows in the answer, or in the lack of one.
  answer.catch(() => undefined);
  for (let count = 0; count < megabytes && !answered; count++)
    if (!call.write(chunk))
      await Promise.race([
        new Promise((resolve) => call.once("drain", resolve)),
        answer.catch(() => undefined),
      ]);
  if (!answered) call.end();
  const { status } = await answer;
  call.destroy();
  return status;
}

/** The request target exactly as given: neither resolved nor escaped. */
export async function statusOf(url: string, target: string, token: string | undefined): Promise<number> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  const credential = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
  socket.end(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${credential}Connection: close\r\n\r\n`);
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? 0);
}

export interface Followed {
  /** Returns the sequence numbers so far once they meet the condition. Fails if they do not within 8 s. */
  until(enough: (seqs: readonly number[]) => boolean): Promise<readonly number[]>;
  /** Resolves when the other side ends the stream normally. Rejects when the stream is cut off. */
  readonly end: Promise<void>;
  close(): Promise<void>;
}

/** Reads `/api/events` as a browser's EventSource does. */
export async function follow(
  url: string,
  token: string,
  search: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Followed> {
  const abort = new AbortController();
  const response = await fetch(new URL(`/api/events${search}`, url), {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: abort.signal,
  });
  if (response.status !== 200 || response.body === null) throw new Error(`answered ${response.status}`);
  const seqs: number[] = [];
  const { body } = response;
  const end = (async () => {
    let text = "";
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const blocks = (text + chunk).split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data === undefined) continue;
        const { seq } = z.object({ seq: z.number() }).parse(JSON.parse(data));
        if (!block.startsWith(`id: ${seq}\n`)) throw new Error(`event ${seq} has another id`);
        seqs.push(seq);
      }
    }
  })();
  end.catch(() => undefined);
  return {
    until: async (enough) => {
      for (const started = performance.now(); !enough(seqs); await sleep(2))
        if (performance.now() - started > allowed(30_000)) throw new Error(`saw only ${seqs.length} events`);
      return [...seqs];
    },
    end,
    close: async () => {
      abort.abort();
      await end.catch(() => undefined);
    },
  };
}

/** Resolves once no server listens there any more. */
export async function refusesConnections(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  for (const started = performance.now(); performance.now() - started < allowed(4000); await sleep(10)) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.destroy();
        resolve(true);
      }).on("error", () => resolve(false));
    });
    if (!isOpen) return;
  }
  throw new Error("it still takes connections");
}

export function open(url: string, { method = "GET", path, token, headers }: Sent): ClientRequest {
  const { hostname, port } = new URL(url);
  return httpRequest({
    hostname,
    port,
    method,
    path,
    agent: false,
    headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
  });
}

export function answerTo(call: ClientRequest): Promise<Got> {
  return new Promise((resolve, reject) => {
    call.on("error", reject).on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("error", reject).on("end", () => {
        const status = response.statusCode ?? 0;
        try {
          const code = status >= 400 && text !== "" ? Refused.parse(JSON.parse(text)).error.code : undefined;
          resolve({ status, text, code: typeof code === "string" ? code : undefined });
        } catch (error) {
          reject(new Error(`answered ${status} ${text.slice(0, 200)}`, { cause: error }));
        }
      });
    });
  });
}
