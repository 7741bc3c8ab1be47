import { isIP } from "node:net";
import { reachOf } from "../capabilities/hosts.ts";

/**
 * Which origins a repository can have, and the names of its stored parts. An origin is reached by https, by ssh, or on this
 * machine (file). Only the board adds repositories, so only the board decides which files of this machine are an origin.
 */
export interface Origin {
  readonly url: string;
  readonly transport: "https" | "http" | "ssh" | "file";
  /** The host with its port. Null for a file. */
  readonly host: string | null;
  readonly hostname: string | null;
  /** Null for the port that ssh would use. */
  readonly port: number | null;
  /** The user for ssh. */
  readonly user: string | null;
}

/** The origin that a URL names, or the reason why the URL is wrong. */
export function originOf(given: string): Origin | { readonly wrong: keyof typeof wrongUrls } {
  const url = given.trim();
  if (/[\s\p{C}]/u.test(url) || url.startsWith("-")) return { wrong: "form" };
  if (url.startsWith("/")) return file(url);
  const scp = /^(?:([A-Za-z0-9_][\w.-]*)@)?([A-Za-z0-9][A-Za-z0-9.-]*):(?!\/\/)(?![-:])([^\\]+)$/.exec(url);
  if (scp !== null && !/^[a-z][a-z0-9+.-]*::/i.test(url)) {
    const [, user = null, name = ""] = scp;
    if (isOfNetwork(name)) return { wrong: "network" };
    return { url, transport: "ssh", host: name, hostname: name, port: null, user };
  }
  const parsed = URL.parse(url);
  if (parsed === null || /^[^/]*::/.test(url)) return { wrong: "form" };
  const { protocol, hostname, host, port, username, password, search, hash, pathname } = parsed;
  if (protocol === "file:")
    return hostname === "" && search === "" && hash === "" ? file(decoded(pathname)) : { wrong: "form" };
  if (protocol !== "https:" && protocol !== "http:" && protocol !== "ssh:") return { wrong: "transport" };
  if (password !== "" || (username !== "" && protocol !== "ssh:")) return { wrong: "login" };
  if (
    hostname === "" ||
    /^(?:-|%2d)/i.test(hostname) ||
    decoded(username).startsWith("-") ||
    /[%\\]/.test(host)
  )
    return { wrong: "form" };
  if (
    search !== "" ||
    hash !== "" ||
    pathname === "/" ||
    pathname === "" ||
    decoded(pathname).startsWith("/-")
  )
    return { wrong: "form" };
  if (protocol === "http:" && !/^(?:127(?:\.\d+){3}|localhost|\[::1\])$/.test(hostname))
    return { wrong: "plain" };
  if (isOfNetwork(hostname)) return { wrong: "network" };
  const transport = protocol === "https:" ? "https" : protocol === "http:" ? "http" : "ssh";
  // Git gets the URL as it was parsed here: another parser could find another host in it.
  const plain = transport === "ssh" ? url : parsed.href;
  const usual = transport === "https" ? 443 : transport === "http" ? 80 : null;
  const user = decoded(username) === "" ? null : decoded(username);
  return { url: plain, transport, host, hostname, port: port === "" ? usual : Number(port), user };
}

export const wrongUrls = {
  form: "is not the URL of a git repository",
  transport: "uses a transport that is not allowed",
  login: "contains a user name or password",
  plain: "would send everything unencrypted",
  network: "names an address that is link-local or reserved",
};

/**
 * Whether a host is an address that Agency never asks, also one written as a single number. A name is checked when it is used
 * (origin-way.ts).
 */
function isOfNetwork(host: string): boolean {
  const address = URL.parse(`http://${host}`)?.hostname ?? host;
  return isIP(address.replaceAll(/^\[|\]$/g, "")) !== 0 && reachOf(address) === "never";
}

const file = (path: string): Origin => ({
  url: path,
  transport: "file",
  host: null,
  hostname: null,
  port: null,
  user: null,
});

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The name under which an agent's branch is published. */
export const publishedName = (slug: string, branch: string): string =>
  branch.startsWith(`agency/${slug}/`) ? branch : `agency/${slug}/${branch}`;
