import { isIP } from "node:net";
import type { IncomingMessage } from "node:http";
import { foreignOrigin, unknownHost } from "./texts.ts";

/**
 * A web page can make a browser send requests to loopback (DNS rebinding, cross-site requests). So the Host header must be a
 * name of the daemon. An Origin header, which browsers send and programs don't, must be the daemon's own. Headers of a proxy
 * (X-Forwarded-Host) don't count: any caller can send them.
 */
export function checkHostAndOrigin(
  request: IncomingMessage,
  origins: readonly string[],
  underAnyName = false,
): void {
  const host = request.headers.host?.toLowerCase();
  // Of several Host headers, Node keeps the first. A proxy on the way may have used another one.
  const isOnly =
    request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host").length < 2;
  const own = isOnly ? origins.find((known) => hostOf(known) === host) : undefined;
  if (own !== undefined) asked.set(request, own);
  else if (!underAnyName) throw unknownHost(origins);
  const { origin } = request.headers;
  if (origin !== undefined && !origins.includes(origin.toLowerCase())) throw foreignOrigin();
}

/**
 * Requests of proxies and monitors to each node, under the name that they have for its machine. A page that reaches the daemon
 * under a foreign name learns nothing from them: the health page only says "ok" to it, and no browser adds a bearer token by
 * itself.
 */
export function isAskedUnderAnyName({ method = "GET", headers }: IncomingMessage, path: string): boolean {
  if (path === "/api/health") return method === "GET" || method === "HEAD";
  return path === "/metrics" && method === "GET" && headers.authorization !== undefined;
}

/** The origin under which each request reached the daemon. Every request is checked first. */
const asked = new WeakMap<IncomingMessage, string>();
export const isAskedByName = (request: IncomingMessage): boolean => asked.has(request);
export const askedOrigin = (request: IncomingMessage): string =>
  asked.get(request) ?? `http://${request.headers.host?.toLowerCase() ?? ""}`;

const hostOf = (origin: string): string => origin.replace(/^https?:\/\//, "");

/** A request with a cookie must come from a page of this very origin. Programs send neither header. */
export function checkPage(request: IncomingMessage): void {
  const { origin, "sec-fetch-site": site } = request.headers;
  if (origin !== undefined && origin.toLowerCase() !== askedOrigin(request)) throw foreignOrigin();
  if (site !== undefined && site !== "same-origin") throw foreignOrigin();
}

/** The origins of a daemon that listens on this address and port: those of its machine, and those from its settings. */
export function originsFor(address: string, port: number, given: readonly string[] = []): string[] {
  const names = new Set(["127.0.0.1", "localhost", "[::1]", "agency.localhost"]);
  const own = isUnspecified(address) ? [] : [bracketed(address)];
  return [...new Set([...own, ...names])].map((name) => `http://${name}:${port}`).concat(given);
}

/** The URL for programs on this machine. */
export const ownUrl = (address: string, port: number): string =>
  `http://${isUnspecified(address) ? "127.0.0.1" : bracketed(address)}:${port}`;

export const isLoopback = (address: string): boolean =>
  address === "::1" || (isIP(address) === 4 && address.startsWith("127."));

const isUnspecified = (address: string): boolean => address === "0.0.0.0" || address === "::";
const bracketed = (address: string): string => (address.includes(":") ? `[${address}]` : address);
