import { once } from "node:events";
import { createServer, type Server } from "node:net";
import type { Resolve } from "../capabilities/hosts.ts";
import { isLoopback } from "../doors/host.ts";

/** A name that leads only to this machine. Browsers keep its cookies apart from those of other programs on 127.0.0.1. */
const localName = "agency.localhost";

export interface LocalName {
  /** The beginning of links to this daemon. Undefined if they use the plain address. */
  readonly origin: string | undefined;
  stop(): void;
}

/**
 * Uses the name for a daemon on 127.0.0.1 if the machine resolves it. For such a name, browsers try [::1] first. Another
 * program that listens there would get the sign-in codes. So the daemon listens there as well, or does without the name.
 */
export async function takeLocalName(
  { address, port }: { readonly address: string; readonly port: number },
  resolve: Resolve | undefined,
  onDoor: (door: Server) => void,
): Promise<LocalName> {
  const plain: LocalName = { origin: undefined, stop: () => undefined };
  if (resolve === undefined || address !== "127.0.0.1") return plain;
  const addresses = await resolve(localName).catch(() => []);
  if (addresses.length === 0 || !addresses.every(isLoopback)) return plain;
  const origin = `http://${localName}:${port}`;
  const door = createServer();
  onDoor(door);
  try {
    door.listen(port, "::1");
    await once(door, "listening");
  } catch (error) {
    // If the machine has no [::1], no other program can listen there.
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT" ? { ...plain, origin } : plain;
  }
  return { origin, stop: () => void door.close() };
}
