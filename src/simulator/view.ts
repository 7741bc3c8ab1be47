import { query } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { Store } from "../store/store.ts";

/** The company as the simulator sees it when it decides the next action. Unlike an agent, it sees everything. */
export interface View {
  readonly agents: readonly AgentView[];
  /** The open and submitted outcomes, and the newest of the others. */
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
  "person_id",
] as const;
const ofOutcome = [
  "id",
  "status",
  "kind",
  "responsible_id",
  "delegated",
  "delegated_by",
  "blocked_reason",
  "reworks",
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

/** Outcomes that are the only live part of another agent's open work, while that agent has no session. */
export const lastParts = query((db, p: { companyId: string }) =>
  db
    .selectFrom("outcomes as o")
    .innerJoin("edges as e", "e.child_id", "o.id")
    .innerJoin("outcomes as w", "w.id", "e.parent_id")
    .select(["o.id", "e.parent_id"])
    .where("o.company_id", "=", p.companyId)
    .where("o.status", "in", ["open", "submitted"])
    .where("w.status", "=", "open")
    .where("w.kind", "=", "work")
    .where("w.blocked_reason", "is", null)
    .whereRef("w.responsible_id", "<>", "o.responsible_id")
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("edges as f")
            .innerJoin("outcomes as c", "c.id", "f.child_id")
            .select("c.id")
            .whereRef("f.parent_id", "=", "w.id")
            .whereRef("c.id", "<>", "o.id")
            .where("c.status", "in", ["open", "submitted"]),
        ),
      ),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("sessions as s")
            .select("s.id")
            .whereRef("s.agent_id", "=", "w.responsible_id")
            .where("s.ended_at", "is", null),
        ),
      ),
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

/** Agents that hold a right which their present boss gave them. A new boss has to give it again, or it ends. */
export const holdersFromBoss = query((db, p: { companyId: string }) =>
  db
    .selectFrom("agents as a")
    .innerJoin("grants as g", (join) =>
      join.onRef("g.grantee_id", "=", "a.id").onRef("g.granted_by", "=", "a.boss_id"),
    )
    .select("a.id")
    .distinct()
    .where("a.company_id", "=", p.companyId)
    .where("g.revoked_at", "is", null)
    .where("g.broken", "=", 0)
    .orderBy("a.id"),
);

/** Budgets of tokens of which something is spent. */
export const spentBudgets = query((db, p: { companyId: string }) =>
  db
    .selectFrom("budgets as b")
    .innerJoin("charges as c", (join) =>
      join.onRef("c.pool_id", "=", "b.agent_id").onRef("c.measure", "=", "b.measure"),
    )
    .select(["b.agent_id", "b.amount"])
    .where("b.company_id", "=", p.companyId)
    .where("b.measure", "=", "tokens")
    .where("c.amount", ">", 0)
    .orderBy("b.agent_id"),
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

/** Versions that were delivered with an outcome or sent with a message. */
export const deliveredFiles = query((db, p: { companyId: string }) =>
  db
    .selectFrom("deliverables")
    .select(["file_id", "version"])
    .where("company_id", "=", p.companyId)
    .union(
      db
        .selectFrom("messages as m")
        .innerJoin("files as f", "f.id", "m.file_id")
        .select(["m.file_id", "m.version"])
        .where("m.company_id", "=", p.companyId)
        .where("f.kind", "=", "file"),
    )
    .orderBy("file_id")
    .orderBy("version"),
);

/** Versions that others wrote and delivered with an outcome of the agent, or with one that the agent delegated. */
export const deliveredTo = query((db, p: { agentId: string }) =>
  db
    .selectFrom("deliverables as d")
    .innerJoin("outcomes as o", "o.id", "d.outcome_id")
    .select(["d.file_id", "d.version", "o.status", "d.outcome_id"])
    .where((eb) => eb.or([eb("o.delegated_by", "=", p.agentId), eb("o.responsible_id", "=", p.agentId)]))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("versions as v")
            .select("v.file_id")
            .whereRef("v.file_id", "=", "d.file_id")
            .where("v.author_agent_id", "=", p.agentId),
        ),
      ),
    )
    .orderBy("d.file_id")
    .orderBy("d.version"),
);

/** Files that the agent wrote a version of. */
export const filesBy = query((db, p: { agentId: string }) =>
  db
    .selectFrom("versions as v")
    .innerJoin("files as f", "f.id", "v.file_id")
    .select("f.id")
    .distinct()
    .where("v.author_agent_id", "=", p.agentId)
    .where("f.kind", "=", "file")
    .where("f.deleted_at", "is", null)
    .orderBy("f.id"),
);
