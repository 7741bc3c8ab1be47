import type { Dialect } from "./query.ts";

/**
 * One set of migrations for both databases, applied in order. Never edit a migration that was released: databases have
 * it already. Add a new one instead.
 *
 * `{serial}`, `{key}` and `{blob}` stand for types that the databases spell differently. `{keyed}` stores the rows in the
 * primary key's index (`without rowid` in SQLite), which saves writing a page at each commit. A step that differs more
 * is an object with one text for each database.
 *
 * SQLite applies each migration in a transaction, PostgreSQL all missing ones in a single transaction.
 */
type Step = string | Readonly<Record<Dialect, string>>;

const foundation: readonly Step[] = [
  `create table companies (
     id text primary key, name text not null, settings text not null, root_agent_id text not null,
     root_outcome_id text not null, created_at bigint not null)`,
  `create table agents (
     id text primary key, company_id text not null references companies(id), name text not null, name_key text not null,
     slug text not null, role text not null, title text, capabilities text, boss_id text, mandate_id text not null,
     generation integer not null, status text not null, state_file_id text not null, log_file_id text,
     state_stale integer not null, brain_type text not null, brain_config text not null, prompt text,
     made_for_mandate integer not null, idle_sessions integer not null, not_before bigint not null,
     last_session_at bigint not null, epoch integer not null, created_at bigint not null, ended_at bigint)`,
  `create unique index agents_name on agents(company_id, name_key) where status <> 'terminated'`,
  `create unique index agents_slug on agents(company_id, slug) where status <> 'terminated'`,
  `create unique index agents_mandate on agents(mandate_id) where status <> 'terminated'`,
  `create index agents_boss on agents(boss_id)`,
  `create index agents_page on agents(company_id, created_at, id)`,
  `create table sessions (
     id text primary key, company_id text not null, agent_id text not null, epoch integer not null, workspace text,
     node_id text, pid bigint, pid_started text, lease_until bigint not null, started_at bigint not null,
     ended_at bigint, end_reason text, exit_code integer, settled integer not null, summarized integer not null, prompt_version text,
     first_outcome_id text, briefing text, input_tokens bigint not null, output_tokens bigint not null,
     cost_usd double precision not null)`,
  `create index sessions_agent on sessions(agent_id, started_at)`,
  `create index sessions_live on sessions(company_id, agent_id) where ended_at is null`,
  `create index sessions_unsettled on sessions(ended_at) where settled = 0`,
  `create unique index sessions_one on sessions(agent_id) where ended_at is null`,
  `create table credentials (
     id text primary key, hash text not null unique, kind text not null, company_id text, agent_id text,
     session_id text, label text not null, created_at bigint not null, revoked_at bigint)`,
  `create index credentials_agent on credentials(agent_id)`,
  `create table files (
     num {serial} primary key, id text not null unique, company_id text not null, kind text not null,
     description text not null, media_type text not null, version bigint not null, hash text not null,
     size bigint not null, owner_id text, created_at bigint not null, updated_at bigint not null, deleted_at bigint)`,
  `create index files_page on files(company_id, num)`,
  `create index files_owner on files(owner_id) where owner_id is not null`,
  `create table versions (
     file_id text not null, version bigint not null, hash text not null, size bigint not null,
     author_kind text not null, author_agent_id text, author_session_id text, created_at bigint not null,
     primary key (file_id, version)) {keyed}`,
  `create table blobs (file_id text not null, hash text not null, content {blob} not null, primary key (file_id, hash))`,
  `create table links (
     from_id text not null, to_id text not null, company_id text not null, primary key (from_id, to_id)) {keyed}`,
  `create index links_to on links(to_id)`,
  `create index links_company on links(company_id, from_id, to_id)`,
  // PostgreSQL would index an address or a path as one word, SQLite as several. Without punctuation both index several.
  {
    sqlite: ``,
    postgres: `create function words_in(content varchar) returns tsvector immutable parallel safe language sql
      return to_tsvector('simple', regexp_replace(content, '[!-/:-@[-\`{-~]', ' ', 'g'))`,
  },
  {
    sqlite: `create virtual table search using fts5(description, body, tokenize = 'unicode61 remove_diacritics 2')`,
    postgres: `create table search (rowid bigint primary key, description text not null, body text not null,
       words tsvector generated always as (words_in(description || ' ' || body)) stored)`,
  },
  { sqlite: ``, postgres: `create index search_words on search using gin(words)` },
  `create table outcomes (
     num {serial} primary key, id text not null unique, company_id text not null, kind text not null,
     title text not null, description text not null, acceptance text, status text not null, rationale text,
     responsible_id text, delegated integer not null, delegated_by text, urgent integer not null,
     important integer not null, blocked_reason text, blocked_until bigint, blocked_on text, stalls integer not null,
     stale integer not null, created_at bigint not null, updated_at bigint not null)`,
  `create index outcomes_page on outcomes(company_id, num)`,
  // The columns are in the order in which an agent works on its outcomes.
  `create index outcomes_responsible on outcomes(responsible_id, status, important desc, urgent desc, num)`,
  `create index outcomes_delegator on outcomes(delegated_by) where delegated_by is not null`,
  `create index outcomes_blocked_on on outcomes(blocked_on) where blocked_on is not null`,
  `create index outcomes_alarm on outcomes(blocked_until) where status = 'open' and blocked_until is not null`,
  `create table messages (
     num {serial} primary key, id text not null unique, company_id text not null, file_id text not null, from_id text,
     from_system integer not null, to_id text, sent_at bigint not null, deliver_at bigint not null,
     delivered_at bigint, read_at bigint, acknowledged_at bigint, result text, failure text)`,
  `create index messages_due on messages(deliver_at) where delivered_at is null and failure is null`,
  `create index messages_inbox on messages(to_id, company_id, num)
     where delivered_at is not null and acknowledged_at is null`,
  `create index messages_file on messages(file_id)`,
  `create index messages_to on messages(to_id) where to_id is not null`,
  `create index messages_from on messages(from_id, num) where from_id is not null`,
  `create index messages_done on messages(acknowledged_at) where acknowledged_at is not null`,
  `create table mcp_servers (
     company_id text not null, name text not null, config text not null, created_at bigint not null,
     primary key (company_id, name))`,
  `create table edges (parent_id text not null, child_id text not null, primary key (parent_id, child_id)) {keyed}`,
  `create index edges_child on edges(child_id, parent_id)`,
  `create table dependencies (
     outcome_id text not null, depends_on_id text not null, primary key (outcome_id, depends_on_id)) {keyed}`,
  `create index dependencies_on on dependencies(depends_on_id, outcome_id)`,
  `create table grants (
     num {serial} primary key, id text not null unique, company_id text not null, grantee_id text not null,
     resource text not null, level integer not null, scope_id text not null, origin text not null, granted_by text,
     parent_id text, structural integer not null, broken integer not null, created_at bigint not null,
     revoked_at bigint)`,
  // This index alone answers the permission check. The table is not read.
  `create index grants_held on grants(grantee_id, resource, broken, structural, level)`,
  `create index grants_parent on grants(parent_id) where parent_id is not null`,
  `create index grants_scope on grants(scope_id)`,
  `create table permission_requests (
     id text primary key, company_id text not null, agent_id text not null, resource text not null,
     level integer not null, reason text not null, created_at bigint not null, answered_at bigint)`,
  `create index permission_requests_open on permission_requests(company_id, agent_id) where answered_at is null`,
  `create table events (
     seq {key} primary key, company_id text, at bigint not null, actor_kind text not null, agent_id text,
     session_id text, operation text not null, subject text, data text not null, previous text not null,
     hash text not null)`,
  `create table ledger_head (id integer primary key, seq bigint not null, hash text not null)`,
  `create index events_company on events(company_id, seq)`,
  `create index events_subject on events(subject, seq) where subject is not null`,
  `create index events_session on events(session_id, seq) where session_id is not null`,
  `create index events_agent on events(agent_id, seq) where agent_id is not null`,
  `create table idempotency (
     actor text not null, key text not null, operation text not null, input_hash text not null,
     output text not null, created_at bigint not null, primary key (actor, key))`,
  `create index idempotency_age on idempotency(created_at)`,
];

const hiring: readonly Step[] = [
  `alter table agents add column model text`,
  `alter table agents add column effort text`,
  `alter table agents add column budget text`,
  `alter table agents add column auto_reply integer not null default 0`,
  `alter table messages add column auto_turn integer not null default 0`,
  `create table approvals (
     num {serial} primary key, id text not null unique, company_id text not null, type text not null,
     status text not null, payload text not null, payload_hash text not null, agent_id text, name_key text,
     requested_by text, decision_note text, created_at bigint not null, updated_at bigint not null,
     decided_at bigint, expires_at bigint, answered_at bigint)`,
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
  `create table approval_comments (
     num {serial} primary key, id text not null unique, company_id text not null, approval_id text not null,
     author_id text, body text not null, created_at bigint not null)`,
  `create index approval_comments_page on approval_comments(approval_id, num)`,
];

const growth: readonly Step[] = [
  `alter table outcomes add column result_id text`,
  `alter table outcomes add column for_agent_id text`,
  `alter table outcomes add column reply_to text`,
  `alter table outcomes add column reworks integer not null default 0`,
  `create index outcomes_result on outcomes(result_id) where result_id is not null`,
  `create index outcomes_for_agent on outcomes(for_agent_id) where for_agent_id is not null`,
  `create table reviews (
     num {serial} primary key, company_id text not null, outcome_id text not null, agent_id text, reviewer_id text,
     verdict text not null, note text, created_at bigint not null)`,
  `create index reviews_agent on reviews(agent_id, num)`,
  `create index reviews_outcome on reviews(outcome_id, num)`,
  `create table notices (
     company_id text not null, about text not null, kind text not null, told_at bigint not null,
     primary key (company_id, about, kind)) {keyed}`,
  `create index messages_unanswered on messages(from_id, coalesce(to_id, ''))
     where from_id is not null and acknowledged_at is null and failure is null`,
  `create index approvals_asked on approvals(requested_by)
     where requested_by is not null and status in ('pending', 'revision_requested')`,
  `alter table sessions add column assignment text`,
];

const budgets: readonly Step[] = [
  `create table budgets (
     agent_id text not null, measure text not null, company_id text not null, amount bigint not null,
     primary key (agent_id, measure)) {keyed}`,
  `create index budgets_company on budgets(company_id, measure)`,
  `create table reservations (
     session_id text not null, measure text not null, pool_id text not null, amount bigint not null,
     primary key (session_id, measure)) {keyed}`,
  `create index reservations_pool on reservations(pool_id, measure, amount)`,
  `create table charges (
     pool_id text not null, month text not null, measure text not null, amount bigint not null,
     primary key (pool_id, month, measure)) {keyed}`,
  `create table budget_alerts (
     pool_id text not null, month text not null, kind text not null, approval_id text,
     primary key (pool_id, month, kind)) {keyed}`,
  `create table budget_pauses (
     agent_id text not null primary key, company_id text not null, pool_id text not null) {keyed}`,
  `create table costs (
     kind text not null, id text not null, month text not null, own integer not null, company_id text not null,
     usd bigint not null, input_tokens bigint not null, output_tokens bigint not null, sessions bigint not null,
     consultant_usd bigint not null, consultant_input_tokens bigint not null,
     consultant_output_tokens bigint not null, primary key (kind, id, month, own)) {keyed}`,
  `create index costs_page on costs(company_id, kind, month, own, id)`,
  `alter table sessions add column consultant_input_tokens bigint not null default 0`,
  `alter table sessions add column consultant_output_tokens bigint not null default 0`,
  `alter table sessions add column consultant_cost_usd double precision not null default 0`,
  // Agents may have had a budget before this migration. Copy it to the new table, USD as millionths.
  ...["usd", "tokens", "sessions"].map((measure): Step => {
    const carve = (part: string): string =>
      `insert into budgets (agent_id, measure, company_id, amount)
         select id, '${measure}', company_id, cast(round(${part} * ${measure === "usd" ? 1_000_000 : 1}) as bigint)
         from agents where status in ('idle', 'paused') and budget is not null and ${part} is not null`;
    return {
      sqlite: carve(`json_extract(budget, '$.${measure}')`),
      postgres: carve(`(budget::json->>'${measure}')::numeric`),
    };
  }),
];

const reorganization: readonly Step[] = [
  `create table reorganizations (
     num {serial} primary key, id text not null unique, company_id text not null, kind text not null,
     summary text not null, change text not null, moves text not null, warnings text not null, images text not null,
     hash text not null, applied_by text, applied_at bigint not null, undone_at bigint)`,
  `create index reorganizations_page on reorganizations(company_id, num)`,
];

const skills: readonly Step[] = [
  `create table skill_files (
     company_id text not null, path text not null, file_id text not null, primary key (company_id, path)) {keyed}`,
];

export const migrations: readonly { readonly name: string; readonly steps: readonly Step[] }[] = [
  { name: "0001-foundation", steps: foundation },
  { name: "0002-hiring", steps: hiring },
  { name: "0003-growth", steps: growth },
  { name: "0004-budgets", steps: budgets },
  { name: "0005-reorganization", steps: reorganization },
  { name: "0006-skills", steps: skills },
];

const spelling: Readonly<Record<Dialect, Readonly<Record<string, string>>>> = {
  sqlite: { serial: "integer", key: "integer", keyed: "without rowid", blob: "blob" },
  postgres: { serial: "bigint generated by default as identity", key: "bigint", keyed: "", blob: "bytea" },
};

export function statementsFor(dialect: Dialect, steps: readonly Step[]): string[] {
  return (
    steps
      .map((step) => (typeof step === "string" ? step : step[dialect]))
      .filter((statement) => statement !== "")
      .map((statement) =>
        statement.replace(/\{(\w+)\}/g, (token, key: string) => spelling[dialect][key] ?? token),
      )
      // Both databases must compare text byte by byte, or cursors and ranges would differ between them.
      .map((statement) =>
        dialect === "postgres" ? statement.replace(/\btext\b/g, 'text collate "C"') : statement,
      )
  );
}
