import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { hash } from "node:crypto";
import { z } from "zod";
import type { Limits } from "../contract/limits.ts";
import { type Operation, takesBody } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { notFound, refusalCodes } from "../contract/refusal.ts";
import { JsonObject } from "../contract/words.ts";
import { KeptAnswer } from "../dispatch/kept-answers.ts";
import { NotModified, tagOf } from "../dispatch/not-modified.ts";
import { fail, goneWith, sendBody, sendJson, sendPacked, sendText } from "./answering.ts";
import { readJson, roomFor } from "./body.ts";
import type { Account } from "./callers.ts";
import { credentialOf, followedBy, positionIn, setCookie } from "./credential.ts";
import { checkHostAndOrigin, isAskedByName, isAskedUnderAnyName } from "./host.ts";
import { openApi } from "./openapi.ts";
import { bodyNotDeclared, bodyNotObject, givenTwice, noCompanyExists, secretInAddress } from "./texts.ts";
import { type Route, routesOf } from "./routes.ts";
import type { Site } from "./site.ts";
import type { PatientDispatch } from "./waiting.ts";

/**
 * The HTTP door. It finds the operation for a method and path, takes the input from path, query and body, calls dispatch and
 * sends the result or the refusal. It makes no decision about rights.
 */
export interface HttpParts extends DoorParts {
  readonly origins: () => readonly string[];
  /** Whether a company exists. */
  readonly isReady: () => Promise<boolean>;
  /** Doors with another protocol, by path prefix. */
  readonly others: readonly OtherDoor[];
  /** Finds the account of a credential before anything else is done for the request (callers.ts). */
  readonly admit: (token: string | undefined, socket: Socket) => Promise<Account>;
  /** Serves programs that use the daemon as their proxy. */
  readonly relay: {
    readonly connect: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
    readonly forward: (request: IncomingMessage, response: ServerResponse) => void;
  };
  /** The dashboard's page and assets. */
  readonly site: Site;
  /** The account of callers that have no credential. */
  readonly admitStranger: (socket: Socket, asks?: "health") => Promise<Account>;
}

export interface DoorParts {
  readonly dispatch: PatientDispatch;
  readonly authenticate: (token: string | undefined) => Promise<unknown>;
  /** Logs an error that is not a Refusal, and returns its id in the log. The caller gets only the id. */
  readonly reportBug: (error: unknown, about: string) => string;
  readonly version: string;
  readonly limits: Limits;
}

export interface OtherDoor {
  readonly prefix: string;
  /** True if browsers come here without a credential. */
  readonly isOpen?: true;
  readonly handle: (
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    account: Account,
  ) => Promise<void>;
}

export function createHttpDoor(parts: HttpParts): Server {
  const router = routesOf(operations);
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (isForRelay(request)) return parts.relay.forward(request, response);
    answer(parts, router, request, response).catch((error: unknown) => fail(parts, request, response, error));
  };
  const server = createServer({ connectionsCheckingInterval: 2000 }, handle);
  // The client asks before it sends its body. answer() lets it continue once the caller is known.
  server.on("checkContinue", handle);
  server.on("connect", parts.relay.connect);
  server.requestTimeout = parts.limits.uploadSeconds * 1000;
  server.headersTimeout = Math.min(20_000, server.requestTimeout);
  server.keepAliveTimeout = 65_000;
  return server;
}

/**
 * Whether a client uses the daemon as its proxy. An absolute address in any other request is a path like any other, and leads
 * nowhere.
 */
function isForRelay({ url, headers }: IncomingMessage): boolean {
  const says = headers["proxy-authorization"] ?? headers["proxy-connection"];
  return says !== undefined && url?.startsWith("http:") === true;
}

async function answer(
  parts: HttpParts,
  router: (method: string, path: string) => Route | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { socket } = request;
  const url = urlOf(request);
  let token;
  try {
    checkHostAndOrigin(request, parts.origins(), isAskedUnderAnyName(request, url.pathname));
    token = credentialOf(request);
  } catch (error) {
    await parts.admitStranger(socket);
    throw error;
  }
  const method = request.method ?? "GET";
  if (url.pathname === "/api/health" && (method === "GET" || method === "HEAD")) {
    await parts.admitStranger(socket, "health");
    return health(parts, request, response);
  }
  if (parts.site.isFor(request)) {
    await parts.admitStranger(socket);
    return parts.site.answer(request, response);
  }
  const other = parts.others.find(
    ({ prefix }) => url.pathname === prefix || url.pathname.startsWith(`${prefix}/`),
  );
  const route = router(method, url.pathname);
  // A person who signs in has no credential yet.
  const needsNone = route === undefined ? other?.isOpen === true : route.operation.credentialIn !== undefined;
  const account = await (needsNone ? parts.admitStranger(socket) : parts.admit(token, socket));
  if (request.headers.expect !== undefined) response.writeContinue();
  if (route === undefined && other !== undefined) return other.handle(request, response, url, account);
  if (route === undefined) {
    await parts.authenticate(token);
    if (url.pathname === "/api/openapi.json" && method === "GET")
      return sendJson(response, 200, openApi(parts.version));
    throw notFound("route", `${method} ${url.pathname}`.slice(0, 200));
  }
  const held = holding(account, response);
  const input = await inputOf(request, url, route, held, parts.limits).catch(async (error: unknown) => {
    // A caller without a credential must not learn what is wrong with its request.
    await parts.authenticate(token);
    throw error;
  });
  const call = {
    operation: route.operation,
    token,
    as: positionIn(request),
    input,
    key: headerOf(request, "idempotency-key"),
    trace: headerOf(request, "traceparent"),
    has: tagsIn(headerOf(request, "if-none-match")),
    bytes: held.bytes,
    gone: goneWith(response),
    follows: followedBy(request),
    reflects: (seq: number) => void response.setHeader("x-agency-seq", seq),
    takesText: true,
  } as const;
  const whole = await parts.dispatch(call);
  if (whole instanceof KeptAnswer) {
    response.setHeader("etag", `"${whole.tag}"`);
    if (call.has.includes(whole.tag)) throw new NotModified();
    return sendPacked(request, response, whole);
  }
  const output = withoutCookie(route.operation, whole, (value) => setCookie(request, response, value));
  if (route.operation.http.as === "text") return sendText(response, TextAnswer.parse(output).text);
  const text = JSON.stringify(output);
  if (method === "GET") {
    // The tag of a read file names its version. All other answers are named by their content.
    const file = FileRead.safeParse(output).data;
    const tag = file === undefined ? hash("sha256", text).slice(0, 32) : tagOf(file);
    response.setHeader("etag", `"${tag}"`);
    if (call.has.includes(tag)) throw new NotModified();
  }
  // An answer with a secret is not compressed: its length would reveal something about the secret.
  if (method === "GET" && route.operation.shownOnce === undefined)
    return sendPacked(request, response, { bytes: Buffer.from(text), packed: undefined });
  const isNew = route.operation.effect === "write" && method === "POST" && isCreation(route.operation);
  sendJson(response, isNew ? 201 : 200, text);
}

const TextAnswer = z.looseObject({ text: z.string() });
const FileRead = z.object({ version: z.number(), hash: z.string(), content: z.string() });

/** The tags in an If-None-Match header. */
function tagsIn(header: string | undefined): string[] {
  return [...(header ?? "").slice(0, 2000).matchAll(/"([^"]*)"/g)].map(([, tag = ""]) => tag);
}

/** Answers 200 once the first company exists. Before that, the daemon can't do anything for its callers. */
async function health(parts: HttpParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (await parts.isReady())
    return sendBody(response, 200, {
      status: "ok",
      ...(isAskedByName(request) && { version: parts.version }),
    });
  sendBody(response, refusalCodes.unavailable.http, {
    status: "starting",
    ...(isAskedByName(request) && noCompanyExists().toBody()),
  });
}

export interface Held {
  readonly account: Account;
  readonly bytes: number;
  readonly hold: (bytes: number) => void;
}

/** Counts the bytes of a request on the caller's account until the response is sent or the connection is closed. */
export function holding(account: Account, response: ServerResponse): Held {
  let bytes = 0;
  response.once("close", () => account.release(bytes));
  return {
    account,
    get bytes() {
      return bytes;
    },
    hold: (more) => {
      account.hold(more);
      bytes += more;
    },
  };
}

/**
 * The target of a request. A target that is not a plain path (a full URL, `..`, `\`) becomes `/`, because two parts of the
 * program might read it differently.
 */
function urlOf(request: IncomingMessage): URL {
  const target = request.url ?? "/";
  const url = URL.parse(`http://localhost${target}`);
  return url !== null && url.pathname === target.split(/[?#]/, 1)[0] ? url : new URL("http://localhost/");
}

/** The output without the key that the browser gets as its cookie. */
function withoutCookie(
  { setsCookie: key }: Operation,
  whole: unknown,
  set: (value: string) => void,
): unknown {
  if (key === undefined) return whole;
  const { [key]: cookie, ...output } = JsonObject.parse(whole);
  if (typeof cookie === "string") set(cookie);
  return output;
}

function isCreation(operation: Operation): boolean {
  return /\.(create|create_key|grant|request|hire|comment)$/.test(operation.name);
}

/**
 * The input from query, body and path. Later the strict schema of the operation refuses every unknown key, including a token.
 */
async function inputOf(
  request: IncomingMessage,
  url: URL,
  route: Route,
  held: Held,
  limits: Limits,
): Promise<Record<string, unknown>> {
  // An address ends up in logs and histories, so a secret must not be in it.
  if (route.operation.takesSecret === true && url.search !== "") throw secretInAddress();
  const body = takesBody(route.operation) ? await bodyOf(request, route.operation, held, limits) : {};
  // Spread, not assigned: a key named __proto__ stays a plain key, and is refused like every unknown key.
  const input = { ...Object.fromEntries(url.searchParams), ...body };
  for (const key of Object.keys(route.params)) if (Object.hasOwn(input, key)) throw givenTwice(key);
  return { ...input, ...route.params };
}

async function bodyOf(
  request: IncomingMessage,
  operation: Operation,
  held: Held,
  limits: Limits,
): Promise<Record<string, unknown>> {
  const body = await readJson(request, roomFor([operation], limits), held);
  if (body === undefined) return {};
  const type = headerOf(request, "content-type") ?? "";
  if (!/^application\/json\b/i.test(type)) throw bodyNotDeclared();
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw bodyNotObject(operation.name);
  return { ...body };
}

export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
