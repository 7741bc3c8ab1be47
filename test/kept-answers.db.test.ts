// Kept answers (dispatch/kept-answers.ts) equal computed answers: after every operation, at any time, for every caller.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createOutcome, updateOutcome } from "../src/contract/outcomes.ts";
import { operations } from "../src/contract/operation-table.ts";
import { Refusal } from "../src/contract/refusal.ts";
import { createCore } from "../src/daemon/core.ts";
import { newId, newSecret } from "../src/daemon/ids.ts";
import type { Dispatch } from "../src/dispatch/dispatch.ts";
import { isKept, notKept } from "../src/dispatch/kept-operations.ts";
import type { Column } from "../src/store/columns.ts";
import { isSealed } from "../src/store/row-keys.ts";
import { tables } from "../src/store/schema.ts";
import type { Store } from "../src/store/store.ts";
import { openTestStore, type TestStore } from "../src/testing/organization.ts";
import { runLength } from "../src/testing/run-length.ts";
import { thirdOf } from "../src/testing/seeds.ts";
import type { Row, Who, World } from "./walk-row.ts";
import { table } from "./walk-table.ts";
import { createWorld } from "./walk-world.ts";

interface Question {
  readonly row: Row;
  readonly input: Record<string, unknown>;
  readonly who: Who;
}

const minute = 60_000;
const hour = 60 * minute;

test("the answer of each read in a company is kept, or a reason says why not", () => {
  const reads = operations.filter(({ effect, within }) => effect === "read" && within !== "installation");
  const names = new Set(reads.map(({ name }) => name));
  for (const name of notKept.keys()) assert.ok(names.has(name), `${name} is no read in a company`);
  assert.ok(reads.filter(isKept).length > 25);
  for (const { shownOnce, name } of reads.filter(isKept)) assert.equal(shownOnce, undefined, name);
});

describe("answers that are kept", () => {
  let opened: TestStore;
  let store: Store;
  let world: World;
  let time = 0;
  const texts = new Set<string>();
  const askers: readonly Who[] = ["board", "root", "boss", "session"];
  /** Questions that are asked again and again, with the same input. */
  const questions: Question[] = [];

  before(async () => {
    opened = await openTestStore("sqlite", { fast: true });
    // The clock of reads can be ahead.
    store = {
      ...opened.store,
      read: (work) =>
        opened.store.read((tx) =>
          work({
            ...tx,
            now: tx.now + time,
            blobs: {
              read: (...which) => {
                texts.add("content");
                return tx.blobs.read(...which);
              },
            },
            all: (q, params) => {
              texts.add(q.on(tx.dialect).sql);
              return tx.all(q, params);
            },
            first: (q, params) => {
              texts.add(q.on(tx.dialect).sql);
              return tx.first(q, params);
            },
          }),
        ),
    };
    world = await createWorld(store);
    for (const row of table) {
      if (!isKept(row.operation)) continue;
      const input = await row.input(world);
      // A refusal is recorded, which is a change too. So only questions that the caller may ask are asked again.
      for (const who of askers)
        if (Object(await answer(world.org.core.dispatch, { row, input, who })).error === undefined)
          questions.push({ row, input, who });
    }
  });
  after(() => opened.close());

  const answer = async (dispatch: Dispatch, { row, input, who }: Question) => {
    try {
      return await dispatch({ operation: row.operation, token: world.tokens[who], input });
    } catch (error) {
      if (error instanceof Refusal) return error.toBody();
      throw error;
    }
  };
  /** Compares with a daemon that has kept no answer. */
  const compare = async (when: string): Promise<void> => {
    const fresh = createCore({ store, newId, newSecret }).dispatch;
    for (const question of questions) {
      const kept = await answer(world.org.core.dispatch, question);
      const computed = await answer(fresh, question);
      const about = `${question.row.operation.name} for ${question.who} ${when}`;
      assert.deepEqual(JSON.parse(JSON.stringify(kept)), JSON.parse(JSON.stringify(computed)), about);
    }
  };

  test("depend only on rows whose changes move a ledger head, and never on content", async () => {
    const unsealed = Object.keys(tables).filter((name) => !isSealed(name) && name !== "ledger_heads");
    const columns = Object.entries<Record<string, Column>>(tables).flatMap(([name, of]) =>
      isSealed(name) ? Object.keys(of).filter((column) => of[column]?.unsealed === true) : [],
    );
    assert.ok(unsealed.includes("events") && columns.includes("lease_until"));
    const fresh = createCore({ store, newId, newSecret }).dispatch;
    for (const question of questions) {
      texts.clear();
      await answer(fresh, question);
      for (const text of texts)
        for (const word of ["content", ...unsealed, ...columns])
          if (word === "content" ? text === word : new RegExp(`\\b${word}\\b`).test(text))
            assert.fail(`${question.row.operation.name} reads ${word}: ${text}`);
    }
  });

  test("kept answers equal newly computed ones after every operation", async () => {
    await compare("at the start");
    const named = new Set(questions.map(({ row }) => row.operation.name));
    assert.deepEqual(
      [...named].toSorted(),
      operations
        .filter(isKept)
        .map(({ name }) => name)
        .toSorted(),
    );
    texts.clear();
    for (const question of questions) await answer(world.org.core.dispatch, question);
    assert.deepEqual([...texts], [], "an answer was computed again, although nothing has changed");
    const steps = table.filter(({ operation }) => operation.effect !== "read");
    let done = 0;
    for (const row of runLength === "long" ? steps : thirdOf(steps)) {
      const input = await row.input(world);
      // Keep the answers from before the change.
      for (const question of questions) await answer(world.org.core.dispatch, question);
      const step = { row, input, who: row.actor };
      const result = await answer(world.org.core.dispatch, step).catch(() => undefined);
      if (result !== undefined && Object(result).error === undefined) done++;
      await compare(`after ${row.operation.name}`);
    }
    assert.ok(done > 10, `${done} operations`);
  });

  test("equal newly computed answers, whatever time has passed", async () => {
    const { id } = await world.boss.call(createOutcome, { title: "blocked", parents: [world.boss.id] });
    const until = new Date(Date.now() + 30 * minute).toISOString();
    await world.boss.call(updateOutcome, { id, blocked: { reason: "rest", until } });
    for (const ahead of [0, minute, hour, 25 * hour, 24 * 20 * hour, 24 * 40 * hour]) {
      time = ahead;
      await compare(`${ahead / minute} minutes later`);
    }
    time = 0;
  });
});
