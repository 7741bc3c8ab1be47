import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { describe, test } from "node:test";
import { viewAttention } from "../contract/attention.ts";
import { dress } from "./look.ts";
import { screens } from "./screens.ts";
import { drawStatus, statusOf } from "./status.ts";

const now = Date.parse("2026-03-04T12:00:00.000Z");
const look = { columns: 140, now, short: (text: string) => text };
const id = "01a1e38b-0000-7000-8000-000000000001";

const plainly = (text: string): string => dress(text, false);
const says = "80 % of the budget of Ann is spent: $8.00 of $10.00.";

/** One budget of which 80 % are spent, and one item of the given kind. */
function attention(usedUp: boolean) {
  const budget = (title: string, isUsedUp: boolean) => ({
    kind: "budget" as const,
    subject: { kind: "agent", id, title },
    title,
    reason: isUsedUp ? "It is used up." : "80 % are spent.",
    by: null,
    since: new Date(now).toISOString(),
    expires: null,
    holdsUp: { count: 0, outcomes: [] },
    facts: { usedUp: isUsedUp },
    abilities: [],
  });
  const items = [budget("The budget of Ann", false), ...(usedUp ? [budget("The budget of Otto", true)] : [])];
  return viewAttention.output.parse({
    items,
    nextCursor: null,
    counts: {
      approval: 0,
      question: 0,
      verdict: 0,
      permission: 0,
      stall: 0,
      budget: items.length,
      brain: 0,
      mail: 0,
      server: 0,
    },
    total: items.length,
    pressing: items.length - 1,
    health: { moving: 1, scheduled: 0, waitingForYou: 0, stuck: 0 },
    next: null,
    notes: [{ kind: "budget", subject: { kind: "agent", id, title: "Ann" }, says }],
  });
}

const status = (usedUp: boolean): string =>
  plainly(
    drawStatus(
      {
        company: { id, name: "Mill", slug: "mill", state: "active" },
        url: "http://localhost:4600",
        daemon: null,
        working: [],
        spending: {
          month: "2026-03",
          total: {
            inputTokens: 0,
            outputTokens: 0,
            costUsd: 0,
            sessions: 0,
            consultants: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
          },
          budget: [],
        },
        attention: attention(usedUp),
      },
      look,
    ),
  );

describe("items that need a person, on the command line", () => {
  test("a budget that is nearly used up is a note in both commands, and is not counted", () => {
    const calm = plainly(screens["attention"]?.(attention(false), look) ?? "");
    assert.match(calm, /^Nothing needs you\.$/m);
    assert.doesNotMatch(calm, /^budget:/m);
    assert.ok(calm.endsWith(`Good to know:\n  ${says}`), calm);
    assert.doesNotMatch(status(false), /^Stuck/m);
    assert.ok(status(false).includes(`Note      ${says}`));
    assert.match(status(false), /^Next {6}agency run/m);
  });

  test("a budget that is used up needs a person", () => {
    const pressing = plainly(screens["attention"]?.(attention(true), look) ?? "");
    assert.match(pressing, /^1 item needs you\.$/m);
    assert.match(pressing, /^budget: The budget of Otto$/m);
    assert.doesNotMatch(pressing, /^budget: The budget of Ann/m);
    assert.match(status(true), /^Stuck\n {2}budget The budget of Otto$/m);
    assert.doesNotMatch(status(true), /more: agency attention/);
  });
});

test("answers of another program on the daemon's port are no status", async (t) => {
  const server = createServer((request, response) => {
    const isList = request.url?.startsWith("/api/companies?") === true;
    response.end(
      JSON.stringify(isList ? { companies: [{ id, slug: "bakery", name: "Bakery" }] } : { ok: true }),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const env = { AGENCY_URL: `http://127.0.0.1:${address.port}`, AGENCY_HOME: "/nowhere" };
  assert.equal(await statusOf(env), undefined);
});
