import type { IncomingMessage } from "node:http";
import { Refusal } from "../contract/refusal.ts";

/**
 * A page on the web can make a browser talk to loopback (DNS rebinding, cross-site requests). So the Host must be one
 * the daemon is known by, and an Origin, which browsers send and programs do not, must be the daemon's own.
 */
export function checkHostAndOrigin(request: IncomingMessage, hosts: readonly string[]): void {
  const host = request.headers.host?.toLowerCase();
  if (host === undefined || !hosts.includes(host))
    throw new Refusal(
      "forbidden",
      "This daemon is not known under that host name.",
      `Use http://${hosts[0] ?? "127.0.0.1"}.`,
    );
  const { origin } = request.headers;
  if (origin !== undefined && !hosts.some((known) => origin.toLowerCase() === `http://${known}`))
    throw new Refusal(
      "forbidden",
      "Requests from other web sites are not answered.",
      "Call the daemon directly.",
    );
}

/** The names of a daemon that listens on this address and port. */
export function hostsFor(address: string, port: number): string[] {
  const names = new Set([address, "127.0.0.1", "localhost", "[::1]"]);
  return [...names]
    .map((name) => (name.includes(":") && !name.startsWith("[") ? `[${name}]` : name))
    .map((name) => `${name}:${port}`);
}
