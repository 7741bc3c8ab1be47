import { query, updating } from "../store/query.ts";

/** Rows of companies that have only an id and a name, for tests of the store. */
export const put = query((db, p: { id: string; name: string }) =>
  db.insertInto("companies").values({
    id: p.id,
    name: p.name,
    settings: "{}",
    root_agent_id: "",
    root_outcome_id: "",
    created_at: 0,
  }),
);
export const rename = updating("companies", ["name"], ["id"]);
export const get = query((db, p: { id: string }) =>
  db.selectFrom("companies").select("name").where("id", "=", p.id),
);
