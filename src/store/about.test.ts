import assert from "node:assert/strict";
import { test } from "node:test";
import { type Filled, aboutOf, areApart, changesOne, isUnseen, setsOf, wholeIn } from "./about.ts";
import type { Value } from "./columns.ts";

const columnsIn = (text: string): string[] => [...(aboutOf(text)?.keys() ?? [])];
const filled = (text: string, ...values: Value[]): Filled => ({
  tables: [/"(\w+)"/.exec(text)?.[1] ?? ""],
  about: aboutOf(text),
  values,
});

const byId = `select * from "agents" where "id" = $1`;
const byBoss = `select * from "agents" where "boss_id" = $1 and status <> 'terminated' order by created_at`;
const insert = `insert into "agents" ("id", "boss_id", "budget") values ($1, $2, $3) returning "agents"."id"`;
const update = `update "agents" set "boss_id" = $1 where "id" = $2 and ended_at is null returning "agents"."id"`;

test("the columns that a text compares with a value are those of its rows", () => {
  assert.deepEqual(columnsIn(byId), ["id"]);
  assert.deepEqual(columnsIn(byBoss), ["boss_id"]);
  assert.deepEqual(columnsIn(insert), ["id", "boss_id", "budget"]);
  assert.deepEqual(columnsIn(update), ["id"]);
  assert.deepEqual(columnsIn(`select * from "a" where "x" = $1 and y is not null`), ["x"]);
  assert.deepEqual(columnsIn(`delete from "links" where "from_id" = $1`), ["from_id"]);
  assert.deepEqual(columnsIn(`select "id" from "a" where "x" = $1 and coalesce(to_id, '') = $2`), ["x"]);
});

test("a text whose rows may have other values is about any row", () => {
  for (const text of [
    `select * from "agents" where "id" = $1 or "boss_id" = $2`,
    `select * from "agents" where "id" = $1 and (a = $2 or b = $3)`,
    `select * from "agents" where not "id" = $1`,
    `select * from "agents" as "a" where "id" = $1`,
    `select * from "agents", "people" where "id" = $1`,
    `select * from "agents" join "people" on "a" = "b" where "id" = $1`,
    `select * from "agents" where "id" = $1 union select * from "people"`,
    `select * from "agents" where exists (select 1 from "people" where "x" = "y" and "id" = $1)`,
    `select * from "agents" where (a = $1 and "id" = $2)`,
    `select * from "agents" where case when x = 1 and "id" = $1 and y = 2 then 1 end = 1`,
    `select * from "agents"`,
    `update "agents" set "id" = $1 where "id" = $2`,
    `update "agents" set "id" = x.id from (select 1 as id) x where "id" = $2`,
    `insert into "a" ("id", "n") values ($1, $2), ($3, $4)`,
    `insert into "a" ("id", "n") values ((select 1), $1)`,
    `insert into "a" ("id", "n") values ($1, $2) on conflict (id) do update set n = a.n + excluded.n`,
  ])
    assert.equal(aboutOf(text), undefined, text);
});

test("two statements of a table are apart if a column has two values for them", () => {
  assert.equal(areApart(filled(byId, "a"), filled(update, "boss", "b")), true);
  assert.equal(areApart(filled(byId, "a"), filled(update, "boss", "a")), false);
  assert.equal(areApart(filled(byBoss, "boss"), filled(update, "other", "b")), false);
  assert.equal(areApart(filled(byBoss, "boss"), filled(insert, "b", "other", null)), true);
  assert.equal(areApart(filled(byBoss, "boss"), filled(insert, "b", null, null)), true);
  assert.equal(areApart(filled(byBoss, "boss"), filled(insert, "b", "boss", null)), false);
  // Content is not compared, and a number may equal its digits.
  const byContent = `select * from "agents" where "budget" = $1`;
  assert.equal(
    areApart(filled(byContent, new Uint8Array(1)), filled(insert, "b", null, new Uint8Array(1))),
    false,
  );
  assert.equal(areApart(filled(byContent, 1), filled(insert, "b", null, "1")), false);
});

test("statements of different tables are apart, and any row is never apart from another", () => {
  assert.equal(areApart(filled(byId, "a"), filled(`delete from "links" where "id" = $1`, "a")), true);
  assert.equal(areApart(filled(byId, "a"), filled(`delete from "agents"`)), false);
});

test("a text that inserts a row, or finds it by its id alone, changes that one", () => {
  for (const text of [insert, `update "agents" set "role" = $1 where "id" = $2  returning "agents"."id"`])
    assert.equal(changesOne(text), true, text);
  for (const text of [
    update,
    `update "agents" set "role" = $1 where "boss_id" = $2 returning "agents"."id"`,
    `insert into "agents" ("id") values ($1) on conflict do nothing returning "agents"."id"`,
    `insert into "edges" ("parent_id", "child_id") values ($1, $2) returning "edges"."parent_id"`,
  ])
    assert.equal(changesOne(text), false, text);
});

test("a read of several tables does not see a row that none of its rows names", () => {
  const sees = {
    sees: { agents: "agent_id" },
    words: new Set<string>(),
    whole: [],
    tables: ["runs", "agents"],
  };
  const change = filled(`update "agents" set "role" = $1 where "id" = $2`, "x", "a");
  assert.equal(isUnseen(sees, [{ agent_id: "b" }, { agent_id: null }], change), true);
  assert.equal(isUnseen(sees, [{ agent_id: "b" }, { agent_id: "a" }], change), false);
  const pair = { ...sees, sees: { letters: ["file_id", "about_id"] as const } };
  const letter = (about: string) =>
    filled(`insert into "letters" ("id", "about_id") values ($1, $2)`, "a", about);
  assert.equal(isUnseen(pair, [{ file_id: "a" }], letter("b")), true);
  assert.equal(isUnseen(pair, [{ file_id: "a" }], letter("a")), false);
  // Nothing can be said about a read without rows, or without an answer yet.
  assert.equal(isUnseen(sees, [], change), false);
  assert.equal(isUnseen(sees, [{ agent_id: "b" }], filled(`delete from "agents"`)), false);
  assert.equal(
    isUnseen(sees, [{ agent_id: "b" }], filled(`delete from "people" where "id" = $1`, "a")),
    false,
  );
});

test("a read does not see a change of columns that it neither names nor returns", () => {
  const readOf = (text: string, ...tables: string[]) => ({
    sees: {},
    words: new Set(text.match(/\w+/g)),
    whole: wholeIn(text, tables),
    tables,
  });
  const changeOf = (text: string, ...values: string[]) => ({
    ...filled(text, ...values),
    sets: setsOf(text),
  });
  const change = changeOf(`update "agents" set "role" = $1 where "id" = $2`, "x", "a");
  const counted = readOf(`select count(*) from agents where status = 'idle'`, "agents");
  assert.equal(isUnseen(counted, undefined, change), true);
  assert.equal(isUnseen(readOf(`select count(*) from agents where role = 'x'`, "agents"), [], change), false);
  // Whole rows have every column. Only those that were found can have changed.
  const rows = readOf(`select * from "agents" where "boss_id" = $1 order by num limit 5`, "agents");
  assert.equal(isUnseen(rows, [{ id: "b" }], change), true);
  assert.equal(isUnseen(rows, [], change), true);
  assert.equal(isUnseen(rows, [{ id: "b" }, { id: "a" }], change), false);
  assert.equal(isUnseen(rows, undefined, change), false);
  assert.equal(
    isUnseen(rows, [{ id: "b" }], changeOf(`update "agents" set "boss_id" = $1 where "id" = $2`, "x", "a")),
    false,
  );
  assert.equal(
    isUnseen(rows, [{ id: "b" }], changeOf(`update "agents" set "role" = $1 where "slug" = $2`, "x", "a")),
    false,
  );
  const joined = readOf(
    `select "f".*, (select 1 from agents a where a.id = f.owner_id) from "files" as "f"`,
    "agents",
    "files",
  );
  assert.deepEqual(joined.whole, ["files"]);
  assert.equal(isUnseen(joined, [{ id: "f" }], change), true);
  assert.deepEqual(wholeIn(`select a.* from agents a join files f on f.id = a.id`, ["agents", "files"]), [
    "agents",
  ]);
  assert.equal(
    setsOf(`update agents set role = 'x' from files where files.id = agents.id and exists (select 1)`),
    undefined,
  );
});
