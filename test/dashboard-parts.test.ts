import assert from "node:assert/strict";
import { test } from "node:test";
import { sentenceParts } from "../src/web/ui/sentence-parts.ts";
import { timeScale } from "../src/web/features/activity/time-scale.ts";
import { titleOfItem } from "../src/web/features/home/item-title.ts";
import { historyWords } from "../src/web/features/outcomes/history-words.ts";
import { besideTitle } from "../src/web/ui/beside-title.ts";
import { edited } from "../src/web/ui/edited.ts";
import { fitting } from "../src/web/ui/camera.ts";
import { hireIn } from "../src/web/ui/requested.ts";
import { withoutIds } from "../src/web/ui/without-ids.ts";

test("a sentence beside a title does not repeat it", () => {
  assert.equal(besideTitle("Milo is paused", "Milo is paused: The key is old."), "The key is old.");
  assert.equal(besideTitle("Print it", '"Print it" is blocked: No paper.'), "Blocked: No paper.");
  assert.equal(besideTitle("Print it", '"Print it again" is blocked.'), '"Print it again" is blocked.');
});

test("a hire begins in the same way on Home, in the list and on its page", () => {
  const payload = { requestedConfigurationSnapshot: { name: "Iris", role: "Researcher" } };
  assert.equal(hireIn({ type: "hire_agent", payload }), "Hire Iris as Researcher");
  assert.equal(hireIn({ type: "change_agent", payload }), undefined);
  const facts = { type: "hire_agent" };
  assert.equal(titleOfItem({ kind: "approval", facts, title: "The hire of Iris" }), "Hire Iris");
  assert.equal(titleOfItem({ kind: "approval", facts: {}, title: "The hire of Iris" }), "The hire of Iris");
});

test("a sentence of the record links the agent or person that acted and the subject", () => {
  const ada = { kind: "agent", id: "1", title: "Ada" };
  const told = { kind: "outcome", id: "2", title: 'Ask "Ada" first' };
  assert.deepEqual(
    sentenceParts(`Ada completed "Ask 'Ada' first".`, ada, told).map(({ text, of }) => [text, of?.id]),
    [
      ["Ada", "1"],
      [' completed "', undefined],
      ["Ask 'Ada' first", "2"],
      ['".', undefined],
    ],
  );
  assert.deepEqual(
    sentenceParts("Ada approved the hire of Bo.", ada, { ...told, title: "The hire of Bo" }).map(
      ({ of }) => of?.id,
    ),
    ["1", undefined, "2", undefined],
  );
  assert.deepEqual(sentenceParts("Agency ended a session.", undefined, undefined), [
    { text: "Agency ended a session." },
  ]);
});

test("a day without entries takes little room on the strip, and a place on it leads back to its time", () => {
  const hour = 3_600_000;
  const burst = (from: number) => Array.from({ length: 50 }, (_, at) => from + at * 60_000);
  const times = [...burst(0), ...burst(30 * hour)];
  const end = Math.max(...times);
  const { shareOf, timeAt, gaps } = timeScale(times, 0, end);
  assert.equal(gaps.length, 1);
  const middle = shareOf(30 * hour);
  assert.ok(middle > 0.45 && middle < 0.6, `${middle}`);
  for (const time of [0, 12 * 60_000, 31 * hour - 11 * 60_000, end])
    assert.ok(Math.abs(timeAt(shareOf(time)) - time) < 1000, `${time}`);
  // Entries at an even pace have no gap.
  assert.deepEqual(timeScale(burst(0), 0, 49 * 60_000).gaps, []);
  assert.equal(timeScale([], 0, 1000).shareOf(500), 0.5);
});

test("a small map grows on a large screen, and a large one fits", () => {
  const small = { x: 0, y: 0, w: 400, h: 200 };
  assert.equal(fitting(small, 2400, 1300).k, 1.5);
  const large = { ...small, w: 5000 };
  const { x, k } = fitting(large, 1400, 900);
  assert.ok(k < 0.3);
  // The map ends before the zoom buttons at the right.
  assert.ok(x + large.w * k <= 1400 - 54, `${x + large.w * k}`);
});

test("a sentence of the record is shown without ids, and a sentence without ids is unchanged", () => {
  const id = "01a1ee3f-2322-7113-83fa-4ee630648c52";
  assert.equal(
    withoutIds(`The hire of Bo was approved (approval ${id}) by Ann.`),
    "The hire of Bo was approved by Ann.",
  );
  assert.equal(withoutIds(`See [Prices](kb://${id}) and kb://${id}.`), "See Prices and (link).");
  assert.equal(withoutIds("Bo (approval pending) waits."), "Bo (approval pending) waits.");
});

test("the history of an outcome names each change", () => {
  const words = (changes: Parameters<typeof historyWords>[1], action = "outcome.update") =>
    historyWords(action, changes, (at) => `<${at}>`);
  const block = { reason: "No paper.", until: "2030-01-01T00:00:00Z", on: null };
  assert.deepEqual(words({ blocked: { before: null, after: block } }), {
    says: "blocked it until <2030-01-01T00:00:00Z>",
    quote: "No paper.",
  });
  assert.deepEqual(words({ blocked: { before: block, after: null } }), { says: "unblocked it" });
  assert.deepEqual(
    words({
      title: { before: "Print it", after: "Print all" },
      urgent: { before: false, after: true },
      parents: { before: [], after: [] },
      dependsOn: { before: [], after: [] },
    }).says,
    "renamed it from “Print it”, marked it as urgent and changed what it serves and what it waits for",
  );
  assert.equal(words({}, "outcome.close").says, "closed it");
  assert.equal(words({}, "outcome.some_deed").says, "some deed");
});

test("a draft remembers what each field was based on, and a change elsewhere is noticed only where it matters", () => {
  let kept = "";
  const over = (now: { name: string; role: string }) => edited(now, kept, (text) => (kept = text));
  const first = { name: "Ada", role: "Reader" };
  over(first).set({ name: "Ada B" });
  assert.deepEqual(over(first).changed, ["name"]);
  // Another field is changed elsewhere.
  const second = { name: "Ada", role: "Writer" };
  assert.deepEqual(over(second).values, { name: "Ada B", role: "Writer" });
  assert.deepEqual(over(second).behind, []);
  // Text that is typed later is based on the value that was shown then.
  over(second).set({ role: "Editor" });
  assert.deepEqual(over(second).behind, []);
  // The same field is changed elsewhere.
  const third = { name: "Eve", role: "Writer" };
  assert.deepEqual(over(third).values, { name: "Ada B", role: "Editor" });
  assert.deepEqual([over(third).behind, over(third).base.name], [["name"], "Ada"]);
  const before = kept;
  over(third).takeTheirs();
  assert.deepEqual([over(third).values, over(third).changed], [{ name: "Eve", role: "Editor" }, ["role"]]);
  kept = before;
  over(third).keepMine();
  assert.deepEqual([over(third).values, over(third).behind], [{ name: "Ada B", role: "Editor" }, []]);
  assert.equal(over(third).base.name, "Eve");
  // A field that is typed back to its old value does not count as changed.
  over(third).set({ name: "Eve", role: "Writer" });
  assert.equal(kept, "");
});
