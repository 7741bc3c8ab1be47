// Attacks on a browser's credentials and files: its cookie and page key, sign-in links, the files of the dashboard.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removePerson } from "../../src/contract/people.ts";
import { openSite } from "../../src/doors/site.ts";
import { type Received, send, type Sent } from "./attack.ts";
import {
  answered,
  asBrowser,
  type Browser,
  browser,
  type DoorAttack,
  hostOf,
  invite,
  json,
  listing,
  nameOf,
  row,
  showsNothing,
  signInWith,
} from "./door-scenes.ts";

const stolen = "a browser's credential in other hands";

const credentialAttacks: readonly DoorAttack[] = [
  row(
    "credential",
    stolen,
    "cookie and page key of one browser together",
    "the list, so the rows below say something",
    async (place) => {
      const got = await send(place.daemon.url, {
        path: listing(place),
        headers: asBrowser(place, await browser(place)),
      });
      assert.equal(got.status, 200, got.body);
    },
  ),
  row(
    "credential",
    stolen,
    "what a browser gets when it signs in",
    "a cookie that no script can read, and never in the body",
    async (place) => {
      const { setCookie, cookie, body } = await browser(place);
      assert.match(setCookie, /; HttpOnly; SameSite=Strict; Path=\/; Max-Age=\d+$/);
      assert.ok(cookie.length > 40 && !body.includes(cookie));
    },
  ),
  ...(
    [
      ["the cookie without a page key", 401, (own) => ({ "x-agency-page": undefined, own })],
      ["the page key without a cookie", 401, () => ({ cookie: undefined })],
      ["an empty page key", 401, () => ({ "x-agency-page": "" })],
      [
        "the page key twice in one header",
        401,
        ({ pageKey }) => ({ "x-agency-page": `${pageKey}, ${pageKey}` }),
      ],
      [
        "the cookie with the page key of another browser",
        401,
        (_, other) => ({ "x-agency-page": other.pageKey }),
      ],
      [
        "the cookie of another browser before its own",
        401,
        (own, other, name) => ({ cookie: `${name}=${other.cookie}; ${name}=${own.cookie}` }),
      ],
      [
        "the cookie under the name of another port",
        401,
        (own) => ({ cookie: `agency_session_1=${own.cookie}` }),
      ],
      [
        "cookie and page key the other way round",
        401,
        (own, _, name) => ({ cookie: `${name}=${own.pageKey}`, "x-agency-page": own.cookie }),
      ],
      [
        "the cookie as a bearer token",
        401,
        (own) => ({ cookie: undefined, authorization: `Bearer ${own.cookie}` }),
      ],
      [
        "the page key as a bearer token, with the cookie",
        401,
        (own) => ({ authorization: `Bearer ${own.pageKey}` }),
      ],
      ["Sec-Fetch-Site: cross-site", 403, () => ({ "sec-fetch-site": "cross-site" })],
      ["Sec-Fetch-Site: same-site, as from another port", 403, () => ({ "sec-fetch-site": "same-site" })],
      [
        "the Origin of this daemon by another of its names",
        403,
        (_, __, name) => ({ origin: `http://localhost:${name.split("_").at(-1)}` }),
      ],
      ["Origin: null, as from a frame in a sandbox", 403, () => ({ origin: "null" })],
    ] satisfies [string, number, (own: Browser, other: Browser, name: string) => Record<string, unknown>][]
  ).map(([attempt, status, change]) =>
    answered("credential", stolen, attempt, status, async (place) => {
      const [own, other] = [await browser(place), await browser(place)];
      const { own: _, ...changed } = { own, ...change(own, other, nameOf(place)) };
      const headers = Object.entries({ ...asBrowser(place, own), ...changed });
      return {
        path: listing(place),
        headers: Object.fromEntries(
          headers.flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])),
        ),
      };
    }),
  ),
  row("credential", stolen, "cookie and page key after signing out", "401", async (place) => {
    const headers = asBrowser(place, await browser(place));
    const out = await send(place.daemon.url, {
      method: "POST",
      path: "/api/sign-out",
      headers: { ...headers, ...json },
      body: "{}",
    });
    assert.equal(out.status, 200, out.body);
    assert.match(String(out.headers["set-cookie"]), /Max-Age=0$/);
    assert.equal((await send(place.daemon.url, { path: listing(place), headers })).status, 401);
  }),
  row(
    "credential",
    stolen,
    "cookie and page key of a person who was removed, for a list just shown",
    "401",
    async (place) => {
      const own = await browser(place);
      const ask = () => send(place.daemon.url, { path: listing(place), headers: asBrowser(place, own) });
      assert.deepEqual([(await ask()).status, (await ask()).status], [200, 200]);
      await place.world.org.board(removePerson, { id: own.personId });
      assert.equal((await ask()).status, 401);
    },
  ),
  row(
    "credential",
    "reading a browser's memory of an answer",
    "an ETag that another credential got",
    "the answer again, or a refusal, never what the other saw",
    async (place) => {
      const { daemon, world, foreign } = place;
      const ask = (token: string, tag?: string) =>
        send(daemon.url, {
          path: listing(place),
          headers: {
            host: hostOf(place),
            authorization: `Bearer ${token}`,
            ...(tag && { "if-none-match": tag }),
          },
        });
      const { headers } = await ask(world.tokens.board);
      const { status } = await ask(foreign.token, String(headers["etag"]));
      assert.equal(status, 404);
    },
  ),
];

const links = "signing in as another person";

const linkAttacks: readonly DoorAttack[] = [
  ...["", "x", "agl_guess", "agl_".padEnd(400, "a")].map((code) =>
    answered(
      "sign-in",
      links,
      `a guessed code of ${code.length} characters`,
      [400, 401, 403, 404, 410, 422],
      () => ({
        method: "POST",
        path: "/api/sign-in",
        headers: json,
        body: JSON.stringify({ code }),
      }),
    ),
  ),
  row("sign-in", links, "a code that was used", "refused, without a cookie", async (place) => {
    const { code } = await browser(place);
    const got = await signInWith(place, code);
    assert.ok(got.status >= 400);
    showsNothing(place, got);
  }),
  row("sign-in", links, "one code ten times at the same time", "one sign-in", async (place) => {
    const { code } = await invite(place);
    const got = await Promise.all(Array.from({ length: 10 }, () => signInWith(place, code)));
    assert.equal(got.filter(({ status }) => status === 200).length, 1);
  }),
  answered("sign-in", links, "the code of a link as a bearer token", 401, async (place) => ({
    path: listing(place),
    headers: { authorization: `Bearer ${(await invite(place, "board")).code}` },
  })),
  answered("sign-in", links, "a valid code with the Origin of another site", 403, async (place) => ({
    method: "POST",
    path: "/api/sign-in",
    headers: { ...json, origin: "http://evil.example" },
    body: JSON.stringify({ code: (await invite(place)).code }),
  })),
  answered("sign-in", links, "a valid code in a form of another site", [400, 401, 415], async (place) => ({
    method: "POST",
    path: "/api/sign-in",
    headers: { "content-type": "text/plain" },
    body: JSON.stringify({ code: (await invite(place)).code }),
  })),
  answered("sign-in", links, "a valid code in the query string", [400, 401], async (place) => ({
    method: "POST",
    path: `/api/sign-in?code=${(await invite(place)).code}`,
    headers: json,
  })),
  ...(["report", "session"] as const).map((who) =>
    answered(
      "sign-in",
      links,
      `a link for the first person, with the token of the ${who}`,
      403,
      ({ world }) => ({
        method: "POST",
        path: "/api/people/Owner/sign-in-link",
        headers: { ...json, authorization: `Bearer ${world.tokens[who]}` },
        body: "{}",
      }),
    ),
  ),
  row(
    "sign-in",
    "learning who the people are",
    "a viewer asks for links of a name that exists and of one that does not",
    "the same refusal",
    async (place) => {
      const headers = { ...asBrowser(place, await browser(place)), ...json };
      const ask = async (name: string) => {
        const got = await send(place.daemon.url, {
          method: "POST",
          path: `/api/people/${name}/sign-in-link`,
          headers,
          body: "{}",
        });
        return `${got.status} ${got.body.replaceAll(name, "…")}`;
      };
      assert.equal(await ask("Owner"), await ask("Nemo"));
    },
  ),
];

const files = "reading files through the dashboard";

/** The dashboard's door over a folder with secrets beside and inside it. */
async function atSite(work: (ask: (sent: Sent) => Promise<Received>) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "agency-site-"));
  const site = join(folder, "web");
  mkdirSync(join(site, "assets"), { recursive: true });
  writeFileSync(join(folder, "board-token"), canary);
  for (const path of ["unlisted.js", "assets/unlisted.js", ".env"]) writeFileSync(join(site, path), canary);
  for (const path of ["index.html", "assets/a.js"]) writeFileSync(join(site, path), "the page");
  const listed = ["/index.html", "/assets/a.js"].map((path) => ({ path, gzip: false }));
  writeFileSync(join(site, "files.json"), JSON.stringify(listed));
  const door = openSite(site);
  const server = createServer((asked, response) => {
    if (door.isFor(asked)) return void door.answer(asked, response);
    response.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const address = server.address();
    await work((sent) => send(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, sent));
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
}
const canary = "canary of a file that is nobody's to read";

const siteAttacks: readonly DoorAttack[] = [
  ...[
    "/../board-token",
    "/assets/../../board-token",
    "/%2e%2e/board-token",
    "/assets/..%2f..%2fboard-token",
    "/assets/..\\..\\board-token",
    "//board-token",
    "/assets/a.js/../../../board-token",
    "/assets/unlisted.js",
    "/unlisted.js",
    "/files.json",
    "/.env",
    "/assets/a.js%00.html",
    "/agents/%2e%2e%2f%2e%2e%2fboard-token",
  ].map((path) =>
    row("site", files, `GET ${path}`, "404, or the page, never the file", () =>
      atSite(async (ask) => {
        assert.equal((await ask({ path: "/" })).body, "the page");
        const { status, body } = await ask({ path });
        assert.ok(!body.includes(canary) && (status === 404 || body === "the page"), `${status} ${body}`);
      }),
    ),
  ),
  ...["POST", "PUT", "DELETE"].map((method) =>
    row("site", files, `${method} /assets/a.js`, "404", () =>
      atSite(async (ask) => assert.equal((await ask({ method, path: "/assets/a.js" })).status, 404)),
    ),
  ),
  row(
    "site",
    "scripts of others in the dashboard",
    "the policy of the page",
    "own files only, no inline script, no frame, no base",
    () =>
      atSite(async (ask) => {
        const { headers } = await ask({ path: "/agents/x" });
        const policy = new Map(
          String(headers["content-security-policy"])
            .split("; ")
            .map((part) => [part.split(" ")[0], part]),
        );
        assert.equal(policy.get("default-src"), "default-src 'self'");
        assert.equal(policy.get("frame-ancestors"), "frame-ancestors 'none'");
        assert.equal(policy.get("base-uri"), "base-uri 'none'");
        assert.ok(!/unsafe|\*|https?:/.test([...policy.values()].join(" ")));
        assert.equal(headers["x-content-type-options"], "nosniff");
        assert.equal(headers["access-control-allow-origin"], undefined);
      }),
  ),
  ...["/csp-report", "/api/csp-report", "/report"].map((path) =>
    answered(
      "site",
      "filling the disk with reports",
      `a report of a policy at ${path}, without a credential`,
      [401, 404],
      () => ({
        method: "POST",
        path,
        headers: { "content-type": "application/csp-report" },
        body: JSON.stringify({ "csp-report": { "blocked-uri": "x".repeat(10_000) } }),
      }),
    ),
  ),
];

export const browserAttacks: readonly DoorAttack[] = [...credentialAttacks, ...linkAttacks, ...siteAttacks];
