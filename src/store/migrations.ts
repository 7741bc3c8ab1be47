import { needsNewerAgency } from "./texts.ts";
import type { Column } from "./columns.ts";
import type { Dialect } from "./query.ts";
import { type TableName, tableNames, tables } from "./schema.ts";
import { rowKeys } from "./row-keys.ts";

/**
 * Makes the tables, on both databases alike. Their columns are in schema.ts, so this file has only keys and indexes. Nothing
 * was released yet, so there is one migration, and it changes with the schema. The first release writes its statements
 * out. From then on, each change is another migration, and no released migration is edited.
 *
 * Nodes of two versions run beside each other during an update, so a migration is one of two kinds:
 *
 * - Expand: it only adds what older versions need not know, such as a table or an index. They ignore it. A new column of a table that
 *   the ledger seals is not of this kind: an older node would seal rows without it.
 * - Contract: older versions can't work after it. Its name ends with the version that nodes need from then on: `0007-names needs
 *   0.4.0`. It waits until no older node is running, so its version must work before it and after it. Older nodes then refuse to
 *   start.
 *
 * SQLite applies each migration in a transaction, PostgreSQL all missing ones in a single transaction.
 */
export interface Migration {
  readonly name: string;
  readonly statements: (dialect: Dialect) => readonly string[];
}

/** The columns of each primary key. */
export const keys: Readonly<Record<TableName, readonly string[]>> = {
  ...rowKeys,
  blobs: ["file_id", "hash"],
  storage: ["company_id", "agent_id"],
  events: ["company_id", "seq"],
  ledger_heads: ["company_id"],
  removed_events: ["company_id", "first_seq"],
  nodes: ["id"],
  transcript_chunks: ["session_id", "start_byte"],
  provider_limits: ["company_id", "provider", "name"],
};
/** Tables with large rows, which SQLite should not keep in the index of the primary key. */
const large: readonly TableName[] = [
  "blobs",
  "idempotency",
  "mcp_servers",
  "approval_revisions",
  "providers",
  "repo_branches",
  "transcript_chunks",
  "removed_events",
];

const search: readonly Readonly<Record<Dialect, string>>[] = [
  // The program makes the words for PostgreSQL (search-words.ts): PostgreSQL would take longer, and use its locale.
  {
    sqlite: `create virtual table search using fts5(description, body,
       tokenize = "unicode61 remove_diacritics 2 categories 'L* N* M*'")`,
    postgres: `create table search (rowid bigint primary key, description text collate "C" not null,
       body text collate "C" not null, words tsvector not null)`,
  },
  { sqlite: ``, postgres: `create index search_words on search using gin(words)` },
];

const indexes: readonly string[] = [
  `create unique index people_name on people(name_key) where ended_at is null`,
  `create unique index agents_name on agents(company_id, name_key) where status <> 'terminated'`,
  `create unique index agents_slug on agents(company_id, slug) where status <> 'terminated'`,
  `create unique index agents_mandate on agents(mandate_id) where status <> 'terminated'`,
  `create index agents_boss on agents(boss_id)`,
  `create index agents_person on agents(person_id) where person_id is not null`,
  `create index agents_page on agents(company_id, created_at, id)`,
  `create index sessions_agent on sessions(agent_id, started_at)`,
  `create index sessions_outcome on sessions(first_outcome_id) where first_outcome_id is not null`,
  `create index sessions_work on sessions(work_outcome_id) where work_outcome_id is not null`,
  `create index sessions_live on sessions(company_id, agent_id) where ended_at is null`,
  `create index sessions_unsettled on sessions(ended_at) where settled = 0`,
  `create unique index sessions_one on sessions(agent_id) where ended_at is null`,
  `create unique index credentials_hash on credentials(hash)`,
  `create index credentials_agent on credentials(agent_id)`,
  `create index credentials_person on credentials(person_id) where person_id is not null`,
  `create index files_page on files(company_id, num)`,
  `create index files_owner on files(owner_id) where owner_id is not null`,
  `create index links_to on links(to_id)`,
  `create index links_company on links(company_id, from_id, to_id)`,
  `create index outcomes_page on outcomes(company_id, num)`,
  `create index outcomes_live on outcomes(company_id, num) where status in ('open', 'submitted')`,
  // The columns are in the order in which an agent works on its outcomes.
  `create index outcomes_responsible on outcomes(responsible_id, status, important desc, urgent desc, num)`,
  `create index outcomes_inbox on outcomes(responsible_id) where status in ('open', 'submitted') and kind = 'inbox'`,
  `create index outcomes_delegator on outcomes(delegated_by) where delegated_by is not null`,
  `create index outcomes_blocked_on on outcomes(blocked_on) where blocked_on is not null`,
  `create index outcomes_alarm on outcomes(blocked_until) where status = 'open' and blocked_until is not null`,
  `create index outcomes_result on outcomes(result_id) where result_id is not null`,
  `create index outcomes_for_agent on outcomes(for_agent_id) where for_agent_id is not null`,
  `create index messages_due on messages(deliver_at) where delivered_at is null and failure is null`,
  `create index messages_inbox on messages(to_id, company_id, num)
     where delivered_at is not null and acknowledged_at is null`,
  `create index messages_page on messages(company_id, num)`,
  `create index messages_topic on messages(topic) where topic is not null and acknowledged_at is null`,
  `create index messages_file on messages(file_id)`,
  `create index messages_to on messages(to_id) where to_id is not null`,
  `create index messages_from on messages(from_id, num) where from_id is not null`,
  `create index enclosures_file on enclosures(file_id)`,
  `create index messages_answers on messages(in_reply_to) where in_reply_to is not null`,
  `create index messages_done on messages(acknowledged_at) where acknowledged_at is not null`,
  `create index messages_unanswered on messages(from_id, coalesce(to_id, ''))
     where from_id is not null and acknowledged_at is null and failure is null`,
  `create index edges_child on edges(child_id, parent_id)`,
  `create index dependencies_on on dependencies(depends_on_id, outcome_id)`,
  `create index deliverables_file on deliverables(file_id)`,
  // This index alone answers the permission check, without reading the table.
  `create index grants_held on grants(grantee_id, resource, broken, structural, level)`,
  `create index grants_resource on grants(resource)`,
  `create index grants_parent on grants(parent_id) where parent_id is not null`,
  `create index grants_scope on grants(scope_id)`,
  `create index reviews_agent on reviews(agent_id, num)`,
  `create index reviews_outcome on reviews(outcome_id, num)`,
  `create index permission_requests_open on permission_requests(company_id, agent_id) where answered_at is null`,
  `create index approvals_page on approvals(company_id, num)`,
  `create index approvals_of on approvals(agent_id, num) where agent_id is not null`,
  `create index approvals_requester on approvals(requested_by, num) where requested_by is not null`,
  // An agent has at most one open approval, and so does a reserved name.
  `create unique index approvals_agent on approvals(agent_id)
     where agent_id is not null and status in ('pending', 'revision_requested')`,
  `create unique index approvals_name on approvals(company_id, name_key)
     where name_key is not null and status in ('pending', 'revision_requested')`,
  `create index approvals_open on approvals(company_id, num) where status in ('pending', 'revision_requested')`,
  `create index approvals_expiry on approvals(expires_at)
     where expires_at is not null and status in ('pending', 'revision_requested')`,
  `create index approvals_asked on approvals(requested_by)
     where requested_by is not null and status in ('pending', 'revision_requested')`,
  `create index approval_comments_page on approval_comments(approval_id, num)`,
  // Each revision is written once, by one step.
  `create unique index approval_comments_revision on approval_comments(approval_id, revision)
     where kind in ('created', 'revised')`,
  `create index budgets_company on budgets(company_id, measure)`,
  `create index reservations_pool on reservations(pool_id, measure, amount)`,
  `create index costs_page on costs(company_id, kind, period, own, id)`,
  `create index reorganizations_page on reorganizations(company_id, num)`,
  `create index model_calls_session on model_calls(session_id, status)`,
  `create index model_calls_open on model_calls(started_at) where status = 'open'`,
  `create index bundles_open on bundles(company_id, repo) where settled_at is null`,
  `create index bundles_agent on bundles(agent_id) where settled_at is null`,
  `create index events_subject on events(subject, seq) where subject is not null`,
  `create index events_session on events(session_id, seq) where session_id is not null`,
  `create index events_agent on events(agent_id, seq) where agent_id is not null`,
  `create index idempotency_age on idempotency(created_at)`,
];

const migrations: readonly Migration[] = [
  {
    name: "0001-foundation",
    statements: (dialect) => [
      ...tableNames.map((table) => createTable(dialect, table)),
      ...search.map((step) => step[dialect]).filter((step) => step !== ""),
      ...indexes,
    ],
  },
];

/** Marks an unfinished copy, among the names of its migrations (copying.ts). */
export const copyMark = "copy of ";

/** Facts about the nodes of a database. Without them, as in tests, there is one node, which is new enough. */
export interface NodeVersions {
  readonly own: string;
  /** The versions of the other running nodes. */
  readonly others: readonly string[];
}

/** The migrations to apply to a database that has these. A migration that contracts waits for older nodes to end. */
export function missingMigrations(applied: readonly string[], nodes?: NodeVersions): readonly Migration[] {
  if (applied.some((name) => name.startsWith(copyMark)))
    throw new Error(
      "This database is an unfinished copy. Finish it: run the same `agency migrate` or `agency restore` again.",
    );
  if (nodes !== undefined) refuseOlder(applied, nodes.own);
  return migrations.filter(({ name }) => !applied.includes(name) && !isTooEarly(name, nodes?.others ?? []));
}

/** Refuses a version that is older than one of these migrations needs. */
export function refuseOlder(applied: readonly string[], own: string): void {
  for (const name of applied) {
    const needed = neededBy(name);
    if (needed !== undefined && isOlder(own, needed)) throw needsNewerAgency(needed, own);
  }
}

/** Whether a migration would break a running node. */
export function isTooEarly(name: string, others: readonly string[]): boolean {
  const needed = neededBy(name);
  return needed !== undefined && others.some((other) => isOlder(other, needed));
}

const neededBy = (name: string): string | undefined => / needs (\d+(?:\.\d+)*)$/.exec(name)?.[1];

/** Compares versions number by number. The part after a hyphen does not count. */
export function isOlder(version: string, than: string): boolean {
  const [have = [], need = []] = [version, than].map((each) =>
    (each.split("-")[0] ?? "").split(".").map(Number),
  );
  for (let part = 0; part < Math.max(have.length, need.length); part++)
    if ((have[part] ?? 0) !== (need[part] ?? 0)) return (have[part] ?? 0) < (need[part] ?? 0);
  return false;
}

function createTable(dialect: Dialect, table: TableName): string {
  const columns = Object.entries<Column>(tables[table]);
  const isNumbered = columns.some(([, { generated }]) => generated);
  const isKeyed = dialect === "sqlite" && !isNumbered && keys[table][0] !== "id" && !large.includes(table);
  const parts = columns.map(([name, { type, nullable, generated }]) =>
    generated
      ? `${name} ${typeNames[dialect].serial} primary key`
      : `${name} ${typeNames[dialect][type]}${nullable ? "" : " not null"}`,
  );
  if (!isNumbered) parts.push(`primary key (${keys[table].join(", ")})`);
  else if ("id" in tables[table]) parts.push("unique (id)");
  // A table without rowid is its primary key's index, which saves writing a page at each commit.
  return `create table ${table} (${parts.join(", ")})${isKeyed ? " without rowid" : ""}`;
}

const typeNames = {
  sqlite: { text: "text", integer: "integer", real: "double precision", blob: "blob", serial: "integer" },
  postgres: {
    // Both databases must compare text byte by byte. Otherwise cursors and ranges would differ between them.
    text: 'text collate "C"',
    integer: "bigint",
    real: "double precision",
    blob: "bytea",
    serial: "bigint generated by default as identity",
  },
} as const;
