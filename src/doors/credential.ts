import type { IncomingMessage, ServerResponse } from "node:http";
import { browserToken } from "../dispatch/identity.ts";
import { checkPage, askedOrigin } from "./host.ts";

/**
 * The credential of a request. A program sends `Authorization: Bearer`. A browser sends a cookie and, in a header, the key of
 * its page; neither is a credential alone. All ports of a host share a cookie, so the page of another local server would send
 * ours. The page key is in the storage of our own pages, which other ports can't read. A script can't read the cookie.
 */
export function credentialOf(request: IncomingMessage): string | undefined {
  if (request.headers.authorization !== undefined) return bearer(request);
  const key = request.headers["x-agency-page"];
  const cookies = cookiesOf(request, cookieName(request));
  const [cookie] = cookies;
  if (typeof key !== "string" || cookie === undefined || cookies.length > 1) return undefined;
  checkPage(request);
  return browserToken(cookie, key);
}

/** The token of `Authorization: Bearer`. A token in a query string is refused, because it would end up in logs. */
export function bearer(request: IncomingMessage): string | undefined {
  const match = /^Bearer ([\x21-\x7e]{1,500})$/i.exec(request.headers.authorization ?? "");
  return match?.[1];
}

/** The position from which a person acts. It is percent-encoded, because a slug may have letters that no header can have. */
export function positionIn(request: IncomingMessage): string | undefined {
  const given = request.headers["x-agency-as"];
  if (typeof given !== "string" || given === "") return undefined;
  try {
    return decodeURIComponent(given).slice(0, 200);
  } catch {
    return given.slice(0, 200);
  }
}

/** The company whose events the caller follows. */
export function followedBy(request: IncomingMessage): string | undefined {
  const given = request.headers["x-agency-company"];
  return typeof given === "string" ? given.slice(0, 100) : undefined;
}

/**
 * Gives the browser its cookie, or deletes the cookie if the value is empty. The daemon decides how long the credential is
 * valid.
 */
export function setCookie(request: IncomingMessage, response: ServerResponse, value: string): void {
  const age = value === "" ? 0 : 400 * 24 * 3600;
  response.setHeader(
    "set-cookie",
    `${cookieName(request)}=${value}; HttpOnly;${isSecure(request) ? " Secure;" : ""} SameSite=Strict; Path=/; Max-Age=${age}`,
  );
}

/**
 * The name contains the port, because daemons on several ports of a host share the cookies. Over TLS, the prefix keeps other
 * hosts of the same domain from setting the cookie.
 */
function cookieName(request: IncomingMessage): string {
  const secure = isSecure(request);
  const port = /:(\d+)$/.exec(askedOrigin(request))?.[1] ?? (secure ? "443" : "80");
  return `${secure ? "__Host-" : ""}agency_session_${port}`;
}

const isSecure = (request: IncomingMessage): boolean => askedOrigin(request).startsWith("https:");

function cookiesOf(request: IncomingMessage, name: string): string[] {
  return (request.headers.cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .flatMap((pair) => (pair.startsWith(`${name}=`) ? [pair.slice(name.length + 1)] : []))
    .filter((value) => /^[\x21-\x7e]{1,500}$/.test(value));
}
