import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fakeAccessToken, fakeAccount, type FakeLogin, fakeLogin } from "../../testing/codex-login.ts";
import { keepCodexLogins } from "./login.ts";

async function withLogin(play: (login: FakeLogin) => Promise<void>): Promise<void> {
  const login = fakeLogin();
  try {
    await play(login);
  } finally {
    login.remove();
  }
}

const minutes = 60;

test("a login that expires soon is renewed once by Codex itself, for all that ask at the same time", () =>
  withLogin(async (login) => {
    const logins = keepCodexLogins({ path: login.path });
    login.signIn(fakeAccessToken(60 * minutes));
    assert.equal(Object(await logins.use(login.file)).accountId, fakeAccount);
    assert.equal(login.renewals(), 0);

    for (const seconds of [-10, 2 * minutes]) {
      const before = login.renewals();
      login.signIn(fakeAccessToken(seconds));
      const next = fakeAccessToken(60 * minutes);
      login.renewsTo(next);
      const all = await Promise.all(Array.from({ length: 20 }, () => logins.use(login.file)));
      assert.deepEqual(new Set(all.map((one) => Object(one).token)), new Set([next]));
      assert.equal(login.renewals(), before + 1);
      assert.match(login.refreshToken(), /-renewed$/, "Codex wrote the file");
    }
  }));

test("a refused token is renewed once, and not again if the new one is refused as well", () =>
  withLogin(async (login) => {
    const logins = keepCodexLogins({ path: login.path });
    const [old, next] = [fakeAccessToken(60 * minutes), fakeAccessToken(60 * minutes)];
    login.signIn(old);
    login.renewsTo(next);
    assert.equal(Object(await logins.use(login.file, old)).token, next);
    // A call with the old token was still under way.
    assert.equal(Object(await logins.use(login.file, old)).token, next);
    assert.equal(Object(await logins.use(login.file, next)).token, next);
    assert.equal(login.renewals(), 1);
  }));

test("a clock that is set meanwhile does not shorten the pause after a renewal that failed", () =>
  withLogin(async (login) => {
    const logins = keepCodexLogins({ path: login.path });
    const expired = fakeAccessToken(-10);
    login.signIn(expired);
    login.renewsTo(expired);
    assert.match(Object(await logins.use(login.file)).says, /could not renew/);
    const { now } = Date;
    let found: unknown;
    try {
      Date.now = () => now() + 3_600_000;
      found = logins.look(login.file);
    } finally {
      Date.now = now;
    }
    const { says, wait } = Object(found);
    assert.match(String(says), /could not renew/);
    assert.ok(wait > 0 && wait <= 60_000, `${wait} ms`);
  }));

test("a login that can't be used says why, and a new one is used at once", () =>
  withLogin(async (login) => {
    const { file, path } = login;
    const logins = keepCodexLogins({ path, home: dirname(path) });
    const says = (at = file): string => String(Object(logins.look(at)).says);
    assert.match(says(), /can't read the file.*codex login/);
    assert.match(says("auth.json"), /can't read the file/);
    login.signIn(fakeAccessToken(-10));
    assert.match(says(), /Agency's own folder/);
    assert.match(says(path), /does not name the file auth.json/);
    const inside = join(dirname(path), "homes");
    mkdirSync(inside);
    const outside = keepCodexLogins({ path, home: inside });
    assert.equal(
      Object(await outside.use(file)).says?.includes("signed out: its login could not be renewed"),
      true,
    );
    assert.equal(login.renewals(), 1);
    // The login is not asked again before the file changes.
    assert.match(Object(await outside.use(file)).says, /codex login/);
    assert.equal(login.renewals(), 1);

    const bare = keepCodexLogins({ path: inside });
    assert.match(Object(bare.look(file)).says, /has expired.*no program called "codex".*npm install/);
    const soon = fakeAccessToken(2 * minutes);
    login.signIn(soon);
    assert.equal(Object(await bare.use(file)).token, soon, "it is used while it is valid");

    const fresh = fakeAccessToken(60 * minutes);
    login.signIn(fresh);
    assert.equal(Object(await outside.use(file)).token, fresh);
    for (const content of ["{}", "not JSON", `{"OPENAI_API_KEY":"sk-1","tokens":null}`]) {
      writeFileSync(file, content);
      assert.match(Object(await outside.use(file)).says, /no login with ChatGPT.*keyring/);
    }
    rmSync(file);
    assert.match(Object(await outside.use(file)).says, /can't read the file/);
  }));
