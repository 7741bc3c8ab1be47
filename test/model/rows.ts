import { type Db, query } from "../../src/store/query.ts";
import type { ReadTx } from "../../src/store/store.ts";
import type { Grant } from "./model.ts";

/** The rows of one company in the product's store, as far as the model covers them. */
export type Rows = Awaited<ReturnType<typeof rowsOf>>;

export async function rowsOf(tx: ReadTx, companyId: string) {
  const of = { companyId };
  return {
    agents: await tx.all(agents, of),
    outcomes: await tx.all(outcomes, of),
    edges: await tx.all(edges, of),
    dependencies: await tx.all(dependencies, of),
    grants: await tx.all(grants, of),
    files: await tx.all(files, of),
  };
}

export async function versionsOf(tx: ReadTx, companyId: string) {
  return tx.all(versions, { companyId });
}

export function asGrant(row: Rows["grants"][number]): Grant {
  const { id, resource } = row;
  return {
    id,
    companyId: row.company_id,
    holderId: row.grantee_id,
    resource,
    rank: row.level,
    scopeId: row.scope_id,
    origin: row.origin === "creation" ? "creation" : row.origin === "boss" ? "boss" : "board",
    giverId: row.granted_by,
    parentId: row.parent_id,
    revoked: row.revoked_at !== null,
  };
}

type OfCompany = { companyId: string };

const agents = query((db, p: OfCompany) =>
  db
    .selectFrom("agents")
    .select(["id", "boss_id", "status", "mandate_id", "state_file_id"])
    .where("company_id", "=", p.companyId),
);

const outcomes = query((db, p: OfCompany) =>
  db
    .selectFrom("outcomes")
    .select([
      "id",
      "kind",
      "status",
      "responsible_id",
      "delegated",
      "delegated_by",
      "blocked_reason",
      "blocked_until",
      "blocked_on",
    ])
    .where("company_id", "=", p.companyId)
    // The inbox outcome belongs to mail, and no rule of the core depends on it.
    .where("kind", "<>", "inbox")
    .orderBy("num"),
);

const edges = query((db, p: OfCompany) =>
  db
    .selectFrom("outcomes as o")
    .innerJoin("edges as e", "e.child_id", "o.id")
    .select(["e.parent_id", "e.child_id"])
    .where("o.company_id", "=", p.companyId)
    .where("o.kind", "<>", "inbox"),
);

const dependencies = query((db, p: OfCompany) =>
  db
    .selectFrom("outcomes as o")
    .innerJoin("dependencies as d", "d.outcome_id", "o.id")
    .select(["d.outcome_id", "d.depends_on_id"])
    .where("o.company_id", "=", p.companyId),
);

const grants = query((db, p: OfCompany) =>
  db
    .selectFrom("agents as a")
    .innerJoin("grants as g", "g.grantee_id", "a.id")
    .selectAll("g")
    .where("a.company_id", "=", p.companyId)
    .orderBy("g.num"),
);

/** The files of inboxes belong to mail too. */
const inboxes = (db: Db, p: OfCompany) =>
  db.selectFrom("outcomes").select("id").where("company_id", "=", p.companyId).where("kind", "=", "inbox");

const files = query((db, p: OfCompany) =>
  db
    .selectFrom("files")
    .select(["id", "kind", "owner_id", "version", "hash", "deleted_at"])
    .where("company_id", "=", p.companyId)
    .where("kind", "not in", ["message", "result"])
    .where("id", "not in", inboxes(db, p)),
);

const versions = query((db, p: OfCompany) =>
  db
    .selectFrom("files as f")
    .innerJoin("versions as v", "v.file_id", "f.id")
    .select(["v.file_id", "v.version", "v.hash"])
    .where("f.company_id", "=", p.companyId)
    .where("f.kind", "not in", ["message", "result"])
    .where("f.id", "not in", inboxes(db, p))
    .orderBy("v.file_id")
    .orderBy("v.version"),
);
