import { isIP } from "node:net";
import { isLoopback } from "../doors/host.ts";
import { needsOrigin, notAnAddress, notAnOrigin, plainOrigin } from "./texts.ts";

/**
 * The address on which a daemon listens, and the names under which it is known. Its own machine always reaches it by the names
 * of loopback. On any other address it must be told its origins. Otherwise a page of any name that leads there could act for a
 * person.
 */
export interface Addresses {
  readonly address: string;
  /** Links use the first origin. */
  readonly origins: readonly string[];
}

export function addressesOf(given: {
  readonly address?: string | undefined;
  readonly origins?: readonly string[] | undefined;
}): Addresses {
  const address = given.address ?? "127.0.0.1";
  if (isIP(address) === 0) throw notAnAddress(address);
  const origins = (given.origins ?? []).map(originIn);
  if (!isLoopback(address) && origins.length === 0) throw needsOrigin(address);
  return { address, origins };
}

/** Without TLS, anyone on the way could read the cookies and tokens. So plain HTTP is accepted only for this machine. */
function originIn(text: string): string {
  const url = URL.parse(text);
  // An asterisk would be taken for a name, and match nothing.
  const isOrigin =
    url !== null && !text.includes("*") && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
  if (!isOrigin) throw notAnOrigin(text);
  const isLocal =
    url.hostname === "localhost" || url.hostname.endsWith(".localhost") || isLoopback(url.hostname);
  if (url.protocol === "http:" && !isLocal) throw plainOrigin(text);
  return url.origin.toLowerCase();
}
