// An attack: what an attacker tries, and what must happen instead. Every class has a separate file. The suites run the rows and
// check the table itself: enough rows, no row twice, no route, tool or text field left out.
import { request } from "node:http";
import { connect } from "node:net";
import type { Daemon } from "../../src/daemon/daemon.ts";
import { allowed } from "../../src/testing/allowed.ts";
import type { World } from "../walk-row.ts";

export const attackClasses = [
  "web page",
  "agent with a key",
  "agent's process",
  "import",
  "flood",
  "tampering",
  "injection",
] as const;
export type AttackClass = (typeof attackClasses)[number];

export interface Attack {
  readonly class: AttackClass;
  /** The goal of the attacker. */
  readonly threat: string;
  readonly attempt: string;
  readonly expected: string;
}

/** A row that runs against a daemon in this process. */
export interface DaemonAttack extends Attack {
  readonly run: (place: Place) => Promise<void>;
}

export interface Place {
  readonly daemon: Daemon;
  readonly world: World;
  /** The root agent of another company. */
  readonly foreign: { readonly token: string; readonly companyId: string; readonly rootId: string };
}

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Sends a request exactly as given. fetch() would set Host, Origin and other headers itself. */
export function send(
  url: string,
  { method = "GET", path = "/", headers = {}, body }: Sent,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const sent = request({ hostname, port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString("utf8"),
        }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Sends bytes over a bare connection and returns everything the daemon answers until the connection ends. */
export function sendBytes(url: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)));
    socket.on("error", reject);
    socket.on("close", () => resolve(Buffer.concat(chunks).toString("utf8")));
    socket.write(bytes);
    // If the daemon waits for more, the connection is closed.
    socket.setTimeout(allowed(3000), () => socket.destroy());
  });
}
