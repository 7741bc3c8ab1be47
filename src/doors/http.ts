import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type Operation, takesBody } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { notFound, Refusal, refusalCodes } from "../contract/refusal.ts";
import { readBody, readJson } from "./body.ts";
import { checkHostAndOrigin } from "./host.ts";
import { openApi } from "./openapi.ts";
import type { PatientDispatch } from "./waiting.ts";

/**
 * The HTTP door: finds the operation for a method and path, gathers its input from path, query and body, hands it to
 * dispatch, and presents the answer or the refusal. It decides nothing about who may do what.
 */
export interface HttpParts {
  readonly dispatch: PatientDispatch;
  /** Anything that is neither a Refusal nor expected: logged whole under an id the caller is given. */
  readonly reportBug: (error: unknown, about: string) => string;
  readonly version: string;
  readonly hosts: () => readonly string[];
  /** Doors with a protocol of their own, by path prefix. */
  readonly others: readonly OtherDoor[];
  readonly authenticate: (token: string | undefined) => Promise<unknown>;
}

export interface OtherDoor {
  readonly prefix: string;
  readonly handle: (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;
}

export const maxBodyBytes = 64 * 1024 * 1024;

export function createHttpDoor(parts: HttpParts): Server {
  const router = routesOf(operations);
  const server = createServer((request, response) => {
    answer(parts, router, request, response).catch((error: unknown) => fail(parts, request, response, error));
  });
  server.requestTimeout = 120_000;
  server.headersTimeout = 20_000;
  server.keepAliveTimeout = 65_000;
  return server;
}

async function answer(
  parts: HttpParts,
  router: (method: string, path: string) => Route | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  checkHostAndOrigin(request, parts.hosts());
  const url = urlOf(request);
  const method = request.method ?? "GET";
  if (url.pathname === "/api/health" && (method === "GET" || method === "HEAD"))
    return send(response, 200, { status: "ok", version: parts.version });
  const other = parts.others.find(
    ({ prefix }) => url.pathname === prefix || url.pathname.startsWith(`${prefix}/`),
  );
  const route = router(method, url.pathname);
  if (route === undefined && other !== undefined) return other.handle(request, response, url);
  if (route === undefined) {
    await parts.authenticate(bearer(request));
    if (url.pathname === "/api/openapi.json" && method === "GET")
      return send(response, 200, openApi(parts.version));
    throw notFound("route", `${method} ${url.pathname}`.slice(0, 200));
  }
  // Nobody makes the daemon hold a large body without a credential; a small one is cheaper than looking twice.
  if (mayBeLarge(request)) await parts.authenticate(bearer(request));
  const input = await inputOf(request, url, route).catch(async (error: unknown) => {
    // Nobody learns what is wrong with a request without a credential.
    await parts.authenticate(bearer(request));
    throw error;
  });
  const call = {
    operation: route.operation,
    token: bearer(request),
    input,
    key: headerOf(request, "idempotency-key"),
  };
  const output = await parts.dispatch(
    call,
    route.operation.waits === undefined ? {} : { gone: goneWith(response) },
  );
  if (route.operation.http.as === "text") return sendText(response, Object(output).text);
  send(
    response,
    route.operation.effect === "write" && method === "POST" && isCreation(route.operation) ? 201 : 200,
    output,
  );
}

/** Aborted when the client hangs up before it is answered. */
export function goneWith(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

/** What is not a plain path (another host's address, `..`, `\`) leads nowhere, so that nobody reads it in two ways. */
function urlOf(request: IncomingMessage): URL {
  const target = request.url ?? "/";
  const url = URL.parse(`http://localhost${target}`);
  return url !== null && url.pathname === target.split(/[?#]/, 1)[0] ? url : new URL("http://localhost/");
}

/** Only `Authorization: Bearer`: a token in a query string would end up in logs. */
export function bearer(request: IncomingMessage): string | undefined {
  const match = /^Bearer ([\x21-\x7e]{1,500})$/i.exec(request.headers.authorization ?? "");
  return match?.[1];
}

export function send(response: ServerResponse, status: number, body: unknown): void {
  response.end(writeHead(response, status, body));
}

function sendText(response: ServerResponse, text: unknown): void {
  response.writeHead(200, { ...headers, "content-type": "text/plain; charset=utf-8" });
  response.end(String(text));
}

const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** Answers the text that goes below it. */
function writeHead(response: ServerResponse, status: number, body: unknown): string {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    ...headers,
  });
  return text;
}

export function fail(
  parts: Pick<HttpParts, "reportBug">,
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  if (error instanceof Refusal) {
    const text = writeHead(response, refusalCodes[error.code].http, error.toBody());
    if (request.complete) response.end(text);
    else linger(request, response, text);
    return;
  }
  const id = parts.reportBug(error, `${request.method ?? ""} ${request.url?.split("?")[0] ?? ""}`);
  send(response, 500, {
    error: {
      code: "internal",
      message: `Something went wrong here (${id}).`,
      hint: "The daemon's log has it under this id.",
    },
  });
}

/**
 * A sender that is refused half-way may go on sending before it looks at the answer. Closing at once would make its next
 * write fail and the answer be lost; so it is answered whole, and what it still sends is thrown away for a while.
 */
function linger(request: IncomingMessage, response: ServerResponse, text: string): void {
  response.write(text);
  const cut = setTimeout(() => request.socket.destroy(), lingerMilliseconds);
  cut.unref();
  request.resume().once("close", () => {
    clearTimeout(cut);
    response.end();
  });
}

const lingerMilliseconds = 5000;

interface Route {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
}

/** Paths are matched piece by piece; a literal piece wins over a parameter. */
function routesOf(table: readonly Operation[]): (method: string, path: string) => Route | undefined {
  const routes = table
    .map((operation) => ({ operation, pieces: operation.http.path.split("/") }))
    .toSorted((a, b) => literalFirst(a.pieces).localeCompare(literalFirst(b.pieces)));
  const byShape = new Map<string, typeof routes>();
  for (const route of routes) {
    const key = `${route.operation.http.method} ${route.pieces.length}`;
    byShape.set(key, [...(byShape.get(key) ?? []), route]);
  }
  return (method, path) => {
    const given = path.split("/");
    for (const { operation, pieces } of byShape.get(`${method} ${given.length}`) ?? []) {
      const params: Record<string, string> = {};
      const matches = pieces.every((piece, index) => {
        const value = given[index] ?? "";
        if (!piece.startsWith(":")) return piece === value;
        const [name = "", ending = ""] = piece.slice(1).split(/(?=\.)/);
        if (!value.endsWith(ending) || value === ending) return false;
        params[name] = decode(value.slice(0, value.length - ending.length));
        return true;
      });
      if (matches) return { operation, params };
    }
    return undefined;
  };
}

const literalFirst = (pieces: readonly string[]): string =>
  pieces.map((piece) => (piece.startsWith(":") ? "1" : "0")).join("");

function decode(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}

function isCreation(operation: Operation): boolean {
  return /\.(create|create_key|grant|request|hire|comment)$/.test(operation.name);
}

/** From query, body and path. A query string is text; keys it cannot carry (a token above all) the strict input refuses. */
async function inputOf(request: IncomingMessage, url: URL, route: Route): Promise<Record<string, unknown>> {
  const body = takesBody(route.operation) ? await bodyOf(request, route.operation) : {};
  // Spread, not assigned: a key named __proto__ stays a key, and is refused like any other that nobody knows.
  const input = { ...Object.fromEntries(url.searchParams), ...body };
  for (const key of Object.keys(route.params))
    if (Object.hasOwn(input, key))
      throw new Refusal(
        "invalid",
        `${key} is already in the path.`,
        `Leave ${key} out of the body and query.`,
      );
  return { ...input, ...route.params };
}

async function bodyOf(request: IncomingMessage, operation: Operation): Promise<Record<string, unknown>> {
  const bytes = await readBody(request, maxBodyBytes);
  if (bytes.byteLength === 0) return {};
  const type = headerOf(request, "content-type") ?? "";
  if (!/^application\/json\b/i.test(type))
    throw new Refusal(
      "invalid",
      "The body is not declared as JSON.",
      "Send `Content-Type: application/json`.",
    );
  const body = readJson(bytes);
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new Refusal("invalid", `The body of ${operation.name} must be a JSON object.`, "Send {…}.");
  return { ...body };
}

function mayBeLarge({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 65_536;
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
