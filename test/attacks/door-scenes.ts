// The common parts of attacks on doors. `door` names the file in src/doors/ (or the route) under attack. The suite fails if a
// door has no row.
import assert from "node:assert/strict";
import { createPerson, type Role } from "../../src/contract/people.ts";
import { type DaemonAttack, type Place, type Received, send, type Sent } from "./attack.ts";

export type DoorAttack = DaemonAttack & { readonly door: string };

const cls = "web page" as const;
export const json = { "content-type": "application/json" };
export const hostOf = ({ daemon }: Place): string => new URL(daemon.url).host;
export const nameOf = (place: Place): string => `agency_session_${new URL(place.daemon.url).port}`;

export interface Browser {
  readonly personId: string;
  readonly cookie: string;
  readonly pageKey: string;
  readonly code: string;
  readonly setCookie: string;
  readonly body: string;
}

export const invite = async ({ world }: Place, role: Role = "viewer") => {
  const { id, signIn } = await world.org.board(createPerson, { name: world.name(), role });
  return { id, code: signIn.code };
};

export const signInWith = (
  place: Place,
  code: string,
  headers: Record<string, string> = {},
): Promise<Received> =>
  send(place.daemon.url, {
    method: "POST",
    path: "/api/sign-in",
    headers: { host: hostOf(place), ...json, ...headers },
    body: JSON.stringify({ code }),
  });

/** A person who has just signed in with a browser. */
export async function browser(place: Place, role: Role = "viewer"): Promise<Browser> {
  const { id: personId, code } = await invite(place, role);
  const { status, headers, body } = await signInWith(place, code);
  assert.equal(status, 200, body);
  const setCookie = String(headers["set-cookie"]);
  const cookie = /=([^;]+);/.exec(setCookie)?.[1] ?? "";
  return { personId, code, cookie, setCookie, body, pageKey: JSON.parse(body).pageKey };
}

export const asBrowser = (place: Place, { cookie, pageKey }: Pick<Browser, "cookie" | "pageKey">) => ({
  host: hostOf(place),
  cookie: `${nameOf(place)}=${cookie}`,
  "x-agency-page": pageKey,
});

export const listing = (place: Place) => `/api/companies/${place.world.org.companyId}/agents`;

export function row(
  door: string,
  threat: string,
  attempt: string,
  expected: string,
  run: (place: Place) => Promise<void>,
): DoorAttack {
  return { door, class: cls, threat, attempt, expected, run };
}

export function showsNothing({ world, foreign }: Place, { body, headers }: Received): void {
  for (const secret of [world.org.rootId, foreign.companyId, world.tokens.board])
    assert.ok(!body.includes(secret), `the answer names ${secret}`);
  assert.equal(headers["set-cookie"], undefined);
}

/** Checks that the request gets one of these statuses, and that the answer shows nothing of a company. */
export function answered(
  door: string,
  threat: string,
  attempt: string,
  statuses: number | readonly number[],
  sent: (place: Place) => Sent | Promise<Sent>,
): DoorAttack {
  const allowed = [statuses].flat();
  return row(door, threat, attempt, `${allowed.join(" or ")}, and nothing is shown`, async (place) => {
    const asked = await sent(place);
    const got = await send(place.daemon.url, {
      ...asked,
      headers: { host: hostOf(place), ...asked.headers },
    });
    assert.ok(allowed.includes(got.status), `${got.status} ${got.body.slice(0, 300)}`);
    showsNothing(place, got);
  });
}
