import { spawn } from "node:child_process";
import { once } from "node:events";
import { isIP } from "node:net";
import { text } from "node:stream/consumers";
import { blockerFor, plainHost, type Resolve } from "../capabilities/hosts.ts";
import { type Credential, runGit, type OriginWay } from "./git.ts";
import type { Origin } from "./repository.ts";
import { gitTooOld, originInside, originUnknown, originOfNetwork, sshRefuses } from "./texts.ts";

/** An origin, and how the daemon reaches it. */
export interface Reached {
  readonly origin: Origin;
  readonly credential: Credential | undefined;
  /** The board allowed an address of a private network. */
  readonly privateNetwork: boolean;
}

/**
 * The way in which git reaches an origin. Git and ssh would look up the name themselves, and a name can lead to one address
 * during a check and to another one later. So the name is resolved here, and git is told the addresses that were checked.
 *
 * Ssh without a credential uses the configuration of the person who started the daemon. If the configuration leads through
 * another machine (a proxy), the person has chosen that way, and the proxy looks up the name.
 */
export async function originWay(
  reached: Reached,
  { resolve, knownHosts }: { readonly resolve: Resolve; readonly knownHosts: string },
): Promise<OriginWay | { readonly blocked: string }> {
  const { origin, credential, privateNetwork } = reached;
  if (origin.hostname === null) return none;
  const route: Route =
    origin.transport === "ssh" ? await sshRoute(origin, credential) : { ...origin, alias: null };
  if ("blocked" in route) return route;
  if (route.hostname === null) return none;
  const host = plainHost(route.hostname);
  const isAddress = isIP(host) !== 0;
  const addresses = isAddress ? [host] : await resolve(host).catch(() => []);
  const [first] = addresses;
  if (first === undefined) return { blocked: originUnknown(host) };
  const blockerOf = blockerFor({ host: origin.hostname, privateNetwork });
  // Every address must be allowed, because the name could lead to any of them.
  for (const address of addresses) {
    const blocker = blockerOf(address);
    if (blocker === "private") return { blocked: originInside(host, address) };
    if (blocker === "never") return { blocked: originOfNetwork(host, address) };
  }
  if (origin.transport === "ssh")
    return {
      settings: [],
      ssh: [
        `HostName=${first}`,
        `HostKeyAlias=${route.alias ?? host}`,
        // The host keys that the person knows are valid here as well. New keys are kept in Agency's home.
        ...(credential === undefined
          ? []
          : [`UserKnownHostsFile="${knownHosts.replaceAll("%", "%%")}" ~/.ssh/known_hosts`]),
      ],
    };
  if (isAddress) return none;
  const version = (await runGit({ args: ["version"] })).out;
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  if (major < 2 || (major === 2 && minor < 37)) return { blocked: gitTooOld(version.trim()) };
  const all = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(",");
  return { settings: [`http.curloptResolve=${host}:${route.port}:${all}`], ssh: [] };
}

const none: OriginWay = { settings: [], ssh: [] };

/** The address to connect to. Without a host, a proxy leads there. */
type Route =
  | { readonly hostname: string | null; readonly port: number | null; readonly alias: string | null }
  | { readonly blocked: string };

/** The address to which ssh would connect, and the name (`alias`) under which it knows the key of that host. */
async function sshRoute(
  { hostname, user, port }: Origin,
  credential: Credential | undefined,
): Promise<Route> {
  const { code, out, says } = await ask([
    "-G",
    ...(credential === undefined ? [] : ["-F", "none"]),
    ...(port === null ? [] : ["-p", String(port)]),
    "--",
    `${user === null ? "" : `${user}@`}${plainHost(hostname ?? "")}`,
  ]);
  if (code !== 0) return { blocked: sshRefuses(says) };
  const options = new Map(
    out.split("\n").map((line): [string, string] => {
      const [name = "", value = ""] = line.split(/ (.*)/s, 2);
      return [name, value];
    }),
  );
  const given = (name: string): string | undefined => {
    const value = options.get(name);
    return value === undefined || value === "" || value === "none" ? undefined : value;
  };
  const to = given("hostname") ?? hostname ?? "";
  const at = Number(given("port") ?? 22);
  if (given("proxycommand") !== undefined || given("proxyjump") !== undefined)
    return { hostname: null, port: at, alias: null };
  const alias = given("hostkeyalias") ?? (at === 22 ? to : `[${to}]:${at}`);
  return { hostname: to, port: at, alias };
}

async function ask(args: readonly string[]): Promise<{ code: unknown; out: string; says: string }> {
  const child = spawn("ssh", args, { stdio: ["ignore", "pipe", "pipe"], timeout: 10_000 });
  const ended = once(child, "close").then(
    ([code]: unknown[]) => ({ code, error: "" }),
    (error: unknown) => ({ code: null, error: String(error) }),
  );
  const [out, says] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const { code, error } = await ended;
  return { code, out, says: `${says}${error}`.trim() };
}
