import type { Generated } from "kysely";
import { z } from "zod";
import { agentStatuses, efforts } from "../contract/agents.ts";
import { approvalStatuses, approvalTypes, MoneyChange, stepKinds } from "../contract/approvals.ts";
import { Budget } from "../contract/budgets.ts";
import { grantOrigins } from "../contract/capabilities.ts";
import { Settings } from "../contract/companies.ts";
import { fileKinds } from "../contract/knowledge.ts";
import { actorKinds } from "../contract/actors.ts";
import { roles } from "../contract/people.ts";
import { FieldChanges, outcomeKinds, outcomeStatuses, reviewVerdicts } from "../contract/outcomes.ts";
import { endCauses } from "../contract/sessions.ts";
import { Move } from "../contract/reorganization.ts";
import { JsonObject } from "../contract/words.ts";
import { isResource } from "../contract/resources.ts";
import { imagedNames, type SealedTable } from "./row-keys.ts";
import {
  blob,
  type Column,
  flag,
  integer,
  json,
  jsonOrNull,
  oneOf,
  orNull,
  real,
  serial,
  string,
  textThat,
  unsealed,
} from "./columns.ts";
import { budgetTables } from "./budget-tables.ts";
import { repoTables } from "./repo-tables.ts";
import { modelTables } from "./model-tables.ts";
import { ledgerTables } from "./ledger-tables.ts";
import { nodeTables } from "./node-tables.ts";

/**
 * The tables and their columns, defined once: the database's tables, row types, inserts, saves and the check of stored values
 * derive from here. migrations.ts adds keys and indexes.
 */

/**
 * One changed row. `before` is null if it was created, `after` if it was deleted. Otherwise both have only the columns that
 * differ.
 */
const Image = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
const Difference = z.object({
  table: z.enum(imagedNames),
  key: Image,
  before: Image.nullable(),
  after: Image.nullable(),
});

/**
 * The kinds of credentials: a person's program (`person`) or browser, a one-time sign-in link, the key of an agent, or one
 * session of an agent.
 */
const credentialKinds = ["person", "browser", "link", "key", "session"] as const;
export type CredentialKind = (typeof credentialKinds)[number];

/** The status "running" is never stored: it means that a session is live. */
const storedAgentStatuses = agentStatuses.filter((status) => status !== "running");

export const tables = {
  companies: {
    id: string,
    name: string,
    settings: json(Settings.partial()),
    root_agent_id: string,
    root_outcome_id: string,
    created_at: integer,
    /** While this is set, no session starts and agents change nothing. */
    frozen_at: orNull(integer),
    frozen_reason: orNull(string),
    /** An archived company is frozen, left out of lists and read-only. */
    archived_at: orNull(integer),
  },
  /** The people who govern, work in and watch the companies of this installation. */
  people: {
    id: string,
    name: string,
    /** The look of the name. Unique among people who have not been removed. */
    name_key: string,
    role: oneOf(roles),
    created_at: integer,
    /** When the person was removed. */
    ended_at: orNull(integer),
    /** When the person first had a credential. From then on, only the person can make a sign-in link. */
    signed_in_at: orNull(integer),
  },
  agents: {
    id: string,
    company_id: string,
    name: string,
    /** The name as compared: normalized, case-folded. Unique among agents that are not terminated. */
    name_key: string,
    slug: string,
    role: string,
    title: orNull(string),
    capabilities: orNull(string),
    /** Null if the board is its boss. */
    boss_id: orNull(string),
    mandate_id: string,
    generation: integer,
    /** pending_approval, idle, paused or terminated. "Running" is never stored: it means that a session is live. */
    status: oneOf(storedAgentStatuses),
    state_file_id: string,
    /** Created when the first session ends; null before. */
    log_file_id: orNull(string),
    /** 1: the last session ended without updating the state document. */
    state_stale: flag,
    /** The agent's brain: adapter type, and its configuration as JSON. */
    brain_type: string,
    brain_config: json(JsonObject),
    prompt: orNull(string),
    /** Passed to the brain if it offers a choice. */
    model: orNull(string),
    effort: orNull(oneOf(efforts)),
    /** The agent's budget as JSON. Null if it has none. */
    budget: jsonOrNull(Budget),
    /** 1: the final output of its session answers the message that woke it. */
    auto_reply: flag,
    /** 1: it was created for its mandate and retires when that ends. 0: it has a standing mandate. */
    made_for_mandate: flag,
    /** The number of sessions in a row without progress. No session starts before not_before. */
    idle_sessions: integer,
    not_before: integer,
    last_session_at: integer,
    /** The only epoch whose session may write. */
    epoch: integer,
    created_at: integer,
    ended_at: orNull(integer),
    /** The person who holds this position. It counts while that person is not removed (capabilities/people.ts). */
    person_id: orNull(string),
  },
  sessions: {
    num: serial,
    id: string,
    company_id: string,
    agent_id: string,
    epoch: integer,
    workspace: orNull(string),
    /** The daemon that runs it. Null if there is no process (tests, people). */
    node_id: orNull(string),
    /** Null before the process is started and once it is known to be gone. */
    pid: orNull(integer),
    /** The start time of the process, which tells it from another one with the same pid. */
    pid_started: orNull(string),
    /** Renewed every few seconds by the daemon that runs the session. */
    lease_until: unsealed(integer),
    started_at: integer,
    ended_at: orNull(integer),
    end_reason: orNull(string),
    /** Set if it was asked to stop: when it will be stopped if it has not ended by then, and why. */
    end_by: orNull(integer),
    end_by_reason: orNull(string),
    /** The agent's model when the session started. Null for the brain's default. */
    model: orNull(string),
    /** The MCP servers in its settings, in order. If the agent's rights change, the session ends and another one starts. */
    mcp_servers: json(z.array(z.string())),
    /** The repositories whose mirrors its sandbox shows. If the agent loses one, the session ends. */
    repos: json(z.array(z.string())),
    exit_code: orNull(integer),
    /** Why it ended, as its brain judged. Null if it was ended from outside. */
    cause: orNull(oneOf(endCauses)),
    /** 1: the session was settled after its end. */
    settled: flag,
    /** 1: it submitted its own summary. */
    summarized: flag,
    summary: orNull(string),
    // Set once its process has exited.
    last_line: orNull(string),
    tool_calls: orNull(integer),
    prompt_version: orNull(string),
    /** `<brain type>:<the brain's name for this conversation>`, to resume it. */
    thread: orNull(string),
    /** The outcome that the briefing put first, and the number of calls that the session made. */
    first_outcome_id: orNull(string),
    /** The outcome that its costs count for: the first one that is not an inbox, because the mail is usually about that work. */
    work_outcome_id: orNull(string),
    briefing: orNull(string),
    /** The work as text, for a brain without tools to look it up. */
    assignment: orNull(string),
    input_tokens: integer,
    output_tokens: integer,
    cost_usd: real,
    /** The part of the three above that its consultants used. */
    consultant_input_tokens: integer,
    consultant_output_tokens: integer,
    consultant_cost_usd: real,
  },
  credentials: {
    id: string,
    /** SHA-256 of the token. The token itself is never stored. */
    hash: string,
    kind: oneOf(credentialKinds),
    /** Null for the credential of a person, which belongs to the installation. */
    company_id: orNull(string),
    agent_id: orNull(string),
    session_id: orNull(string),
    person_id: orNull(string),
    /** Null if it does not expire. */
    expires_at: orNull(integer),
    label: string,
    created_at: integer,
    revoked_at: orNull(integer),
  },
  files: {
    num: serial,
    id: string,
    company_id: string,
    kind: oneOf(fileKinds),
    description: string,
    media_type: string,
    version: integer,
    hash: string,
    size: integer,
    /** The agent whose state document or log this is. */
    owner_id: orNull(string),
    created_at: integer,
    updated_at: integer,
    deleted_at: orNull(integer),
  },
  versions: {
    file_id: string,
    version: integer,
    description: string,
    hash: string,
    size: integer,
    author_kind: oneOf(actorKinds),
    author_agent_id: orNull(string),
    author_session_id: orNull(string),
    author_person_id: orNull(string),
    created_at: integer,
  },
  blobs: {
    file_id: string,
    hash: string,
    content: blob,
  },
  /** Sums of `versions`, for the limits on storage. */
  storage: {
    company_id: string,
    /** The author. Empty for the sum of the company. */
    agent_id: string,
    bytes: integer,
  },
  links: {
    from_id: string,
    to_id: string,
    company_id: string,
  },
  outcomes: {
    num: serial,
    id: string,
    company_id: string,
    kind: oneOf(outcomeKinds),
    title: string,
    description: string,
    acceptance: orNull(string),
    status: oneOf(outcomeStatuses),
    rationale: orNull(string),
    responsible_id: orNull(string),
    /** 1: delegated by the agent in delegated_by or, if that is null, by the board. */
    delegated: flag,
    delegated_by: orNull(string),
    urgent: flag,
    important: flag,
    blocked_reason: orNull(string),
    blocked_until: orNull(integer),
    blocked_on: orNull(string),
    /**
     * The number of sessions in a row for it without progress; its creator, if an agent; the steps that only its owner saw
     * (runtime/progress.ts).
     */
    stalls: integer,
    made_by: orNull(string),
    own_steps: integer,
    own_parts: integer,
    /** 1: an edge changed since the outcome's file was rendered. The next reader renders it first. */
    stale: flag,
    /** The knowledge file with the result. */
    result_id: orNull(string),
    /** The pending agent that gets this outcome once the hire is approved. */
    for_agent_id: orNull(string),
    /** The message this outcome answers. Its sender is told how the outcome ended. */
    reply_to: orNull(string),
    /** How often the verifier has sent it back since the last escalation was decided. */
    reworks: integer,
    /** The limit for all work on it, as JSON. Null means no limit. */
    budget: jsonOrNull(Budget),
    created_at: integer,
    updated_at: integer,
  },
  messages: {
    num: serial,
    id: string,
    company_id: string,
    file_id: string,
    /** The version of the file when it was sent. The message never shows another. */
    version: integer,
    /** Null for the board or, if from_system is 1, the system. */
    from_id: orNull(string),
    from_system: flag,
    /** Null for the board. */
    to_id: orNull(string),
    sent_at: integer,
    deliver_at: integer,
    delivered_at: orNull(integer),
    read_at: orNull(integer),
    acknowledged_at: orNull(integer),
    result: orNull(string),
    /** Why it was not delivered. */
    failure: orNull(string),
    /** The sender or the board cancelled it before it was delivered. `failure` then says so too. */
    cancelled_at: orNull(integer),
    /** The number of automatic replies in a row, this one included, since a person or an agent last wrote a message. */
    auto_turn: integer,
    /** The message that it answers. */
    in_reply_to: orNull(string),
    /** 1: sent by the right to answer, without a mail route. Such a message gives no right to answer. */
    by_answer: flag,
    /** The subject of a notice. Until it is acknowledged, a later notice about the same subject replaces it. */
    topic: orNull(string),
    /** The changes that the notice reports, by field. */
    changes: jsonOrNull(FieldChanges),
  },
  /** The enclosures of a message: its receiver may read this version while the sender can. */
  enclosures: {
    message_id: string,
    file_id: string,
    version: integer,
    company_id: string,
    /** 1: the text links to it, and the sender wrote it. 0: the sender named it. */
    linked: flag,
  },
  /** `<skill>/<path>`, and the knowledge file in that place. */
  skill_files: {
    company_id: string,
    path: string,
    file_id: string,
  },
  mcp_servers: {
    company_id: string,
    name: string,
    config: json(JsonObject),
    /** The finding of the last start or request (companies/mcp-servers.ts). Null if there is none yet. */
    health: unsealed(orNull(string)),
    created_at: integer,
  },
  ...modelTables,
  ...repoTables,
  secrets: {
    company_id: string,
    name: string,
    /** The encrypted value. Null if the value is only in the memory of a daemon. */
    sealed: orNull(string),
    /** 1: Agency named it. */
    generated: flag,
    created_at: integer,
  },
  edges: {
    parent_id: string,
    child_id: string,
  },
  dependencies: {
    outcome_id: string,
    depends_on_id: string,
    /** The agent that set it. Null for the board. */
    set_by: orNull(string),
    /** 1: set by the owner of the awaited outcome or by an owner above it, so the deliverables of that outcome may be read. */
    shares: flag,
  },
  /** Versions of files that were delivered with an outcome. Rows are only added. */
  deliverables: {
    outcome_id: string,
    file_id: string,
    version: integer,
    company_id: string,
    /** The agent that delivered it. Null for the board. */
    by_agent_id: orNull(string),
    /** 1: it belongs to the last submission. */
    listed: flag,
    created_at: integer,
    /** When the outcome was first completed with it. */
    accepted_at: orNull(integer),
  },
  grants: {
    num: serial,
    id: string,
    company_id: string,
    grantee_id: string,
    resource: textThat(isResource),
    level: integer,
    scope_id: string,
    origin: oneOf(grantOrigins),
    granted_by: orNull(string),
    parent_id: orNull(string),
    /** 1: the chain starts with a right that its giver has by structure. Each use checks that right again. */
    structural: flag,
    /** The number of broken links in the chain now: revoked grants, ended scopes, departed holders. */
    broken: integer,
    created_at: integer,
    revoked_at: orNull(integer),
  },
  /** Verdicts on the work of agents. */
  reviews: {
    num: serial,
    company_id: string,
    outcome_id: string,
    /** The agent that did the work, and the one that judged it. Null means the board. */
    agent_id: orNull(string),
    reviewer_id: orNull(string),
    verdict: oneOf(reviewVerdicts),
    note: orNull(string),
    created_at: integer,
  },
  /** Notices that need not be sent again for a while. */
  notices: {
    company_id: string,
    about: string,
    kind: string,
    told_at: integer,
  },
  permission_requests: {
    id: string,
    company_id: string,
    agent_id: string,
    resource: textThat(isResource),
    level: integer,
    reason: string,
    created_at: integer,
    answered_at: orNull(integer),
  },
  approvals: {
    num: serial,
    id: string,
    company_id: string,
    type: oneOf(approvalTypes),
    status: oneOf(approvalStatuses),
    /** The payload as JSON, and its SHA-256. A decision is about exactly this payload. */
    payload: json(JsonObject),
    payload_hash: string,
    /** The pending agent of the request. Null if no agent exists before the approval. */
    agent_id: orNull(string),
    /** The name reserved for the agent that approving would create. */
    name_key: orNull(string),
    /** Null for the board. */
    requested_by: orNull(string),
    /** The person who asked, for the board or from a position. */
    requested_person_id: orNull(string),
    /** The note of the last step. The thread has all notes. */
    decision_note: orNull(string),
    created_at: integer,
    updated_at: integer,
    decided_at: orNull(integer),
    /** An approval that is undecided at this time is rejected. Null if it waits without limit. */
    expires_at: orNull(integer),
    /** When the decision reached the call that waits for this approval. */
    answered_at: orNull(integer),
  },
  /** Every payload of an approval, from revision 1 on. Rows are only added. */
  approval_revisions: {
    approval_id: string,
    revision: integer,
    company_id: string,
    payload: json(JsonObject),
    hash: string,
  },
  /** The thread: everything that happened to an approval or was said about it. Rows are only added. */
  approval_comments: {
    num: serial,
    id: string,
    company_id: string,
    approval_id: string,
    kind: oneOf(stepKinds),
    author_kind: oneOf(actorKinds),
    /** Null for the board or the system. */
    author_id: orNull(string),
    author_person_id: orNull(string),
    body: orNull(string),
    /** 1: a person decided on a request of their own position, because no other board person exists. */
    self_decided: flag,
    /** For a decision: the budgets before it, and as approving would make or made them. */
    money: jsonOrNull(z.array(MoneyChange)),
    /** The revision of the approval at that time. */
    revision: integer,
    created_at: integer,
  },
  ...budgetTables,
  reorganizations: {
    num: serial,
    id: string,
    company_id: string,
    kind: string,
    summary: string,
    /** As JSON: the requested change, the moves as they are shown, and every changed row before and after. */
    change: json(JsonObject),
    moves: json(z.array(Move)),
    warnings: json(z.array(z.string())),
    images: json(z.array(Difference)),
    hash: string,
    /** Null for the board. */
    applied_by: orNull(string),
    applied_at: integer,
    undone_at: orNull(integer),
  },
  ...ledgerTables,
  ...nodeTables,
  idempotency: {
    actor: string,
    key: string,
    operation: string,
    input_hash: string,
    output: json(z.unknown()),
    created_at: integer,
  },
} as const satisfies Record<string, Record<string, Column>>;

type Tables = typeof tables;
export type TableName = keyof Tables;
type Held<C> = C extends Column<infer T> ? T : never;

/** A row as it is read. */
export type Row<T extends TableName> = { -readonly [C in keyof Tables[T]]: Held<Tables[T][C]> };

/** A row to insert: the database fills in generated columns. */
export type NewRow<T extends TableName> = {
  -readonly [C in keyof Tables[T] as Tables[T][C] extends Column<number, true> ? never : C]: Held<
    Tables[T][C]
  >;
};

/** The tables, as the query builder sees them. */
export type Schema = {
  [T in TableName]: {
    -readonly [C in keyof Tables[T]]: Tables[T][C] extends Column<number, true>
      ? Generated<number>
      : Held<Tables[T][C]>;
  };
};

export const tableNames = Object.keys(tables).filter((name): name is TableName => name in tables);

/** The columns of a table without those that the database fills in. */
export function columnsOf(table: TableName): string[] {
  return Object.entries<Column>(tables[table]).flatMap(([name, { generated }]) => (generated ? [] : [name]));
}

export function sealedColumns(table: SealedTable): string[] {
  return Object.entries<Column>(tables[table]).flatMap(([name, { unsealed }]) =>
    unsealed === true ? [] : [name],
  );
}
