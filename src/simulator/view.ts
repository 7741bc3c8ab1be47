import { query } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { Store } from "../store/store.ts";

/** The company as the simulator sees it when it decides the next action. Unlike an agent, it sees everything. */
export interface View {
  readonly agents: readonly AgentView[];
  /** The open and submitted ones, and the newest of the others. */
  readonly outcomes: readonly OutcomeView[];
}

const ofAgent = [
  "id",
  "name",
  "status",
  "boss_id",
  "mandate_id",
  "state_file_id",
  "made_for_mandate",
  "brain_type",
] as const;
const ofOutcome = [
  "id",
  "status",
  "kind",
  "responsible_id",
  "delegated",
  "delegated_by",
  "blocked_reason",
] as const;
export type AgentView = Pick<Row<"agents">, (typeof ofAgent)[number]>;
export type OutcomeView = Pick<Row<"outcomes">, (typeof ofOutcome)[number]> & {
  /** The number of open work outcomes above that wait for this one. */
  readonly above: number;
};

export function look(store: Store, companyId: string): Promise<View> {
  return store.read(async (tx) => ({
    agents: await tx.all(agentsOf, { companyId }),
    outcomes: await tx.all(outcomesOf, { companyId }),
  }));
}

export const isLiveStatus = ({ status }: { status: string }): boolean =>
  status === "open" || status === "submitted";

const agentsOf = query((db, p: { companyId: string }) =>
  db
    .selectFrom("agents")
    .select(ofAgent)
    .where("company_id", "=", p.companyId)
    .orderBy("created_at")
    .orderBy("id"),
);

const outcomesOf = query((db, p: { companyId: string }) =>
  db
    .selectFrom("outcomes")
    .select(ofOutcome)
    .select((eb) =>
      eb
        .selectFrom("edges as e")
        .innerJoin("outcomes as p", "p.id", "e.parent_id")
        .select((e) => e.fn.countAll<number>().as("count"))
        .whereRef("e.child_id", "=", "outcomes.id")
        .where("p.kind", "=", "work")
        .where("p.status", "=", "open")
        .$asScalar()
        .$notNull()
        .as("above"),
    )
    .where("company_id", "=", p.companyId)
    .where((eb) =>
      eb.or([
        eb("status", "in", ["open", "submitted"]),
        eb(
          "num",
          ">",
          eb.selectFrom("outcomes as n").select((e) => e(e.fn.max("n.num"), "-", 25).as("from")),
        ),
      ]),
    )
    .orderBy("num"),
);

/** Delivered messages that the agent has not acknowledged. */
export const waitingMessages = query((db, p: { agentId: string }) =>
  db
    .selectFrom("messages")
    .select(["id", "read_at"])
    .where("to_id", "=", p.agentId)
    .where("delivered_at", "is not", null)
    .where("acknowledged_at", "is", null)
    .orderBy("num")
    .limit(20),
);

/** Senders and receivers of messages that are not delivered yet. */
export const pendingMail = query((db, p: { companyId: string }) =>
  db
    .selectFrom("messages")
    .select(["from_id", "to_id"])
    .where("company_id", "=", p.companyId)
    .where("delivered_at", "is", null)
    .where("failure", "is", null)
    .where("from_id", "is not", null)
    .orderBy("num"),
);

/** Outcomes that another agent waits for, as a part of its work, as a dependency, or because it is blocked on them. */
export const awaitedByOthers = query((db, p: { companyId: string }) =>
  db
    .selectFrom("outcomes as o")
    .innerJoin("outcomes as w", (join) => join.onRef("w.company_id", "=", "o.company_id"))
    .select(["o.id", "w.blocked_on"])
    .where("o.company_id", "=", p.companyId)
    .where("o.status", "in", ["open", "submitted"])
    .where("w.status", "=", "open")
    .where("w.kind", "=", "work")
    .whereRef("w.responsible_id", "<>", "o.responsible_id")
    .where((eb) =>
      eb.or([
        eb("w.blocked_on", "=", eb.ref("o.id")),
        eb(
          "w.id",
          "in",
          eb.selectFrom("edges as e").select("e.parent_id").whereRef("e.child_id", "=", "o.id"),
        ),
        eb(
          "w.id",
          "in",
          eb.selectFrom("dependencies as d").select("d.outcome_id").whereRef("d.depends_on_id", "=", "o.id"),
        ),
      ]),
    )
    .orderBy("o.num")
    .orderBy("w.num"),
);

export const grantsAround = query((db, p: { agentId: string }) =>
  db
    .selectFrom("grants")
    .select(["id", "resource", "level", "grantee_id", "granted_by", "broken", "revoked_at"])
    .where((eb) => eb.or([eb("grantee_id", "=", p.agentId), eb("granted_by", "=", p.agentId)]))
    .orderBy("num", "desc")
    .limit(30),
);

export const filesMade = query((db, p: { companyId: string }) =>
  db
    .selectFrom("files")
    .select(["id", "version", "hash", "kind"])
    .where("company_id", "=", p.companyId)
    .where("kind", "=", "file")
    .orderBy("num", "desc")
    .limit(30),
);

export const fileNow = query((db, p: { id: string }) =>
  db.selectFrom("files").select(["id", "version", "hash"]).where("id", "=", p.id),
);
