import { once } from "node:events";
import { createServer, type Server } from "node:net";
import type { Resolve } from "../capabilities/hosts.ts";
import { isLoopback } from "../doors/host.ts";

/** A name that leads to this machine only. Browsers keep its cookies apart from those of other programs on 127.0.0.1. */
const localName = "agency.localhost";

export interface LocalName {
  /** What links to this daemon begin with. Undefined: they have the plain address. */
  readonly origin: string | undefined;
  stop(): void;
}

/**
 * Takes the name for a daemon on 127.0.0.1 where the machine resolves it. For such a name, browsers try [::1] first. Another
 * program that listens there would get the sign-in codes, so the daemon takes that place as well or does without the name.
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
    // Where the machine has no [::1], no one else can listen there.
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT" ? { ...plain, origin } : plain;
  }
  return { origin, stop: () => void door.close() };
}
