import assert from "node:assert/strict";
import { test } from "node:test";
import type { Compilable } from "kysely";
import { type Db, dynamic, selection } from "./query.ts";

const checksOf = (build: (db: Db) => Compilable<unknown>): string[] =>
  dynamic(build)
    .on("sqlite")
    .checks.map(({ as, where }) => (where.endsWith(`.${as}`) ? where : `${where} as ${as}`));

test("every column with known values is checked, however a query names it", () => {
  assert.deepEqual(
    checksOf((db) => db.selectFrom("approvals").selectAll()),
    ["approvals.type", "approvals.status"],
  );
  assert.deepEqual(
    checksOf((db) =>
      db
        .selectFrom("edges as e")
        .innerJoin("outcomes as o", "o.id", "e.child_id")
        .leftJoin("agents as a", "a.id", "o.responsible_id")
        .select(["o.id", "o.status", "a.status as owner_status"]),
    ),
    ["outcomes.status", "agents.status as owner_status"],
  );
  assert.deepEqual(
    checksOf((db) =>
      db
        .selectFrom(db.selectFrom("files").select(["id", "kind as sort"]).as("f"))
        .innerJoin("reviews", "reviews.outcome_id", "f.id")
        .selectAll("f")
        .select("verdict"),
    ),
    ["files.kind as sort", "reviews.verdict"],
  );
});

test("a column of a union is checked if all parts take it from the same column", () => {
  const open = (db: Db) => db.selectFrom("outcomes").select(["id", "status"]);
  assert.deepEqual(
    checksOf((db) => open(db).unionAll(open(db))),
    ["outcomes.status"],
  );
  const statuses = (db: Db) => db.selectFrom("agents").select(["id", "name as status"]);
  assert.deepEqual(
    checksOf((db) => statuses(db).unionAll(db.selectFrom("agents").select(["id", "status"]))),
    [],
  );
});

test("a selection of whole rows is checked although it is written as text", () => {
  const { checks } = selection("approvals", ["id"]).on("sqlite");
  assert.deepEqual(
    checks.map(({ where }) => where),
    ["approvals.type", "approvals.status"],
  );
});
