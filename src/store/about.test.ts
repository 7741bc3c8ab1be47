import assert from "node:assert/strict";
import { test } from "node:test";
import { type Filled, aboutOf, areApart, changesOne, isUnseen } from "./about.ts";
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
  // Content is not compared, and a number and its digits may be one value.
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

test("a read of several tables does not see a row that none of its own rows names", () => {
  const sees = { agents: "agent_id" };
  const change = filled(`update "agents" set "role" = $1 where "id" = $2`, "x", "a");
  assert.equal(isUnseen(sees, [{ agent_id: "b" }, { agent_id: null }], change), true);
  assert.equal(isUnseen(sees, [{ agent_id: "b" }, { agent_id: "a" }], change), false);
  // Nothing is known of a read that found nothing, or that is not answered yet.
  assert.equal(isUnseen(sees, [], change), false);
  assert.equal(isUnseen(sees, [{ agent_id: "b" }], filled(`delete from "agents"`)), false);
  assert.equal(
    isUnseen(sees, [{ agent_id: "b" }], filled(`delete from "people" where "id" = $1`, "a")),
    false,
  );
});
