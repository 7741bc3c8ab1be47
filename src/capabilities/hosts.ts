import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import type { Resource } from "../contract/resources.ts";

/**
 * Which addresses a right to a host reaches:
 *
 *   public   a name or `net:*` is enough
 *   private  only a right that names the address itself: an attacker can make any name lead there
 *   never    addresses of the machines and services of the network itself, such as a cloud's metadata
 */
export type Reach = "public" | "private" | "never";

const never = list(
  ["0.0.0.0", 8],
  ["169.254.0.0", 16],
  ["192.0.0.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  ["::", 96],
  ["64:ff9b::", 32],
  ["2001::", 32],
  ["2002::", 16],
  ["fe80::", 10],
  ["ff00::", 8],
);
const own = list(
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["::1", 128],
  ["fc00::", 7],
  ["fec0::", 10],
);

const loopback = list(["127.0.0.0", 8], ["::1", 128]);

export function reachOf(address: string): Reach {
  const plain = plainHost(address);
  // An IPv4 address in IPv6 notation is checked as an IPv4 address.
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(plain) ?? [];
  if (mapped.length > 0) {
    const [high = 0, low = 0] = mapped.slice(1).map((part) => Number.parseInt(part, 16));
    return reachOf([high >> 8, high & 255, low >> 8, low & 255].join("."));
  }
  const dotted = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (dotted !== undefined) return reachOf(dotted);
  const family = isIP(plain) === 6 ? "ipv6" : "ipv4";
  if (isIP(plain) === 0) return "never";
  if (own.check(plain, family)) return "private";
  return never.check(plain, family) ? "never" : "public";
}

/** The addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export const resolveHost: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * The reason why a record of the board that names a host (an MCP server or a repository) does not permit an address. The board
 * meant the host. So a private address is permitted if the record names that address or this machine, or allows private
 * networks. Otherwise an attacker could make a name lead into the network around the daemon.
 */
export function blockerFor({ host, privateNetwork }: { host: string; privateNetwork: boolean }) {
  const named = plainHost(host);
  const isThisMachine = /^(?:.+\.)?localhost$/i.test(named) || isLoopback(named);
  return (address: string): Exclude<Reach, "public"> | undefined => {
    const reach = reachOf(address);
    if (reach === "public") return undefined;
    const isMeant = privateNetwork || address === named || (isThisMachine && isLoopback(address));
    return reach === "private" && isMeant ? undefined : reach;
  };
}

/** A host without the brackets of an IPv6 address. */
export const plainHost = (host: string): string => host.replaceAll(/^\[|\]$/g, "");

const isLoopback = (address: string): boolean =>
  isIP(address) !== 0 && loopback.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

/** The right that includes this one: `net:*` includes every host, but no address of a private network. */
export function widerThan(resource: Resource): Resource | undefined {
  if (!resource.startsWith("net:") || resource === "net:*") return undefined;
  const host = resource.slice("net:".length);
  const isAddress = host.startsWith("[") || isIP(host) !== 0;
  return !isAddress || reachOf(host) === "public" ? "net:*" : undefined;
}

function list(...subnets: readonly (readonly [string, number])[]): BlockList {
  const made = new BlockList();
  for (const [net, prefix] of subnets) made.addSubnet(net, prefix, net.includes(":") ? "ipv6" : "ipv4");
  return made;
}
