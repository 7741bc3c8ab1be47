// Attacks by a page in the person's browser. The page can send requests to loopback, but has no credential and can't choose its
// Origin. Some rows give it a stolen token, to check that Host and Origin are checked first.
import assert from "node:assert/strict";
import { listCompanies } from "../../src/contract/companies.ts";
import { type DaemonAttack, type Place, type Received, send, sendBytes, type Sent } from "./attack.ts";

const cls = "web page" as const;
const companies = "/api/companies";
const form = { "content-type": "application/x-www-form-urlencoded" };
const json = { "content-type": "application/json" };

/** Checks that the request is answered with this status, shows nothing of a company, and changes nothing. */
function refusedWith(
  status: number | readonly number[],
  threat: string,
  attempt: string,
  sent: (place: Place) => Sent,
): DaemonAttack {
  const allowed = [status].flat();
  return {
    class: cls,
    threat,
    attempt,
    expected: `${allowed.join(" or ")}, and nothing is shown or changed`,
    run: async (place) => {
      const before = await namesOf(place);
      const got = await send(place.daemon.url, sent(place));
      assert.ok(allowed.includes(got.status), `${got.status} ${got.body.slice(0, 300)}`);
      demandNothingShown(place, got);
      assert.deepEqual(await namesOf(place), before);
    },
  };
}

async function namesOf({ world }: Place): Promise<string[]> {
  return (await world.org.board(listCompanies, { limit: 1000 })).companies.map(({ name }) => name);
}

function demandNothingShown({ world, foreign }: Place, { body, headers }: Received): void {
  for (const secret of [world.org.companyId, world.org.rootId, foreign.companyId])
    assert.ok(!body.includes(secret), `the answer names ${secret}`);
  assert.equal(headers["access-control-allow-origin"], undefined);
  assert.equal(headers["access-control-allow-credentials"], undefined);
}

const bearer = ({ world }: Place): Record<string, string> => ({
  authorization: `Bearer ${world.tokens.board}`,
});
const hostOf = ({ daemon }: Place): string => new URL(daemon.url).host;
const portOf = ({ daemon }: Place): string => new URL(daemon.url).port;

const rebinding = [
  "evil.example",
  "evil.example:80",
  "127.0.0.1.evil.example",
  "localhost.evil.example",
  "0.0.0.0",
  "169.254.169.254",
  "[::ffff:127.0.0.1]",
  "localhost@evil.example",
  "127.0.0.1",
];

const origins = [
  "http://evil.example",
  "https://evil.example",
  "null",
  "file://",
  "http://127.0.0.1",
  "http://localhost:1",
  "chrome-extension://abcdef",
];

export const webPageAttacks: readonly DaemonAttack[] = [
  ...rebinding.map((host) =>
    refusedWith(403, "DNS rebinding", `Host: ${host}, with the board's token`, (place) => ({
      path: companies,
      headers: { host, ...bearer(place) },
    })),
  ),
  ...["evil.example", "evil.localhost"].map((host) =>
    refusedWith(403, "DNS rebinding", `Host: ${host} with the daemon's own port`, (place) => ({
      path: companies,
      headers: { host: `${host}:${portOf(place)}`, ...bearer(place) },
    })),
  ),
  ...origins.map((origin) =>
    refusedWith(403, "cross-site request", `Origin: ${origin}, with the board's token`, (place) => ({
      method: "POST",
      path: companies,
      headers: { host: hostOf(place), origin, ...json, ...bearer(place) },
      body: JSON.stringify({ name: "Planted" }),
    })),
  ),
  refusedWith(
    403,
    "cross-site reading of events",
    "Origin of another port on this machine, event stream",
    (place) => ({
      path: `/api/companies/${place.world.org.companyId}/events/stream`,
      headers: { host: hostOf(place), origin: "http://127.0.0.1:9", ...bearer(place) },
    }),
  ),
  refusedWith(403, "cross-site tool call", "Origin: http://evil.example at the MCP door", (place) => ({
    method: "POST",
    path: "/mcp/kb",
    headers: {
      host: hostOf(place),
      origin: "http://evil.example",
      ...json,
      accept: "application/json, text/event-stream",
      ...bearer(place),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  })),
  ...["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"].map((type) =>
    refusedWith(
      [400, 401, 415],
      "form post without a preflight",
      `POST as ${type}, without a credential`,
      (place) => ({
        method: "POST",
        path: companies,
        headers: { host: hostOf(place), "content-type": type },
        body: '{"name":"Planted"}',
      }),
    ),
  ),
  refusedWith(
    [400, 401, 415],
    "form post with the method in a field",
    "_method=DELETE in a form",
    (place) => ({
      method: "POST",
      path: `/api/agents/${place.world.report.id}?_method=DELETE`,
      headers: { host: hostOf(place), ...form, "x-http-method-override": "DELETE" },
      body: "_method=DELETE",
    }),
  ),
  refusedWith(
    [401, 403, 404, 405],
    "permission by preflight",
    "OPTIONS with Access-Control-Request-Method",
    (place) => ({
      method: "OPTIONS",
      path: companies,
      headers: {
        host: hostOf(place),
        origin: "http://evil.example",
        "access-control-request-method": "POST",
      },
    }),
  ),
  refusedWith(401, "token in the address", "the board's token in the query string", (place) => ({
    path: `${companies}?token=${place.world.tokens.board}&access_token=${place.world.tokens.board}`,
    headers: { host: hostOf(place) },
  })),
  refusedWith(401, "token in a cookie", "the board's token in a cookie of another name", (place) => ({
    path: companies,
    headers: {
      host: hostOf(place),
      cookie: `token=${place.world.tokens.board}; board-token=${place.world.tokens.board}`,
    },
  })),
  refusedWith(401, "another scheme", "the token as Basic user and password", (place) => ({
    path: companies,
    headers: {
      host: hostOf(place),
      authorization: `Basic ${Buffer.from(`board:${place.world.tokens.board}`).toString("base64")}`,
    },
  })),
  ...["", " ", "null", "undefined", "Bearer", "0"].map((token) =>
    refusedWith(401, "guessed credential", `Authorization: Bearer ${JSON.stringify(token)}`, (place) => ({
      path: companies,
      headers: { host: hostOf(place), authorization: `Bearer ${token}` },
    })),
  ),
  refusedWith([401, 404], "reading files through the door", "GET /../../board-token", (place) => ({
    path: "/../../board-token",
    headers: { host: hostOf(place) },
  })),
  refusedWith(
    [401, 404],
    "reading files through the door",
    "GET /api/%2e%2e/%2e%2e/board-token",
    (place) => ({
      path: "/api/%2e%2e/%2e%2e/board-token",
      headers: { host: hostOf(place) },
    }),
  ),
  refusedWith([400, 401, 404], "a path that is not text", "GET /api/companies/%ff%00", (place) => ({
    path: "/api/companies/%ff%00",
    headers: { host: hostOf(place) },
  })),
  ...["TRACE", "PUT", "PROPFIND"].map((method) =>
    refusedWith([400, 401, 404, 405, 501], "another method", `${method} /api/companies`, (place) => ({
      method,
      path: companies,
      headers: { host: hostOf(place) },
    })),
  ),
  refusedWith([400, 401, 403, 404, 426], "upgrade to another protocol", "Upgrade: websocket", (place) => ({
    path: "/api/companies",
    headers: {
      host: hostOf(place),
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-key": "x",
      "sec-websocket-version": "13",
    },
  })),
  {
    class: cls,
    threat: "request smuggling",
    attempt: "Content-Length and Transfer-Encoding in one request, with a second request inside",
    expected: "400, and the inner request is not answered",
    run: async ({ daemon }) => {
      const { host } = new URL(daemon.url);
      const inner = `GET /api/health HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
      const answer = await sendBytes(
        daemon.url,
        `POST /api/companies HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
      );
      assert.match(answer, /^HTTP\/1\.1 400/);
      assert.doesNotMatch(answer, /"status":"ok"/);
    },
  },
  ...[
    ["two Host headers, the daemon's own first", (host: string) => `Host: ${host}\r\nHost: evil.example\r\n`],
    ["two Host headers, the daemon's own last", (host: string) => `Host: evil.example\r\nHost: ${host}\r\n`],
    ["an empty Host header", () => "Host:\r\n"],
    ["no Host header", () => ""],
  ].map(([attempt, hosts]): DaemonAttack => ({
    class: cls,
    threat: "a host that differs on the way",
    attempt: String(attempt),
    expected: "400 or 403",
    run: async ({ daemon, world }) => {
      const lines = typeof hosts === "function" ? hosts(new URL(daemon.url).host) : "";
      const token = `Authorization: Bearer ${world.tokens.board}\r\nConnection: close\r\n`;
      const answer = await sendBytes(daemon.url, `GET /api/companies HTTP/1.1\r\n${lines}${token}\r\n`);
      assert.match(answer, /^HTTP\/1\.1 (400|403)/);
    },
  })),
  {
    class: cls,
    threat: "another address in the request line",
    attempt: "GET http://evil.example/api/companies with the daemon's Host",
    expected: "an answer of the daemon alone, never a request to another host",
    run: async ({ daemon }) => {
      const { host } = new URL(daemon.url);
      const answer = await sendBytes(
        daemon.url,
        `GET http://evil.example/api/companies HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      assert.match(answer, /^HTTP\/1\.1 (400|401|403|404|407)/);
    },
  },
];
