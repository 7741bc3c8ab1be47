import type { IncomingMessage } from "node:http";
import { foreignOrigin, unknownHost } from "./texts.ts";

/**
 * A web page can make a browser send requests to loopback (DNS rebinding, cross-site requests). The Host header must
 * therefore be a name of the daemon. An Origin header, which browsers send and programs don't, must be the daemon's own.
 */
export function checkHostAndOrigin(request: IncomingMessage, hosts: readonly string[]): void {
  const host = request.headers.host?.toLowerCase();
  // Of several Host headers, Node keeps the first. Others on the way may have decided by another one.
  const isOnly =
    request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host").length < 2;
  if (host === undefined || !isOnly || !hosts.includes(host)) throw unknownHost(hosts);
  const { origin } = request.headers;
  if (origin !== undefined && !hosts.some((known) => origin.toLowerCase() === `http://${known}`))
    throw foreignOrigin();
}

/** What comes with a cookie must come from a page of this very host and port. Programs send neither header. */
export function checkPage({ headers }: IncomingMessage): void {
  const { origin, host, "sec-fetch-site": site } = headers;
  if (origin !== undefined && origin.toLowerCase() !== `http://${host?.toLowerCase()}`) throw foreignOrigin();
  if (site !== undefined && site !== "same-origin") throw foreignOrigin();
}

/** The Host values of a daemon that listens on this address and port. */
export function hostsFor(address: string, port: number): string[] {
  const names = new Set([address, "127.0.0.1", "localhost", "[::1]", "agency.localhost"]);
  return [...names]
    .map((name) => (name.includes(":") && !name.startsWith("[") ? `[${name}]` : name))
    .map((name) => `${name}:${port}`);
}
