// Attacks on the doors with another protocol: the event stream, the figures, the page after signing in for a server, the
// gateway to models and the proxy to the internet.
import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { createAgent } from "../../src/contract/hiring.ts";
import { removePerson } from "../../src/contract/people.ts";
import { listSessions } from "../../src/contract/sessions.ts";
import { type Place, send, sendBytes } from "./attack.ts";
import {
  answered,
  asBrowser,
  browser,
  type DoorAttack,
  hostOf,
  invite,
  json,
  nameOf,
  row,
} from "./door-scenes.ts";

const stream = "following what happens";
const events = ({ world }: Place, query = "") => `/api/events?company=${world.org.companyId}${query}`;

const streamAttacks: readonly DoorAttack[] = [
  answered("stream", stream, "the event stream without a credential", 401, (place) => ({
    path: events(place),
  })),
  answered("stream", stream, "the event stream with the token in the query string", 401, (place) => ({
    path: events(place, `&token=${place.world.tokens.board}`),
  })),
  answered(
    "stream",
    stream,
    "the event stream with a cookie alone, as EventSource sends it",
    401,
    async (place) => ({
      path: events(place),
      headers: { cookie: `${nameOf(place)}=${(await browser(place, "board")).cookie}` },
    }),
  ),
  ...(["root", "report", "session"] as const).map((who) =>
    answered("stream", stream, `the event stream with the token of the ${who}`, 403, (place) => ({
      path: events(place),
      headers: { authorization: `Bearer ${place.world.tokens[who]}` },
    })),
  ),
  answered("stream", stream, "the event stream with the code of a sign-in link", 401, async (place) => ({
    path: events(place),
    headers: { authorization: `Bearer ${(await invite(place, "board")).code}` },
  })),
  answered("stream", stream, "the event stream by a member from its position", 403, async (place) => {
    const own = await browser(place, "member");
    const { companyId } = place.world.org;
    const { board } = place.world.org;
    const seat = { companyId, role: "desk", adapterType: "human", person: own.personId } as const;
    await board(createAgent, { ...seat, name: place.world.name() });
    return { path: events(place), headers: asBrowser(place, own) };
  }),
  ...["-1", "1e3", "0x1", "1;drop table events", "9".repeat(40)].map((after) =>
    answered("stream", stream, `the event stream after ${after}`, 400, (place) => ({
      path: events(place, `&after=${encodeURIComponent(after)}`),
      headers: { authorization: `Bearer ${place.world.tokens.board}` },
    })),
  ),
  row("stream", stream, "an open event stream of a person who is removed", "it ends", async (place) => {
    const own = await browser(place);
    const asked = request(new URL(events(place, "&after=now"), place.daemon.url), {
      headers: asBrowser(place, own),
    });
    asked.end();
    const [answer] = await once(asked, "response");
    assert.equal(answer.statusCode, 200);
    const ended = once(answer.resume(), "close");
    await place.world.org.board(removePerson, { id: own.personId });
    await ended;
  }),
];

const following = "following the transcript of a session";
const transcript = async ({ world }: Place, query = ""): Promise<string> => {
  const { sessions } = await world.org.board(listSessions, { companyId: world.org.companyId, limit: 1 });
  return `/api/sessions/${sessions[0]?.id ?? "none"}/transcript/stream${query}`;
};

const transcriptAttacks: readonly DoorAttack[] = [
  answered("transcript-stream", following, "a transcript without a credential", 401, async (place) => ({
    path: await transcript(place),
  })),
  answered(
    "transcript-stream",
    following,
    "a transcript with the token in the query string",
    401,
    async (place) => ({ path: await transcript(place, `?token=${place.world.tokens.board}`) }),
  ),
  answered("transcript-stream", following, "a transcript with a cookie alone", 401, async (place) => ({
    path: await transcript(place),
    headers: { cookie: `${nameOf(place)}=${(await browser(place, "board")).cookie}` },
  })),
  answered(
    "transcript-stream",
    following,
    "a transcript with the code of a sign-in link",
    401,
    async (place) => ({
      path: await transcript(place),
      headers: { authorization: `Bearer ${(await invite(place, "board")).code}` },
    }),
  ),
  ...(["root", "report", "session"] as const).map((who) =>
    answered(
      "transcript-stream",
      following,
      `a transcript with the token of the ${who}`,
      403,
      async (place) => ({
        path: await transcript(place),
        headers: { authorization: `Bearer ${place.world.tokens[who]}` },
      }),
    ),
  ),
  answered(
    "transcript-stream",
    following,
    "a transcript by an agent of another company",
    403,
    async (place) => ({
      path: await transcript(place),
      headers: { authorization: `Bearer ${place.foreign.token}` },
    }),
  ),
  ...["-1", "1e3", "soon", "9".repeat(40)].map((after) =>
    answered("transcript-stream", following, `a transcript after ${after}`, 400, async (place) => ({
      path: await transcript(place, `?after=${after}`),
      headers: { authorization: `Bearer ${place.world.tokens.board}` },
    })),
  ),
  ...["POST", "PUT"].map((method) =>
    answered("transcript-stream", following, `${method} of a transcript's stream`, 404, async (place) => ({
      method,
      path: await transcript(place),
      headers: { ...json, authorization: `Bearer ${place.world.tokens.board}` },
      body: "{}",
    })),
  ),
];

const batch = "reading several things in one request";
const batched = (calls: readonly unknown[], headers: Record<string, string>) => ({
  method: "POST",
  path: "/api/batch",
  headers: { ...json, ...headers },
  body: JSON.stringify({ calls }),
});
const listCall = { operation: "company.list" };

/** Checks that the batch is answered, and that each of its calls is refused with this status. */
const refusedInside = (
  attempt: string,
  status: number,
  sent: (place: Place) => { calls: readonly unknown[]; token: string },
): DoorAttack =>
  row("batch", batch, attempt, `every call gets ${status}, and nothing is shown`, async (place) => {
    const { calls, token } = sent(place);
    const got = await send(place.daemon.url, {
      ...batched(calls, { host: hostOf(place), authorization: `Bearer ${token}` }),
    });
    assert.equal(got.status, 200, got.body);
    const lines = got.body.trim().split("\n");
    assert.equal(lines.length, calls.length);
    for (const line of lines) assert.equal(JSON.parse(line).status, status, line.slice(0, 300));
    assert.ok(!got.body.includes('"output"') && !got.body.includes(place.world.tokens.board));
  });

const batchAttacks: readonly DoorAttack[] = [
  answered("batch", batch, "a batch without a credential", 401, () => batched([listCall], {})),
  answered("batch", batch, "a batch with a cookie alone", 401, async (place) =>
    batched([listCall], { cookie: `${nameOf(place)}=${(await browser(place, "board")).cookie}` }),
  ),
  answered("batch", batch, "a batch with the page key alone", 401, async (place) =>
    batched([listCall], { "x-agency-page": (await browser(place, "board")).pageKey }),
  ),
  answered("batch", batch, "a batch of a browser from another origin", 403, async (place) =>
    batched([listCall], {
      ...asBrowser(place, await browser(place, "board")),
      origin: "http://evil.example",
    }),
  ),
  answered("batch", batch, "a batch with the code of a sign-in link", 401, async (place) =>
    batched([listCall], { authorization: `Bearer ${(await invite(place, "board")).code}` }),
  ),
  answered("batch", batch, "a batch in the query string of a GET", 404, (place) => ({
    path: `/api/batch?calls=${encodeURIComponent(JSON.stringify([listCall]))}`,
    headers: { authorization: `Bearer ${place.world.tokens.board}` },
  })),
  ...(["root", "report", "session"] as const).flatMap((who) => [
    refusedInside(`a batch of what only the board reads, with the token of the ${who}`, 403, ({ world }) => ({
      calls: [{ operation: "person.list" }, { operation: "installation.view" }],
      token: world.tokens[who],
    })),
    refusedInside(
      `a batch about another company, with the token of the ${who}`,
      404,
      ({ world, foreign }) => ({
        calls: [{ operation: "company.view", input: { companyId: foreign.companyId } }],
        token: world.tokens[who],
      }),
    ),
  ]),
  refusedInside("a batch with changes in it", 400, ({ world }) => ({
    calls: [
      { operation: "company.freeze", input: { companyId: world.org.companyId } },
      { operation: "person.sign_out", input: {} },
      { operation: "person.sign_in", input: { code: "x" } },
    ],
    token: world.tokens.board,
  })),
];

const figures = "reading figures of the companies";

const metricsAttacks: readonly DoorAttack[] = [
  answered("metrics", figures, "GET /metrics without a credential", 401, () => ({ path: "/metrics" })),
  ...(["root", "report", "session"] as const).map((who) =>
    answered("metrics", figures, `GET /metrics with the token of the ${who}`, 403, ({ world }) => ({
      path: "/metrics",
      headers: { authorization: `Bearer ${world.tokens[who]}` },
    })),
  ),
  answered("metrics", figures, "GET /metrics with a cookie alone", 401, async (place) => ({
    path: "/metrics",
    headers: { cookie: `${nameOf(place)}=${(await browser(place, "board")).cookie}` },
  })),
  ...["/metrics/", "/metrics/../api/companies", "/METRICS"].map((path) =>
    answered("metrics", figures, `GET ${path} without a credential`, [401, 404], () => ({ path })),
  ),
];

const callback = "signing in for a server of the company";

const callbackAttacks: readonly DoorAttack[] = [
  "",
  "?state=x&code=y",
  "?code=y",
  `?state=${"a".repeat(4000)}&code=y`,
  "?state=x&state=y&code=z",
].map((query) =>
  row(
    "sign-in-page",
    callback,
    `the page after signing in, with ${query.slice(0, 30) || "nothing"}`,
    "a refusal as plain text that can't act, without a cookie",
    async (place) => {
      const got = await send(place.daemon.url, {
        path: `/oauth/callback${query}`,
        headers: { host: hostOf(place) },
      });
      assert.ok(got.status >= 400 && got.status < 500, `${got.status} ${got.body.slice(0, 300)}`);
      assert.match(String(got.headers["content-type"]), /^text\/plain/);
      assert.match(String(got.headers["content-security-policy"]), /^default-src 'none'/);
      assert.equal(got.headers["set-cookie"], undefined);
    },
  ),
);

const models = "using a model at the company's cost";

const modelAttacks: readonly DoorAttack[] = [
  ...(["none", "board", "root", "report"] as const).map((who) =>
    answered(
      "model",
      models,
      `a model call with ${who === "none" ? "no token" : `the token of the ${who}, which is no session`}`,
      [401, 403],
      ({ world }) => ({
        method: "POST",
        path: "/model/anthropic/v1/messages",
        headers: {
          ...json,
          ...(who === "none"
            ? {}
            : { authorization: `Bearer ${world.tokens[who]}`, "x-api-key": world.tokens[who] }),
        },
        body: JSON.stringify({ model: "claude", max_tokens: 10, messages: [] }),
      }),
    ),
  ),
  ...["anthropic", "claude-subscription", "openai", "codex-subscription"].map((provider) =>
    row(
      "model",
      models,
      `the default model of ${provider}, by a session whose brain uses another provider or none`,
      "403, and the provider is not asked",
      async ({ daemon, world }) => {
        const { status, body } = await send(daemon.url, {
          method: "POST",
          path: `/model/${provider}/v1/messages`,
          headers: { ...json, authorization: `Bearer ${world.tokens.session}` },
          body: JSON.stringify({ max_tokens: 10, messages: [] }),
        });
        assert.equal(status, 403, body);
        assert.match(body, /does not use the provider/);
      },
    ),
  ),
  ...[
    "/model/none/v1/messages",
    "/model/anthropic/../../api/companies",
    "/model/anthropic/%2e%2e/%2e%2e/v1/organizations",
    "/model/http:%2f%2fevil.example/v1/messages",
    "/model//v1/messages",
  ].map((path) =>
    answered(
      "model",
      models,
      `POST ${path} with the token of a session`,
      [400, 401, 403, 404],
      ({ world }) => ({
        method: "POST",
        path,
        headers: { ...json, authorization: `Bearer ${world.tokens.session}` },
        body: "{}",
      }),
    ),
  ),
];

const outside = "reaching a host without the right";

/** The daemon's answer to a program that uses it as a proxy. */
function proxied(attempt: string, expected: RegExp, lines: (place: Place) => readonly string[]): DoorAttack {
  return row("relay", outside, attempt, `${expected.source.slice(-20)}, and no connection`, async (place) => {
    const answer = await sendBytes(
      place.daemon.url,
      `${lines(place).join("\r\n")}\r\nConnection: close\r\n\r\n`,
    );
    assert.match(answer, expected);
    assert.ok(!answer.includes(place.world.org.companyId));
  });
}

const password = (token: string): string =>
  `Proxy-Authorization: Basic ${Buffer.from(`agency:${token}`).toString("base64")}`;

const relayAttacks: readonly DoorAttack[] = [
  proxied("CONNECT without a password", /^HTTP\/1\.1 407/, () => [
    "CONNECT example.com:443 HTTP/1.1",
    "Host: example.com:443",
  ]),
  ...(["board", "root", "report"] as const).map((who) =>
    proxied(`CONNECT with the token of the ${who}, which is no session`, /^HTTP\/1\.1 407/, ({ world }) => [
      "CONNECT example.com:443 HTTP/1.1",
      "Host: example.com:443",
      password(world.tokens[who]),
    ]),
  ),
  ...[
    "127.0.0.1",
    "localhost",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "169.254.169.254",
    "0x7f000001",
    "2130706433",
    "0",
  ].map((host) =>
    proxied(
      `CONNECT to ${host}, the daemon's own port, with the token of a session`,
      /^HTTP\/1\.1 (?:400|403)/,
      (place) => [
        `CONNECT ${host}:${new URL(place.daemon.url).port} HTTP/1.1`,
        `Host: ${host}`,
        password(place.world.tokens.session),
      ],
    ),
  ),
  ...[
    "http://169.254.169.254/latest/meta-data/",
    "http://127.0.0.1/",
    "https://example.com/",
    "http://user@127.0.0.1/",
  ].map((target) =>
    proxied(
      `GET ${target} through the daemon, with the token of a session`,
      /^HTTP\/1\.1 (?:400|401|403|404)/,
      (place) => [`GET ${target} HTTP/1.1`, `Host: ${hostOf(place)}`, password(place.world.tokens.session)],
    ),
  ),
  proxied("CONNECT with a line break in the host", /^HTTP\/1\.1 (?:400|403|407)/, ({ world }) => [
    "CONNECT example.com%0d%0aHost:443 HTTP/1.1",
    "Host: example.com",
    password(world.tokens.session),
  ]),
];

export const otherDoorAttacks: readonly DoorAttack[] = [
  ...streamAttacks,
  ...transcriptAttacks,
  ...batchAttacks,
  ...metricsAttacks,
  ...callbackAttacks,
  ...modelAttacks,
  ...relayAttacks,
];
