import assert from "node:assert/strict";
import { test } from "node:test";
import { operations } from "../src/contract/operation-table.ts";
import { isTouched, sources, touchedBy } from "../src/web/data/touching.ts";

const company = "00000000-0000-7000-8000-00000000000c";
const mine = "00000000-0000-7000-8000-000000000001";
const other = "00000000-0000-7000-8000-000000000002";

const event = (operation: string, subject: string | null, data: Record<string, unknown> = {}) => ({
  seq: 1,
  at: "",
  operation,
  subject,
  actor: { kind: "board", agentId: null, sessionId: null, personId: null },
  data,
});
const touched = (answer: string, input: unknown, ...happened: Parameters<typeof event>): boolean =>
  isTouched(answer, input, company, touchedBy([event(...happened)], new Set(["knowledge.read"])));

test("only reads have sources", () => {
  const reads = new Set(operations.flatMap(({ name, effect }) => (effect === "write" ? [] : [name])));
  const unknown = Object.keys(sources).filter((name) => !reads.has(name));
  assert.deepEqual(unknown, []);
});

test("an answer that no event makes stale by its noun is about the one thing that its input names", () => {
  const nouns = new Set(
    operations.flatMap(({ name, effect }) => (effect === "write" ? [name.split(".")[0]] : [])),
  );
  const silent = operations
    .filter(({ effect, name }) => effect !== "write" && !(name in sources) && !nouns.has(name.split(".")[0]))
    .map(({ name }) => name);
  // Pages show only the first of them, by the id of its agent.
  assert.deepEqual(
    silent.toSorted(),
    [
      "configuration.view",
      "configuration.list",
      "installation.measure",
      "installation.view",
      "node.list",
      "short_id.list",
    ].toSorted(),
  );
});

test("a reason is stale when anything moves or stops, because it names what it waits for", () => {
  for (const happened of ["agent.resume", "approval.approve", "session.end", "company.update", "budget.give"])
    for (const answer of ["why", "why.many", "attention.view"])
      assert.ok(touched(answer, { ids: [mine] }, happened, other), `${answer} after ${happened}`);
});

test("the count of the attention list is stale whenever the list is", () => {
  const missing = sources["attention.view"]?.filter(
    (noun) => sources["company.counts"]?.includes(noun) !== true,
  );
  assert.deepEqual(missing, []);
  assert.ok(touched("company.counts", { companyId: company }, "brain.tested", null));
});

test("an outcome's answer is stale after a change of any other outcome, because it shows the state of those below", () => {
  assert.ok(touched("outcome.view", { id: mine }, "outcome.close", other));
  assert.ok(!touched("outcome.view", { id: mine }, "session.start", other));
});

test("an answer about one thing is stale after an event that names it anywhere, and the company's id names nothing", () => {
  assert.ok(touched("session.view", { id: mine }, "mail.send", other, { about: { id: mine } }));
  assert.ok(!touched("session.view", { id: mine }, "mail.send", other));
  assert.ok(!touched("approval.timeline", { companyId: company }, "company.update", company));
});

test("a read that is recorded makes only the records of reads stale", () => {
  assert.ok(touched("knowledge.access_log", { id: mine }, "knowledge.read", mine));
  assert.ok(!touched("knowledge.read", { id: mine }, "knowledge.read", mine));
});
