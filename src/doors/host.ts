import { isIP } from "node:net";
import type { IncomingMessage } from "node:http";
import { foreignOrigin, unknownHost } from "./texts.ts";

/**
 * A web page can make a browser send requests to loopback (DNS rebinding, cross-site requests). The Host header must
 * therefore be a name of the daemon. An Origin header, which browsers send and programs don't, must be the daemon's own.
 * What a proxy says in other headers (X-Forwarded-Host) does not count: any caller can send them.
 */
export function checkHostAndOrigin(
  request: IncomingMessage,
  origins: readonly string[],
  underAnyName = false,
): void {
  const host = request.headers.host?.toLowerCase();
  // Of several Host headers, Node keeps the first. Others on the way may have decided by another one.
  const isOnly =
    request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host").length < 2;
  const own = isOnly ? origins.find((known) => hostOf(known) === host) : undefined;
  if (own !== undefined) asked.set(request, own);
  else if (!underAnyName) throw unknownHost(origins);
  const { origin } = request.headers;
  if (origin !== undefined && !origins.includes(origin.toLowerCase())) throw foreignOrigin();
}

/**
 * What proxies and monitors ask of each node, under the name that they have for its machine. A page that reaches the daemon under a
 * foreign name learns nothing from it: the health shows it no more than "ok", and no browser adds a bearer token by itself. A
 * page would have to know the token.
 */
export function isAskedUnderAnyName({ method = "GET", headers }: IncomingMessage, path: string): boolean {
  if (path === "/api/health") return method === "GET" || method === "HEAD";
  return path === "/metrics" && method === "GET" && headers.authorization !== undefined;
}

/** Under which of its origins the daemon was asked. Every request is checked first. */
const asked = new WeakMap<IncomingMessage, string>();
export const isAskedByName = (request: IncomingMessage): boolean => asked.has(request);
export const askedOrigin = (request: IncomingMessage): string =>
  asked.get(request) ?? `http://${request.headers.host?.toLowerCase() ?? ""}`;

const hostOf = (origin: string): string => origin.replace(/^https?:\/\//, "");

/** What comes with a cookie must come from a page of this very origin. Programs send neither header. */
export function checkPage(request: IncomingMessage): void {
  const { origin, "sec-fetch-site": site } = request.headers;
  if (origin !== undefined && origin.toLowerCase() !== askedOrigin(request)) throw foreignOrigin();
  if (site !== undefined && site !== "same-origin") throw foreignOrigin();
}

/** The origins of a daemon that listens on this address and port: those of its machine, and those it was given. */
export function originsFor(address: string, port: number, given: readonly string[] = []): string[] {
  const names = new Set(["127.0.0.1", "localhost", "[::1]", "agency.localhost"]);
  const own = isUnspecified(address) ? [] : [bracketed(address)];
  return [...new Set([...own, ...names])].map((name) => `http://${name}:${port}`).concat(given);
}

/** Where programs of this machine reach it. */
export const ownUrl = (address: string, port: number): string =>
  `http://${isUnspecified(address) ? "127.0.0.1" : bracketed(address)}:${port}`;

export const isLoopback = (address: string): boolean =>
  address === "::1" || (isIP(address) === 4 && address.startsWith("127."));

const isUnspecified = (address: string): boolean => address === "0.0.0.0" || address === "::";
const bracketed = (address: string): string => (address.includes(":") ? `[${address}]` : address);
