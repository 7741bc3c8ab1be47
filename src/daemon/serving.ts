import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { OtherDoor } from "../doors/http.ts";
import type { Store } from "../store/store.ts";
import type { Server as HttpServer } from "node:http";

/**
 * Resolves after a commit of this node, at most 5 times a second. Also resolves after a second, because another node may have
 * committed.
 */
export async function somethingChanged(store: Store, closing: AbortSignal): Promise<void> {
  const pause = (milliseconds: number) =>
    sleep(milliseconds, undefined, { ref: false, signal: closing }).catch(() => undefined);
  const committed = Promise.withResolvers<void>();
  await pause(200);
  const forget = store.onCommit(() => committed.resolve());
  await Promise.race([committed.promise, pause(1000)]);
  forget();
}

export function listeningOn(address: string | AddressInfo | null): AddressInfo {
  if (address === null || typeof address === "string")
    throw new Error("The HTTP server is not listening on a port.");
  return address;
}

/** A door that is loaded with its first request, which makes start-up faster. */
export function lazily(prefix: string, load: () => Promise<OtherDoor>): OtherDoor {
  let door: Promise<OtherDoor> | undefined;
  return {
    prefix,
    handle: async (...given) => (await (door ??= load())).handle(...given),
  };
}

/** Running calls are still answered, for up to 5 seconds. Connections without a call are closed immediately. */
export async function closeDoor(server: HttpServer): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // A connection becomes idle when its last call is answered. Its client would keep it open.
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  const cut = setTimeout(() => server.closeAllConnections(), 5000);
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
}
