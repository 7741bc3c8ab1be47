import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { z } from "zod";
import { keepCodexLogins } from "../brains/codex/login.ts";
import { boardInbox } from "../contract/mail.ts";
import { listProviders } from "../contract/providers.ts";
import { setSecret } from "../contract/secrets.ts";
import { viewSession } from "../contract/sessions.ts";
import { always, answers } from "../testing/fake-model/script.ts";
import { gatewayScene, providerKey, sceneModel } from "../testing/gateway-scene.ts";
import { storeKinds } from "../testing/organization.ts";
import { selection } from "../store/query.ts";
import { windowsIn } from "./provider-waits.ts";
import { noteWaiting, stateOfProvider } from "./states.ts";

const inSeconds = (seconds: number): string => String(Math.round(Date.now() / 1000) + seconds);
/** Headers of a subscription: its five hours are partly used, its week is hardly used. */
const windows = (used: number, seconds = 3600) => ({
  "anthropic-ratelimit-unified-status": used >= 1 ? "rejected" : "allowed",
  "anthropic-ratelimit-unified-reset": inSeconds(seconds),
  "anthropic-ratelimit-unified-5h-status": used >= 1 ? "rejected" : "allowed",
  "anthropic-ratelimit-unified-5h-utilization": String(used),
  "anthropic-ratelimit-unified-5h-reset": inSeconds(seconds),
  "anthropic-ratelimit-unified-7d-status": "allowed",
  "anthropic-ratelimit-unified-7d-utilization": "0.1",
  "anthropic-ratelimit-unified-7d-reset": inSeconds(86_400),
});

for (const kind of storeKinds)
  describe(`waiting for a provider on ${kind}`, () => {
    test("shows how much of a subscription is used, and continues to ask while some of it is left", async () => {
      const { ask, fake, org } = await gatewayScene(kind, always(answers("Hi.", { headers: windows(0.4) })));
      for (let at = 0; at < 2; at++) assert.equal((await ask()).status, 200);
      assert.equal(fake.calls.length, 2);
      const { providers } = await org.board(listProviders, { companyId: org.companyId });
      const { status, windows: shown } = providers.find(({ name }) => name === "fake") ?? assert.fail();
      assert.equal(status, "ready");
      assert.deepEqual(
        shown.map(({ name, usedPercent }) => [name, usedPercent]),
        [
          ["5 hours", 40],
          ["week", 10],
        ],
      );
    });

    for (const [how, change, script] of [
      ["used up", {}, always(() => ({ fault: 429 as const, headers: windows(1) }))],
      [
        "used as far as the board allows",
        { mostOfWindows: 80 },
        // The time in the headers starts with the answer.
        always((asked) => answers("Hi.", { headers: windows(0.8) })(asked)),
      ],
    ] as const)
      test(`while a window is ${how}, all agents wait together until it begins again`, async () => {
        const { ask, fake, org, opened, session, thinkWith } = await gatewayScene(kind, script, change);
        await (await ask()).text();
        const asked = fake.calls.length;
        const ben = await org.agent("Ben");
        await thinkWith(ben.id, "anthropic_api", { provider: "fake" });
        const other = await org.session(ben.id);
        for (const token of [session.token, other.token]) {
          const refused = await ask({}, { token });
          assert.equal(refused.status, 429);
          const wait = Number(refused.headers.get("retry-after"));
          assert.ok(wait > 3500 && wait <= 3601, `${wait}`);
        }
        assert.equal(fake.calls.length, asked);
        const { providers } = await org.board(listProviders, { companyId: org.companyId });
        const { status, until } = providers.find(({ name }) => name === "fake") ?? assert.fail();
        assert.equal(status, "waiting");
        const left = Date.parse(until ?? "") - (await opened.store.read(async (tx) => tx.now));
        assert.ok(left > 3_500_000 && left <= 3_601_000, `${left}`);
        const { messages } = await org.board(boardInbox, { companyId: org.companyId });
        assert.equal(
          messages.filter(({ body }) => body?.includes("asks Agency to wait until") === true).length,
          1,
        );
      });

    test("asks again when the window has begun again", async () => {
      const { ask, fake, org, advance } = await gatewayScene(
        kind,
        always(answers("Hi.", { headers: windows(1) })),
      );
      const shown = async () => {
        const { providers } = await org.board(listProviders, { companyId: org.companyId });
        const { status, windows: open } = providers.find(({ name }) => name === "fake") ?? assert.fail();
        return [status, ...open.map(({ name }) => name)];
      };
      await (await ask()).text();
      assert.deepEqual(await shown(), ["waiting", "5 hours", "week"]);
      advance(3_500_000);
      assert.equal((await ask()).status, 429);
      assert.equal(fake.calls.length, 1);
      advance(101_000);
      assert.deepEqual(await shown(), ["ready", "week"]);
      await (await ask()).text();
      assert.equal(fake.calls.length, 2);
    });

    test("a wait and a refused key hold on every node and after a restart", async () => {
      const waiting = await gatewayScene(kind, always(answers("Hi.", { headers: windows(1) })));
      await (await waiting.ask()).text();
      waiting.restart();
      assert.equal((await waiting.ask()).status, 429);
      assert.equal(waiting.fake.calls.length, 1);

      const refused = await gatewayScene(
        kind,
        always(() => ({ fault: 401 })),
      );
      for (let at = 0; at < 2; at++) {
        assert.equal((await refused.ask()).status, 401);
        refused.restart();
      }
      assert.equal(refused.fake.calls.length, 1);
      // The wait continues to grow after restarts.
      refused.advance(31_000);
      await refused.ask();
      refused.restart();
      refused.advance(31_000);
      await refused.ask();
      assert.equal(refused.fake.calls.length, 2);
    });

    test("another account is asked at once, and only the account that has to wait waits", async () => {
      const other = "the-key-of-another-account-1";
      const { ask, fake, org, restart } = await gatewayScene(
        kind,
        always(answers("Hi.", { headers: windows(1) })),
        {},
        sceneModel,
        keepCodexLogins(),
        { [other]: always(answers("Hi.", { headers: windows(0.1) })) },
      );
      const { board, companyId } = org;
      const set = (value: string) => board(setSecret, { companyId, name: "MODEL_KEY", value });
      const status = async () => {
        const { providers } = await board(listProviders, { companyId });
        return providers.find(({ name }) => name === "fake")?.status;
      };
      await (await ask()).text();
      const refused = await ask();
      const { error } = z.object({ error: z.object({ message: z.string() }) }).parse(await refused.json());
      const lifts = /With another account, agents continue at once: agency secrets set MODEL_KEY\./;
      assert.match(error.message, lifts);
      const { messages } = await board(boardInbox, { companyId });
      assert.equal(messages.filter(({ body }) => lifts.test(body ?? "")).length, 1);
      await set(other);
      restart();
      assert.equal(await status(), "ready");
      await set(providerKey);
      assert.deepEqual([(await ask()).status, await status()], [429, "waiting"]);
      await set(other);
      assert.equal((await ask()).status, 200);
      assert.deepEqual(
        fake.calls.map(({ credential }) => credential),
        [providerKey, other],
      );
    });

    test("an account continues to wait when its login gets another token", async () => {
      const { opened, org } = await gatewayScene(kind, always(answers("Hi.")));
      const { companyId } = org;
      const used = { key: "one token", accountId: "an account" };
      await opened.store.write((tx) =>
        noteWaiting(tx, companyId, "fake", { says: "Wait.", until: tx.now + 60_000, used }),
      );
      const waits = (change: Partial<typeof used>) =>
        opened.store.read((tx) => stateOfProvider(tx, companyId, "fake", { ...used, ...change }));
      assert.equal((await waits({ key: "another token" }))?.cause, "waiting");
      assert.equal(await waits({ accountId: "another account" }), undefined);
    });

    test("waits for parts of a second, and for a window that ends between two milliseconds", async () => {
      const busy = await gatewayScene(
        kind,
        always(() => ({ fault: 429, headers: { "retry-after": "66.1" } })),
      );
      const refused = await busy.ask();
      assert.deepEqual([refused.status, busy.bugs], [429, []]);
      assert.equal((await busy.ask()).headers.get("retry-after"), "67");
      assert.equal(busy.fake.calls.length, 1);
      const odd = {
        "anthropic-ratelimit-unified-5h-utilization": "-9e99",
        "anthropic-ratelimit-unified-5h-reset": "-9e99",
        "anthropic-ratelimit-unified-7d-utilization": "9e99",
        "anthropic-ratelimit-unified-7d-reset": String(Date.now() / 1000 + 16.1001),
      };
      const full = await gatewayScene(kind, always(answers("Hi.", { headers: odd })));
      assert.equal((await full.ask()).status, 200);
      assert.deepEqual([(await full.ask()).status, full.bugs], [429, []]);
    });

    test("a paid answer is passed on and booked, even if its usage can't be read", async () => {
      for (const fails of ["read", "write"] as const) {
        const scene = await gatewayScene(
          kind,
          always((asked) => {
            failing.mock.mockImplementationOnce(() => Promise.reject(new Error("The database restarts.")));
            return answers("Hi.", { headers: windows(0.4), usage: { input: 1000, output: 20 } })(asked);
          }),
        );
        const failing = mock.method(scene.opened.store, fails);
        const answer = await scene.ask();
        assert.equal(answer.status, 200, fails);
        assert.match(await answer.text(), /Hi\./);
        await scene.booked();
        const { usage } = await scene.org.board(viewSession, { id: scene.session.id });
        assert.deepEqual([usage.inputTokens, usage.outputTokens], [1000, 20], fails);
        assert.deepEqual(scene.bugs.map(String), ["Error: The database restarts."]);
      }
    });

    test("a key that was refused is in no row of the database", async () => {
      const { ask, opened, org } = await gatewayScene(
        kind,
        always(() => ({ fault: 401, says: `The key ${providerKey} is wrong.` })),
      );
      await ask();
      const rows = await opened.store.read((tx) =>
        tx.all(selection("provider_limits", ["company_id"]), { company_id: org.companyId }),
      );
      assert.equal(rows[0]?.cause, "refused");
      assert.doesNotMatch(JSON.stringify(rows), new RegExp(providerKey));
    });
  });

test("the windows of each kind of subscription are understood, and those of one model are left out", () => {
  const now = Date.now();
  const codex = new Headers({
    "x-codex-primary-used-percent": "83.4",
    "x-codex-primary-window-minutes": "300",
    "x-codex-primary-reset-after-seconds": "60",
    "x-codex-secondary-used-percent": "100",
    "x-codex-secondary-window-minutes": "10080",
    "x-codex-secondary-reset-at": String(now / 1000 + 120),
  });
  assert.deepEqual(windowsIn(codex, now), [
    { name: "5 hours", used: 83, until: now + 60_000 },
    { name: "week", used: 100, until: now + 120_000 },
  ]);
  const onlyOneModel = { "anthropic-ratelimit-unified-7d_opus-utilization": "1" };
  assert.deepEqual(windowsIn(new Headers(onlyOneModel), now), []);
  const reset = Math.ceil(now / 1000) + 600;
  const bare = {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": String(reset),
  };
  assert.deepEqual(windowsIn(new Headers(bare), now), [
    { name: "subscription", used: 100, until: reset * 1000 },
  ]);
  for (const broken of ["", "x", "-", "NaN"])
    assert.deepEqual(
      windowsIn(new Headers({ "anthropic-ratelimit-unified-5h-utilization": broken }), now),
      [],
    );
});

test("a window never ends later than in a month, whatever the provider says", () => {
  const now = Date.parse("2030-01-01T00:00:00Z");
  const headers = new Headers({
    "anthropic-ratelimit-unified-5h-utilization": "1",
    "anthropic-ratelimit-unified-5h-reset": "9e99",
  });
  const [window] = windowsIn(headers, now);
  assert.equal(new Date(window?.until ?? 0).toISOString(), "2030-02-01T00:00:00.000Z");
});
