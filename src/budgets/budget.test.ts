import assert from "node:assert/strict";
import { test } from "node:test";
import {
  advance,
  furthest,
  isNearlyUsedUp,
  isUsedUp,
  left,
  monthOf,
  nextMonth,
  spend,
  unused,
} from "./budget.ts";

const none = unused;
const pool = (limit: number | null, spent: number, reserved = 0, handedDown = 0) => ({
  limit,
  spent,
  reserved,
  handedDown,
});

test("usage is taken first from the reservation, then from the pool, and only the rest exceeds the limit", () => {
  const quantum = 10;
  // [used, held, pool as it is with what is held, from the pool, beyond it, held after]
  const cases: [number, number, ReturnType<typeof pool>, number, number, number][] = [
    [4, 10, pool(100, 0, 10), 4, 0, 6],
    [10, 10, pool(100, 0, 10), 10, 0, 10],
    [10, 10, pool(15, 0, 10), 10, 0, 5],
    [10, 10, pool(10, 0, 10), 10, 0, 0],
    [14, 10, pool(20, 0, 10), 14, 0, 6],
    [14, 10, pool(14, 0, 10), 14, 0, 0],
    [14, 10, pool(12, 0, 10), 12, 2, 0],
    [14, 10, pool(30, 0, 10, 20), 10, 4, 0],
    [14, 10, pool(5, 9, 10), 10, 4, 0],
    [1e12, 10, pool(null, 5, 10), 1e12, 0, 10],
  ];
  for (const [used, held, figures, fromPool, beyond, after] of cases)
    assert.deepEqual(
      spend({ used, held, quantum }, figures),
      { fromPool, beyond, held: after },
      JSON.stringify({ used, held, figures }),
    );
});

test("whatever usage is reported, a pool never gives out more than it has", () => {
  let seed = 7;
  const random = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % (most + 1);
  for (let run = 0; run < 2000; run++) {
    const limit = random(200);
    const held = Math.min(limit, random(40));
    const handedDown = random(limit - held);
    const spent = random(limit - held - handedDown);
    const used = random(120);
    const result = spend({ used, held, quantum: random(40) + 1 }, pool(limit, spent, held, handedDown));
    assert.equal(result.fromPool + result.beyond, used);
    assert.ok(result.held >= 0 && result.fromPool >= 0 && result.beyond >= 0);
    assert.ok(left(pool(limit, spent + result.fromPool, result.held, handedDown)) >= 0, String(run));
    if (result.beyond > 0) assert.equal(result.held, 0);
  }
});

test("only spending uses up a pool, reservations of others don't, and a pool without a limit is never used up", () => {
  assert.equal(isUsedUp(pool(10, 10)), true);
  assert.equal(isUsedUp(pool(10, 5, 5)), false);
  assert.equal(isUsedUp(pool(10, 5, 0, 5)), true);
  assert.equal(isUsedUp(pool(0, 0)), true);
  assert.equal(isUsedUp(pool(null, 1e15)), false);
  assert.deepEqual(
    [7, 8, 10].map((spent) => isNearlyUsedUp(pool(10, spent))),
    [false, true, true],
  );
  assert.equal(isNearlyUsedUp(pool(10, 4, 0, 5)), true);
  assert.equal(isNearlyUsedUp(pool(10, 0, 0, 10)), false);
});

test("a usage report that shrinks, isn't a number, is negative or is impossibly large counts only as far as it can be true", () => {
  const said = (inputTokens: number, costUsd: number) => ({ inputTokens, outputTokens: 0, costUsd });
  const first = advance(none, said(100, 0.1));
  assert.deepEqual([first.input_tokens, first.usd], [100, 100_000]);
  assert.deepEqual(advance(first, said(40, 0.05)), first);
  assert.deepEqual(advance(first, said(Number.NaN, -3)), first);
  const huge = advance(first, said(Number.POSITIVE_INFINITY, 1e300));
  assert.deepEqual([huge.input_tokens, huge.usd], [1e10, 1e10]);
  assert.equal(advance(none, said(0, 0.000_000_4)).usd, 0);
  assert.equal(advance(none, said(1.6, 0.1 + 0.2)).usd, 300_000);
});

test("usage of consultants never exceeds the total, whatever is reported", () => {
  const said = { inputTokens: 10, outputTokens: 5, costUsd: 0.5 };
  const whole = advance(none, { ...said, consultants: { inputTokens: 99, outputTokens: 2, costUsd: 9 } });
  assert.deepEqual(
    [whole.consultant_input_tokens, whole.consultant_output_tokens, whole.consultant_usd],
    [10, 2, 500_000],
  );
  assert.deepEqual(advance(whole, said), whole);
});

test("the greater figures of two reports count", () => {
  const early = {
    inputTokens: 9,
    outputTokens: 1,
    costUsd: 0.1,
    consultants: { inputTokens: 3, outputTokens: 0, costUsd: 0 },
  };
  const late = { inputTokens: 4, outputTokens: 2, costUsd: 0.2 };
  assert.deepEqual(furthest(early, late), {
    inputTokens: 9,
    outputTokens: 2,
    costUsd: 0.2,
    consultants: { inputTokens: 3, outputTokens: 0, costUsd: 0 },
  });
  assert.deepEqual(furthest(undefined, late), late);
});

test("months are calendar months in UTC", () => {
  assert.equal(monthOf(Date.UTC(2031, 11, 31, 23, 59, 59, 999)), "2031-12");
  assert.equal(nextMonth(Date.UTC(2031, 11, 31, 23)), Date.UTC(2032, 0, 1));
  assert.equal(nextMonth(Date.UTC(2032, 0, 1)), Date.UTC(2032, 1, 1));
});
