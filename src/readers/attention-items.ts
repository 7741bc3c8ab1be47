import { sql } from "kysely";
import type { AttentionItem } from "../contract/attention.ts";
import { grantPermission } from "../contract/capabilities.ts";
import { acknowledgeMessage, sendMessage } from "../contract/mail.ts";
import { callTo } from "../contract/operation.ts";
import { signInMcpServer, testMcpServer } from "../contract/servers.ts";
import type { Reference } from "../contract/words.ts";
import { type ApprovalRow, openStatuses } from "../approvals/approval.ts";
import type { ApprovalKinds } from "../approvals/kinds.ts";
import { titleOf } from "../approvals/texts.ts";
import { inWords, isNearlyUsedUp, isUsedUp, lineOf, percentSpent } from "../budgets/budget.ts";
import { poolName } from "../budgets/reservations.ts";
import type { Pool } from "../budgets/table.ts";
import { boardPeople, positionsOf } from "../capabilities/people.ts";
import { levelOf } from "../capabilities/table.ts";
import { resourceWords } from "../capabilities/texts.ts";
import { visibleName } from "../capabilities/visible.ts";
import type { companyState } from "../dispatch/company-settings.ts";
import { redactText } from "../redaction/redact.ts";
import { type Db, dynamic, query, selection } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { poolCalls, requestCalls, secretCall, startCalls } from "./help.ts";
import type { CompanySight } from "./sight.ts";
import * as text from "./texts.ts";
import type { Cause } from "./trail.ts";

/** An item of the attention list before it is presented. Only the items of the requested page are presented. */
export interface Draft extends Pick<AttentionItem, "kind" | "subject"> {
  /** Tells the items apart if one subject can have several items of a kind. */
  readonly part?: string;
  readonly since: number;
  readonly expires?: number | null;
  /** The outcomes that wait only for this. */
  readonly leaves: ReadonlySet<string>;
  /** True if no decision is needed yet: Home lists it under "Good to know" (attention-notes.ts), and counts leave it out. */
  readonly isNote?: boolean;
  /** The agent that asked, and when. Its session at that time shows which work the item is about. */
  readonly asked?: { readonly agentId: string | null; readonly at: number };
  readonly show: () => Pick<AttentionItem, "title" | "reason" | "by" | "facts" | "abilities">;
}

export interface Look {
  readonly tx: ReadTx;
  readonly companyId: string;
  readonly sight: CompanySight;
  /** The person who looks. */
  readonly personId: string | null;
  readonly leavesOf: (cause: Cause) => ReadonlySet<string>;
  readonly kinds: ApprovalKinds;
  readonly company: Awaited<ReturnType<typeof companyState>>;
  /** The outcomes that would move if the company were not frozen. */
  readonly still: ReadonlySet<string>;
}

/** Items that come from rows. */
export async function rowItems(look: Look): Promise<Draft[]> {
  return [
    ...(await approvalItems(look)),
    ...(await questionItems(look)),
    ...(await permissionItems(look)),
    ...(await budgetItems(look)),
    ...(await mailItems(look)),
    ...serverItems(look),
    ...stoppedItems(look),
  ];
}

/** Broken MCP servers that agents may use. Sessions run without them, so they hold up no outcome by themselves. */
function serverItems({ companyId, sight }: Look): Draft[] {
  if (sight.you !== null) return [];
  return sight.broken.map((server): Draft => {
    const { name, since, missing, agents, changed, isSignedOut } = server;
    const works = agents.length === 0;
    return {
      kind: "server",
      subject: { kind: "server", id: name, title: name },
      since,
      leaves: new Set(),
      show: () => ({
        title: works ? text.toolsOfServerChanged(name) : text.serverStands(name),
        reason: works ? text.toolsChanged(name, changed) : text.serverFails(server),
        by: null,
        facts: {
          agents: agents.map((id) => partyRef(sight, id)),
          missingSecrets: missing,
          changedTools: changed,
        },
        abilities: [
          ...missing.map((secret) => secretCall({ companyId }, secret)),
          ...(isSignedOut ? [callTo(signInMcpServer, { companyId, name })] : []),
          ...(missing.length === 0 && !isSignedOut ? [callTo(testMcpServer, { companyId, name })] : []),
        ],
      }),
    };
  });
}

export const outcomeRef = ({ id, title }: { id: string; title: string }): Reference => ({
  kind: "outcome",
  id,
  title,
});

export function partyRef(sight: CompanySight, agentId: string | null): Reference {
  if (agentId === null) return { kind: "board", id: null, title: text.theBoard };
  return { kind: "agent", id: agentId, title: sight.agentNamed(agentId)?.name ?? null };
}

/** The time of the newest event of this kind about each thing. */
export async function lastEvents(
  tx: ReadTx,
  operation: string,
  ids: readonly string[],
): Promise<(id: string) => number> {
  if (ids.length === 0) return () => tx.now;
  const rows = await tx.all(
    dynamic((db) => {
      const newest = (of: "a.id" | "c.id") => sql<number | null>`(select e.at from events e
        where e.subject = ${sql.ref(of)} and e.operation = ${operation} order by e.seq desc limit 1)`;
      return db
        .selectFrom("agents as a")
        .select(["a.id", newest("a.id").as("at")])
        .where("a.id", "in", ids)
        .unionAll(
          db
            .selectFrom("companies as c")
            .select(["c.id", newest("c.id").as("at")])
            .where("c.id", "in", ids),
        );
    }),
    {},
  );
  const times = new Map(rows.map(({ id, at }) => [id, at]));
  return (id) => times.get(id) ?? tx.now;
}

/** The description of the file of a message starts with this word (mail/post.ts). */
const firstLineOf = ({ description }: { description: string }): string =>
  redactText(description.replace(/^Message: /, ""));

async function approvalItems(look: Look): Promise<Draft[]> {
  const { tx, companyId, sight, leavesOf, kinds } = look;
  const { you } = sight;
  const isOthers = await decidedByOthers(look);
  const rows = await tx.all(openApprovals, { company_id: companyId });
  const hasLeft = (id: string): boolean => (sight.agentNamed(id)?.status ?? "terminated") === "terminated";
  return (
    rows
      // Leaves out requests that the requester has to revise, because only the board decides.
      .filter(({ status, requested_by }) =>
        you === null
          ? status === "pending" || requested_by === null || hasLeft(requested_by)
          : requested_by === you && status !== "pending",
      )
      .map((row): Draft => {
        const title = redactText(titleOf(row));
        const state =
          row.status === "pending" ? "pending" : row.requested_by === null ? "revision" : "orphaned";
        return {
          kind: "approval",
          subject: { kind: "approval", id: row.id, title },
          since: row.updated_at,
          expires: row.expires_at,
          asked: { agentId: row.requested_by, at: row.created_at },
          leaves: leavesOf({ kind: "approval", about: "approval", on: row.id }),
          show: () => ({
            title,
            reason:
              you !== null
                ? text.revisionOfYours
                : isOthers(row)
                  ? text.decidedByOthers[row.status === "pending" ? "pending" : "revision"]
                  : text.needsDecision[state],
            by: partyRef(sight, row.requested_by),
            facts: { type: row.type, status: row.status, payloadHash: row.payload_hash, agent: row.agent_id },
            abilities: requestCalls({ companyId, you }, row, kinds, isOthers(row)),
          }),
        };
      })
  );
}

/** Which requests the person who looks can't decide, as otherMustDecide() says it of one (approvals/thread.ts). */
async function decidedByOthers({ tx, sight, personId }: Look): Promise<(row: ApprovalRow) => boolean> {
  if (personId === null || sight.you !== null) return () => false;
  const others = (await boardPeople(tx)).filter(({ id }) => id !== personId);
  const held = new Set((await positionsOf(tx, personId)).map(({ id }) => id));
  return ({ requested_by, requested_person_id }) =>
    others.length > 0 &&
    requested_by !== null &&
    (requested_person_id === personId || held.has(requested_by));
}

async function questionItems({ tx, companyId, sight }: Look): Promise<Draft[]> {
  const { you } = sight;
  const rows = await (you === null
    ? tx.all(toBoard, { companyId })
    : tx.all(toPosition, { companyId, agentId: you }));
  return rows.map((row): Draft => ({
    kind: "question",
    subject: { kind: "message", id: row.id, title: firstLineOf(row) },
    since: row.delivered_at ?? row.sent_at,
    leaves: new Set(),
    asked: { agentId: row.from_id, at: row.sent_at },
    show: () => ({
      title: firstLineOf(row),
      reason: you === null ? text.notAnswered : text.notAnsweredByYou,
      by: partyRef(sight, row.from_id),
      facts: { file: row.file_id, readAt: row.read_at === null ? null : new Date(row.read_at).toISOString() },
      abilities: [
        callTo(acknowledgeMessage, { id: row.id }),
        callTo(sendMessage, { companyId, inReplyTo: row.id }, ["body"]),
      ],
    }),
  }));
}

async function permissionItems({ tx, companyId, sight }: Look): Promise<Draft[]> {
  const { you } = sight;
  const rows = await (you === null
    ? tx.all(requestsToBoard, { companyId })
    : tx.all(requestsToPosition, { companyId, agentId: you }));
  const drafts: Draft[] = [];
  for (const row of rows) {
    const level = levelOf("permission_requests", row);
    const by = partyRef(sight, row.agent_id);
    const named = await visibleName(tx, { agentId: you }, companyId, row.resource);
    const title = text.wantsRight(by.title ?? "", level, resourceWords(row.resource, named));
    const give = { companyId, to: row.agent_id, resource: row.resource, level };
    drafts.push({
      kind: "permission",
      subject: { kind: "permission_request", id: row.id, title },
      since: row.created_at,
      leaves: new Set(),
      asked: { agentId: row.agent_id, at: row.created_at },
      show: () => ({
        title,
        reason: row.reason,
        by,
        facts: { resource: row.resource, level },
        abilities: [callTo(grantPermission, give)],
      }),
    });
  }
  return drafts;
}

/**
 * Budgets that paused an agent, that an agent with work lacks, or of which 80 % are spent. A manager gives its reports theirs.
 */
async function budgetItems(look: Look): Promise<Draft[]> {
  const { tx, sight, leavesOf } = look;
  const found: { pool: Pool; paused: readonly string[]; leaves: ReadonlySet<string> }[] = [];
  for (const pool of sight.pools) {
    if (sight.you !== null && sight.agentNamed(pool.id)?.boss_id !== sight.you) continue;
    const paused = sight.isShort(pool) ? (sight.pausedBy.get(pool.id) ?? []) : [];
    const leaves = leavesOf({ kind: "budget", about: "budget", on: `${pool.id} ${pool.measure}` });
    if (paused.length > 0 || leaves.size > 0 || isNearlyUsedUp(pool)) found.push({ pool, paused, leaves });
  }
  const since = await lastEvents(
    tx,
    "budget.notice",
    found.map(({ pool }) => pool.id),
  );
  return found.map(({ pool, paused, leaves }) => budgetItem(look, pool, paused, leaves, since(pool.id)));
}

function budgetItem(
  { companyId, sight }: Look,
  pool: Pool,
  paused: readonly string[],
  leaves: ReadonlySet<string>,
  since: number,
): Draft {
  const limit = pool.limit ?? 0;
  const isCompanys = pool.id === companyId;
  const owner = isCompanys ? null : (sight.agentNamed(pool.id)?.name ?? null);
  const title = poolName(pool, owner ?? "").replace(/^t/, "T");
  return {
    kind: "budget",
    subject: isCompanys
      ? { kind: "company", id: companyId, title }
      : { kind: "agent", id: pool.id, title: owner },
    part: pool.measure,
    since,
    leaves,
    isNote: !sight.isShort(pool),
    show: () => {
      const figures = {
        spent: inWords(pool.measure, pool.spent),
        limit: inWords(pool.measure, limit),
        given: inWords(pool.measure, pool.handedDown),
      };
      return {
        title,
        reason: sight.isShort(pool)
          ? text.budgetStops(figures, isUsedUp(pool), paused.length)
          : text.budgetNearlyUsed(figures, percentSpent(pool)),
        by: null,
        facts: {
          ...lineOf(pool.measure, pool),
          usedUp: sight.isShort(pool),
          paused: paused.map((id) => partyRef(sight, id)),
        },
        abilities: poolCalls({ companyId, you: sight.you }, pool.id, pool.measure),
      };
    },
  };
}

/** Messages of the board, or of the position, that could not be delivered and were not acknowledged. */
async function mailItems({ tx, companyId, sight }: Look): Promise<Draft[]> {
  const { you } = sight;
  const rows = await (you === null
    ? tx.all(returnedToBoard, { companyId })
    : tx.all(returnedToPosition, { companyId, agentId: you }));
  return rows.map((row): Draft => ({
    kind: "mail",
    subject: { kind: "message", id: row.id, title: firstLineOf(row) },
    since: row.deliver_at,
    leaves: new Set(),
    show: () => {
      const to = partyRef(sight, row.to_id);
      return {
        title: text.notDeliveredTo(to.title ?? text.departedAgent, firstLineOf(row)),
        reason: row.failure ?? "",
        by: partyRef(sight, row.from_id),
        facts: { to, file: row.file_id },
        abilities: [callTo(acknowledgeMessage, { id: row.id })],
      };
    },
  }));
}

/** A frozen company waits for the person who thaws it. */
function stoppedItems({ companyId, company, still, sight }: Look): Draft[] {
  const reason = text.companyStopped(company);
  if (reason === null || sight.you !== null) return [];
  return [
    {
      kind: "stall",
      subject: { kind: "company", id: companyId, title: company.name },
      since: company.since,
      leaves: still,
      show: () => ({
        title: `${company.name} is ${company.state}`,
        reason,
        by: null,
        facts: { state: company.state },
        abilities: startCalls(companyId, company.state),
      }),
    },
  ];
}

const openApprovals = selection(
  "approvals",
  ["company_id"],
  sql`and status in (${sql.join(openStatuses.map((status) => sql.lit(status)))}) order by num`,
);

const letters = (db: Db, p: { companyId: string }) =>
  db
    .selectFrom("messages as m")
    .innerJoin("files as f", "f.id", "m.file_id")
    .selectAll("m")
    .select("f.description")
    .where("m.company_id", "=", p.companyId)
    .where("m.acknowledged_at", "is", null)
    .where("m.from_system", "=", 0)
    .orderBy("m.num");
const delivered = (db: Db, p: { companyId: string }) =>
  letters(db, p).where("m.delivered_at", "is not", null);
const returned = (db: Db, p: { companyId: string }) =>
  letters(db, p).where("m.failure", "is not", null).where("m.cancelled_at", "is", null);
type OfBoard = { companyId: string };
type OfPosition = { companyId: string; agentId: string };
const toBoard = query((db, p: OfBoard) => delivered(db, p).where("m.to_id", "is", null));
const toPosition = query((db, p: OfPosition) => delivered(db, p).where("m.to_id", "=", p.agentId));
const returnedToBoard = query((db, p: OfBoard) => returned(db, p).where("m.from_id", "is", null));
const returnedToPosition = query((db, p: OfPosition) => returned(db, p).where("m.from_id", "=", p.agentId));

const requests = (db: Db, p: { companyId: string }) =>
  db
    .selectFrom("permission_requests as r")
    .innerJoin("agents as a", "a.id", "r.agent_id")
    .selectAll("r")
    .where("r.company_id", "=", p.companyId)
    .where("r.answered_at", "is", null)
    .orderBy("r.id");
const requestsToBoard = query((db, p: OfBoard) => requests(db, p).where("a.boss_id", "is", null));
const requestsToPosition = query((db, p: OfPosition) => requests(db, p).where("a.boss_id", "=", p.agentId));
