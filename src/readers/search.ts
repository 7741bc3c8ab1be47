import { sql } from "kysely";
import { type Found, type FoundKind, foundKinds, search } from "../contract/finding.ts";
import type { FileRow } from "../knowledge/table.ts";
import { matches } from "../knowledge/lists.ts";
import { rootAgentOf } from "../capabilities/members.ts";
import { guarded } from "../dispatch/guarded.ts";
import { titleOf } from "../approvals/texts.ts";
import { everyPerson } from "../people/table.ts";
import { redactText } from "../redaction/redact.ts";
import { dynamic, query, selection } from "../store/query.ts";
import { hasWords, wordsOf } from "../store/search-words.ts";
import type { ReadTx } from "../store/store.ts";
import { foundDetail, foundSession } from "./texts.ts";

/**
 * One search over the names of everything that the caller may see: a fixed number of queries and, for an agent, a check of each
 * hit. Only the first line of a text is shown, so no reading is recorded.
 */
interface Asked {
  readonly tx: ReadTx;
  readonly companyId: string;
  /** Null for a person, who sees everything. */
  readonly agentId: string | null;
  readonly words: readonly string[];
  /** One more than the number of results. */
  readonly limit: number;
}

const onSearch = guarded(search, async ({ tx, actor, companyId, input }) => {
  const words = wordsOf(input.q);
  const shown = input.limit ?? 8;
  const asked: Asked = { tx, companyId, agentId: actor.agentId, words, limit: shown + 1 };
  const groups = [];
  for (const kind of words.length === 0 ? [] : foundKinds) {
    if (input.kind !== undefined && input.kind !== kind) continue;
    const found = await finders[kind](asked);
    if (found.length > 0)
      groups.push({
        kind,
        found: found.slice(0, shown).map((one) => ({ kind, ...one, title: redactText(one.title) })),
        truncated: found.length > shown,
      });
  }
  return { groups };
});

export const searchHandlers = [onSearch];

type Hit = Omit<Found, "kind">;

const finders: Readonly<Record<FoundKind, (asked: Asked) => Promise<Hit[]>>> = {
  agent: async ({ tx, companyId, words, limit }) => {
    const rows = await tx.all(everyAgent, { companyId });
    return rows
      .filter(({ name, role, title, slug }) => hasWords(`${name} ${role} ${title ?? ""} ${slug}`, words))
      .slice(0, limit)
      .map(({ id, name, role, status }) => ({
        id,
        title: name,
        detail: foundDetail.agent(redactText(role), status),
      }));
  },
  outcome: async (asked) => {
    const files = await described(asked, ["outcome"]);
    const rows = new Map((await rowsOf(asked.tx, files)).map((row) => [row.id, row]));
    return files.map(({ id, description }) => {
      const row = rows.get(id);
      if (row === undefined) throw new Error(`The file ${id} of an outcome has no outcome.`);
      return { id, title: description, detail: foundDetail.outcome(row.status, row.responsible) };
    });
  },
  file: async (asked) =>
    (await described(asked, ["file", "result", "state", "log", "skill"])).map(
      ({ id, description, kind }) => ({
        id,
        title: description,
        detail: foundDetail.file(kind),
      }),
    ),
  session: async ({ tx, companyId, agentId, words, limit }) =>
    agentId !== null
      ? []
      : (await tx.all(newestSessions, { companyId }))
          .filter((row) => hasWords(foundSession(row), words))
          .slice(0, limit)
          .map((row) => ({ id: row.id, title: foundSession(row), detail: foundDetail.session(row) })),
  message: async (asked) => {
    const files = await described(asked, ["message"]);
    const sent = new Map((await sentIn(asked, files)).map((row) => [row.file_id, row]));
    return files.flatMap(({ id, description }) => {
      const message = sent.get(id);
      return message === undefined
        ? []
        : [
            {
              id: message.id,
              title: description.replace(/^Message: /, ""),
              detail: foundDetail.message(message),
            },
          ];
    });
  },
  approval: async ({ tx, companyId, agentId, words, limit }) => {
    const seesAll = agentId === null || agentId === (await rootAgentOf(tx, companyId));
    const rows = seesAll
      ? await tx.all(newestApprovals, { company_id: companyId })
      : await tx.all(ownApprovals, { requested_by: agentId });
    return rows
      .map((row) => ({ id: row.id, title: titleOf(row), detail: foundDetail.approval(row.status) }))
      .filter(({ title }) => hasWords(title, words))
      .slice(0, limit);
  },
  person: async ({ tx, agentId, words, limit }) =>
    agentId !== null
      ? []
      : (await tx.all(everyPerson, {}))
          .filter(({ name }) => hasWords(name, words))
          .slice(0, limit)
          .map(({ id, name, role }) => ({ id, title: name, detail: role })),
};

const described = ({ tx, companyId, agentId, words, limit }: Asked, kinds: readonly FileRow["kind"][]) =>
  matches(tx, companyId, agentId, words, limit - 1, { kinds, described: true });

const rowsOf = async (tx: ReadTx, files: readonly FileRow[]) =>
  files.length === 0
    ? []
    : tx.all(
        dynamic((db) =>
          db
            .selectFrom("outcomes as o")
            .leftJoin("agents as r", "r.id", "o.responsible_id")
            .select(["o.id", "o.status", "r.name as responsible"])
            .where("o.id", "in", idsOf(files)),
        ),
        {},
      );

const idsOf = (files: readonly FileRow[]): string[] => files.map(({ id }) => id);

/** The newest message with each text, among those that the caller sent or got. */
const sentIn = async ({ tx, agentId }: Asked, files: readonly FileRow[]) =>
  files.length === 0
    ? []
    : tx.all(
        dynamic((db) => {
          const sent = db
            .selectFrom("messages as m")
            .leftJoin("agents as f", "f.id", "m.from_id")
            .leftJoin("agents as t", "t.id", "m.to_id")
            .select(["m.id", "m.file_id", "m.from_system", "f.name as from_name", "t.name as to_name"])
            .where("m.file_id", "in", idsOf(files));
          const seen =
            agentId === null
              ? sent
              : sent.where(
                  sql<boolean>`(m.from_id = ${agentId} or (m.to_id = ${agentId} and m.delivered_at is not null))`,
                );
          return seen.orderBy("m.num");
        }),
        {},
      );

/** All agents, employed ones first. The words are compared here, because databases differ in how they fold letters. */
const everyAgent = query((db, p: { companyId: string }) =>
  db
    .selectFrom("agents as a")
    .select(["a.id", "a.name", "a.slug", "a.role", "a.title", "a.status"])
    .where("a.company_id", "=", p.companyId)
    .orderBy(sql`case when a.status = 'terminated' then 1 else 0 end`)
    .orderBy("a.name")
    .orderBy("a.id"),
);

const newestSessions = query((db, p: { companyId: string }) =>
  db
    .selectFrom("sessions as s")
    .innerJoin("agents as a", "a.id", "s.agent_id")
    .leftJoin("outcomes as o", "o.id", "s.work_outcome_id")
    .select(["s.id", "s.started_at", "s.ended_at", "a.name as agent", "o.title as outcome"])
    .where("s.company_id", "=", p.companyId)
    .orderBy("s.num", "desc")
    .limit(300),
);
const newestApprovals = selection("approvals", ["company_id"], sql`order by num desc limit 300`);
const ownApprovals = selection("approvals", ["requested_by"], sql`order by num desc limit 300`);
