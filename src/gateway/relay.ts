import { type IncomingMessage, request as ask, type ServerResponse } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import { reachOf, type Resolve, resolveHost, widerThan } from "../capabilities/hosts.ts";
import { holds } from "../capabilities/rights.ts";
import { Refusal, refusalCodes } from "../contract/refusal.ts";
import { canonicalHost } from "../contract/resources.ts";
import { callContext } from "../dispatch/context.ts";
import type { Caller } from "../dispatch/identity.ts";
import type { Store } from "../store/store.ts";
import * as texts from "./texts.ts";

/**
 * The way from a session to a host on the internet, for agents with the right `net:<host>`. It is an HTTP proxy at the daemon's
 * own address: `CONNECT host:port`, or a request for a whole `http://` address. The password is the session's token.
 *
 * The proxy resolves the name and connects to the address that it checked. So a name can't lead to one address
 * during the check and to another one afterwards.
 */
export interface RelayParts {
  readonly store: Store;
  readonly newId: () => string;
  readonly authenticate: (token: string | undefined) => Promise<Caller>;
  /** Counts a request on the account of its caller. Throws if the account is used up. */
  readonly admit: (token: string | undefined, socket: Socket) => Promise<unknown>;
  readonly reportBug: (error: unknown, about: string) => string;
  /** The MCP server whose program has this token, and the hosts that its record names. */
  readonly serverWith?: (
    token: string,
  ) => { readonly caller: Caller; readonly hosts: readonly string[] } | undefined;
  /** The addresses of a name. */
  readonly resolve?: Resolve;
}

export interface Relay {
  readonly connect: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  readonly forward: (request: IncomingMessage, response: ServerResponse) => void;
  stop(): void;
}

const mostAtOnce = 64;
const connectMs = 15_000;
const idleMs = 600_000;
const checkMs = 2000;
const mostRecorded = 1000;

class ConnectionRefused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** An open connection of a session. */
interface Way {
  readonly token: string;
  readonly host: string;
  /** The address it leads to. Empty until it is known. */
  address: string;
  cut: () => void;
}

export function internetRelay(parts: RelayParts): Relay {
  const open = new Set<Way>();
  const record = recorder(parts);
  const { resolve = resolveHost } = parts;

  const admitted = async (request: IncomingMessage, token: string): Promise<Caller> => {
    await parts.admit(token, request.socket).catch(asRefused);
    return sessionOf(parts, token);
  };

  const opened = async (request: IncomingMessage, named: string, port: number): Promise<Way> => {
    const token = tokenIn(request) ?? "";
    const caller = parts.serverWith?.(token)?.caller ?? (await admitted(request, token));
    const host = canonicalHost(named);
    if (host === undefined || !(port >= 1 && port <= 65_535))
      throw new ConnectionRefused(400, texts.notAHost);
    // Count the connection before waiting for anything: of many simultaneous requests, each must see the others.
    const way = { token, host, address: "", cut: () => undefined };
    open.add(way);
    try {
      if ([...open].filter((other) => other.token === token).length > mostAtOnce)
        throw new ConnectionRefused(429, texts.tooManyConnections(mostAtOnce));
      await demandHost(parts, token, host);
      way.address = await addressOf(host, resolve);
      await record(caller, host, port);
      return way;
    } catch (error) {
      open.delete(way);
      if (error instanceof ConnectionRefused) await record(caller, host, port, error.message);
      throw error;
    }
  };

  // A right may end at any moment. Connections opened with it end too.
  const check = setInterval(() => {
    for (const way of open)
      demandHost(parts, way.token, way.host).catch((error: unknown) => {
        if (error instanceof ConnectionRefused) way.cut();
      });
  }, checkMs);
  check.unref();

  return {
    connect: (request, socket, head) => {
      const refuse = (error: unknown): void => {
        const { status, message } = refusedFor(parts, error);
        socket.end(
          `HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-type: text/plain\r\n${challenge(status)}\r\n${message}\n`,
        );
      };
      socket.on("error", () => socket.destroy());
      const { hostname = "", port = "" } =
        /^(?<hostname>\[[^\]]*\]|[^:]*):(?<port>\d{1,5})$/.exec(request.url ?? "")?.groups ?? {};
      opened(request, hostname, Number(port)).then((way) => {
        const there = connect({ host: way.address, port: Number(port), timeout: connectMs });
        let isConnected = false;
        way.cut = () => {
          there.destroy();
          socket.destroy();
        };
        there.once("connect", () => {
          isConnected = true;
          there.setTimeout(idleMs);
          socket.write("HTTP/1.1 200 Connected\r\n\r\n");
          there.write(head);
          socket.pipe(there);
          there.pipe(socket);
        });
        there.on("timeout", () => there.destroy(new Error("no answer")));
        there.once("error", () => {
          if (isConnected) socket.destroy();
          else refuse(new ConnectionRefused(502, texts.hostUnreachable(way.host)));
        });
        there.once("close", () => open.delete(way));
        socket.once("close", () => there.destroy());
        if (socket.destroyed) there.destroy();
      }, refuse);
    },
    forward: (request, response) => {
      const refuse = (error: unknown): void => {
        const { status, message } = refusedFor(parts, error);
        if (response.headersSent) return void response.destroy();
        response.writeHead(status, {
          "content-type": "text/plain",
          ...Object.fromEntries(challenges(status)),
        });
        response.end(`${message}\n`);
      };
      const url = URL.parse(request.url ?? "");
      const port = Number(url?.port === "" ? 80 : url?.port);
      if (url?.protocol !== "http:") return refuse(new ConnectionRefused(400, texts.notAHost));
      opened(request, url.hostname, port).then((way) => {
        const there = ask({
          host: way.address,
          port,
          method: request.method,
          path: `${url.pathname}${url.search}`,
          headers: { ...withoutHops(request.headers), host: url.host },
          timeout: idleMs,
          agent: false,
        });
        way.cut = () => there.destroy(new Error("the right ended"));
        there.once("response", (answer) => {
          response.writeHead(answer.statusCode ?? 502, withoutHops(answer.headers));
          pipeline(answer, response, () => undefined);
        });
        there.once("timeout", () => there.destroy(new Error("no answer")));
        there.once("error", () => refuse(new ConnectionRefused(502, texts.hostUnreachable(way.host))));
        there.once("close", () => open.delete(way));
        response.once("close", () => there.destroy());
        pipeline(request, there, () => undefined);
      }, refuse);
    },
    stop: () => {
      clearInterval(check);
      for (const way of open) way.cut();
    },
  };
}

async function sessionOf(parts: RelayParts, token: string): Promise<Caller> {
  const caller = await parts.authenticate(token).catch(asRefused);
  if (caller.actor.sessionId === null) throw new ConnectionRefused(407, texts.onlySessionsConnect);
  return caller;
}

/**
 * Refuses a host without a right. A session needs the right of its agent. For the program of an MCP server, the server's record
 * must name the host.
 */
async function demandHost(parts: RelayParts, token: string, host: string): Promise<void> {
  const server = parts.serverWith?.(token);
  if (server !== undefined) {
    const { hosts } = server;
    if (hosts.includes(host) || (hosts.includes("*") && widerThan(`net:${host}`) !== undefined)) return;
    throw new ConnectionRefused(403, texts.hostNotInRecord(host));
  }
  const { actor } = await sessionOf(parts, token);
  const mayReach = await parts.store.read((tx) => holds(tx, actor.agentId ?? "", `net:${host}`, "use"));
  if (!mayReach) throw new ConnectionRefused(403, texts.hostNotAllowed(host));
}

/** The address to connect to. Every address of a name must be public, because the name could lead to any of them. */
async function addressOf(host: string, resolve: Resolve): Promise<string> {
  const literal = host.replaceAll(/[[\]]/g, "");
  if (isIP(literal) !== 0) {
    // The right names this address itself.
    if (reachOf(literal) === "never") throw new ConnectionRefused(403, texts.addressNotAllowed(host));
    return literal;
  }
  const addresses = await resolve(host).catch(() => []);
  const [first] = addresses;
  if (first === undefined) throw new ConnectionRefused(502, texts.hostUnknown(host));
  if (!addresses.every((address) => reachOf(address) === "public"))
    throw new ConnectionRefused(403, texts.addressPrivate(host));
  return first;
}

/** Records connections: each host once for a session, however often its programs connect. */
function recorder({ store, newId }: RelayParts) {
  const known = new Map<string, Set<string>>();
  return async (caller: Caller, host: string, port: number, refused?: string): Promise<void> => {
    const { companyId, actor } = caller;
    if (companyId === null || actor.sessionId === null) return;
    const ofSession = known.get(actor.sessionId) ?? new Set();
    const key = `${host}:${port} ${refused === undefined}`;
    if (ofSession.has(key) || ofSession.size >= mostRecorded) return;
    ofSession.add(key);
    known.set(actor.sessionId, ofSession);
    if (known.size > mostRecorded) known.delete(known.keys().next().value ?? "");
    await store.write(async (tx) => {
      await tx.lock(companyId);
      const operation = refused === undefined ? "net.connect" : "net.refuse";
      const call = callContext(tx, { caller, companyId, newId, newSecret: newId, operation });
      await call.record(actor.agentId, { host, port, ...(refused === undefined ? {} : { refused }) });
    });
  };
}

function refusedFor(parts: RelayParts, error: unknown): ConnectionRefused {
  if (error instanceof ConnectionRefused) return error;
  parts.reportBug(error, "relay");
  return new ConnectionRefused(500, "The relay failed.");
}

/** Programs send the name and password of a proxy as `Basic`. The name is ignored. */
function tokenIn(request: IncomingMessage): string | undefined {
  const given = /^Basic ([\w+/=-]{1,1000})$/i.exec(request.headers["proxy-authorization"] ?? "")?.[1];
  if (given === undefined) return undefined;
  const text = Buffer.from(given, "base64").toString("utf8");
  return /^[^:]*:([\x21-\x7e]{1,500})$/.exec(text)?.[1];
}

const challenges = (status: number): [string, string][] =>
  status === 407 ? [["proxy-authenticate", 'Basic realm="Agency"']] : [];
const challenge = (status: number): string =>
  challenges(status)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

/** Turns a refused credential into a refusal by a proxy. */
function asRefused(error: unknown): never {
  if (!(error instanceof Refusal)) throw error;
  const status = refusalCodes[error.code].http;
  throw new ConnectionRefused(status === 401 ? 407 : status, error.message);
}

const hops = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const withoutHops = (headers: NodeJS.Dict<string | string[]>): NodeJS.Dict<string | string[]> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !hops.has(name)));
