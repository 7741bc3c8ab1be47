import type { Generated } from "kysely";
import type { Resource } from "../contract/resources.ts";

/**
 * The tables, as the query builder sees them; migrations.ts makes them. One shape for both stores:
 * ids are text, times are milliseconds, booleans are 0 or 1, JSON is text.
 */
export interface Schema {
  companies: {
    id: string;
    name: string;
    settings: string;
    root_agent_id: string;
    root_outcome_id: string;
    created_at: number;
  };
  agents: {
    id: string;
    company_id: string;
    name: string;
    /** The name as compared: normalized, case-folded. Unique among agents that are not terminated. */
    name_key: string;
    slug: string;
    role: string;
    title: string | null;
    capabilities: string | null;
    /** Null: the board is its boss. */
    boss_id: string | null;
    mandate_id: string;
    generation: number;
    /** Stored: pending_approval, idle, paused or terminated. Running is a live session, never stored here. */
    status: string;
    state_file_id: string;
    /** Made when the first session ends; null before. */
    log_file_id: string | null;
    /** 1: the last session ended without updating the state document. */
    state_stale: number;
    /** What thinks for it: adapter type, and its configuration as JSON. */
    brain_type: string;
    brain_config: string;
    prompt: string | null;
    /** Asked of the brain, where it has a choice. */
    model: string | null;
    effort: string | null;
    /** What it may spend, as JSON; null: nothing was said. */
    budget: string | null;
    /** 1: what a session of it says last answers the message that woke it. */
    auto_reply: number;
    /** 1: it was made for its mandate and retires when that ends. 0: it has a standing mandate. */
    made_for_mandate: number;
    /** Sessions in a row that changed nothing; no session starts before not_before. */
    idle_sessions: number;
    not_before: number;
    last_session_at: number;
    /** The only epoch whose session may write. */
    epoch: number;
    created_at: number;
    ended_at: number | null;
  };
  sessions: {
    id: string;
    company_id: string;
    agent_id: string;
    epoch: number;
    workspace: string | null;
    /** The daemon that runs it; null when nothing is run (tests, people). */
    node_id: string | null;
    /** Null before it is started and once it is known to be gone. */
    pid: number | null;
    /** The process's own start time: a recycled pid is not it. */
    pid_started: string | null;
    lease_until: number;
    started_at: number;
    ended_at: number | null;
    end_reason: string | null;
    exit_code: number | null;
    /** 1: what it left behind was dealt with after it ended. */
    settled: number;
    /** 1: it handed in its own summary. */
    summarized: number;
    prompt_version: string | null;
    /** The outcome the briefing put first, and how many calls the session made. */
    first_outcome_id: string | null;
    briefing: string | null;
    /** The work itself in words, for a brain that has no tools to look it up. */
    assignment: string | null;
    input_tokens: number;
    output_tokens: number;
    cost_usd: number;
    /** The part of the three above that its consultants used. */
    consultant_input_tokens: number;
    consultant_output_tokens: number;
    consultant_cost_usd: number;
  };
  credentials: {
    id: string;
    /** SHA-256 of the token; the token itself is stored nowhere. */
    hash: string;
    kind: string;
    company_id: string | null;
    agent_id: string | null;
    session_id: string | null;
    label: string;
    created_at: number;
    revoked_at: number | null;
  };
  files: {
    num: Generated<number>;
    id: string;
    company_id: string;
    kind: string;
    description: string;
    media_type: string;
    version: number;
    hash: string;
    size: number;
    /** Whose state document or log this is. */
    owner_id: string | null;
    created_at: number;
    updated_at: number;
    deleted_at: number | null;
  };
  versions: {
    file_id: string;
    version: number;
    hash: string;
    size: number;
    author_kind: string;
    author_agent_id: string | null;
    author_session_id: string | null;
    created_at: number;
  };
  blobs: { file_id: string; hash: string; content: Uint8Array };
  links: { from_id: string; to_id: string; company_id: string };
  outcomes: {
    num: Generated<number>;
    id: string;
    company_id: string;
    kind: string;
    title: string;
    description: string;
    acceptance: string | null;
    status: string;
    rationale: string | null;
    responsible_id: string | null;
    /** 1: handed down. Then delegated_by says by whom; null is the board. */
    delegated: number;
    delegated_by: string | null;
    urgent: number;
    important: number;
    blocked_reason: string | null;
    blocked_until: number | null;
    blocked_on: string | null;
    /** Sessions in a row that had it first and changed nothing. */
    stalls: number;
    /** 1: an edge changed since its file was rendered; the next reader renders it first. */
    stale: number;
    /** The knowledge file with what came out of it. */
    result_id: string | null;
    /** The agent it goes to once that agent is approved. */
    for_agent_id: string | null;
    /** The message it came from, whose sender is told how it ended. */
    reply_to: string | null;
    /** How often whoever verifies it has sent it back since somebody looked into why. */
    reworks: number;
    created_at: number;
    updated_at: number;
  };
  messages: {
    num: Generated<number>;
    id: string;
    company_id: string;
    file_id: string;
    /** Null: the board, or the system where from_system is 1. */
    from_id: string | null;
    from_system: number;
    /** Null: the board. */
    to_id: string | null;
    sent_at: number;
    deliver_at: number;
    delivered_at: number | null;
    read_at: number | null;
    acknowledged_at: number | null;
    result: string | null;
    /** Why it was not delivered after all. */
    failure: string | null;
    /** How many automatic replies in a row, this one included, have passed since a person or an agent wrote by itself. */
    auto_turn: number;
  };
  /** `<skill>/<path>`, and the knowledge file that is there. */
  skill_files: { company_id: string; path: string; file_id: string };
  mcp_servers: { company_id: string; name: string; config: string; created_at: number };
  edges: { parent_id: string; child_id: string };
  dependencies: { outcome_id: string; depends_on_id: string };
  grants: {
    num: Generated<number>;
    id: string;
    company_id: string;
    grantee_id: string;
    resource: Resource;
    level: number;
    scope_id: string;
    origin: string;
    granted_by: string | null;
    parent_id: string | null;
    /** 1: its root rests on a right the root's giver has by structure, which is checked anew at each use. */
    structural: number;
    /** How many reasons along its chain do not stand now: revoked links, ended scopes, departed holders. */
    broken: number;
    created_at: number;
    revoked_at: number | null;
  };
  /** What was said of the work of an agent. */
  reviews: {
    num: Generated<number>;
    company_id: string;
    outcome_id: string;
    /** Whose work it was, and who judged it; null: the board. */
    agent_id: string | null;
    reviewer_id: string | null;
    verdict: string;
    note: string | null;
    created_at: number;
  };
  /** What somebody was told of once and need not be told again. */
  notices: { company_id: string; about: string; kind: string; told_at: number };
  permission_requests: {
    id: string;
    company_id: string;
    agent_id: string;
    resource: Resource;
    level: number;
    reason: string;
    created_at: number;
    answered_at: number | null;
  };
  approvals: {
    num: Generated<number>;
    id: string;
    company_id: string;
    type: string;
    status: string;
    /** What is asked for, as JSON, and its SHA-256: a decision is about exactly this. */
    payload: string;
    payload_hash: string;
    /** The agent that waits for it; null when none exists before the yes. */
    agent_id: string | null;
    /** A name kept for the agent that a yes would make. */
    name_key: string | null;
    /** Null: the board. */
    requested_by: string | null;
    decision_note: string | null;
    created_at: number;
    updated_at: number;
    decided_at: number | null;
    /** Undecided by then, it is denied; null: it waits as long as it takes. */
    expires_at: number | null;
    /** When whoever waits for it in a call was told how it ended. */
    answered_at: number | null;
  };
  approval_comments: {
    num: Generated<number>;
    id: string;
    company_id: string;
    approval_id: string;
    /** Null: the board. */
    author_id: string | null;
    body: string;
    created_at: number;
  };
  /** The budgets of active agents, one row for each part; amounts as in budgets/budget.ts. */
  budgets: { agent_id: string; measure: string; company_id: string; amount: number };
  /** What is set aside for a session, until it has ended and its process is gone. */
  reservations: { session_id: string; measure: string; pool_id: string; amount: number };
  /** What was spent of a pool (of an agent, or of the company) in a month. */
  charges: { pool_id: string; month: string; measure: string; amount: number };
  /** What a pool has caused in a month: the notice that it runs out, the approval that was asked for. */
  budget_alerts: { pool_id: string; month: string; kind: string; approval_id: string | null };
  /** Agents that are paused because this pool has run out, and by nobody else. */
  budget_pauses: { agent_id: string; company_id: string; pool_id: string };
  /** Sums for whoever asks what something cost, kept up at each report. */
  costs: {
    kind: string;
    id: string;
    month: string;
    /** 1: its own; 0: with all that is below it. */
    own: number;
    company_id: string;
    usd: number;
    input_tokens: number;
    output_tokens: number;
    sessions: number;
    consultant_usd: number;
    consultant_input_tokens: number;
    consultant_output_tokens: number;
  };
  reorganizations: {
    num: Generated<number>;
    id: string;
    company_id: string;
    kind: string;
    summary: string;
    /** As JSON: what was asked for, the moves as they are shown, and every changed row before and after. */
    change: string;
    moves: string;
    warnings: string;
    images: string;
    hash: string;
    /** Null: the board. */
    applied_by: string | null;
    applied_at: number;
    undone_at: number | null;
  };
  events: {
    seq: number;
    company_id: string | null;
    at: number;
    actor_kind: string;
    agent_id: string | null;
    session_id: string | null;
    operation: string;
    subject: string | null;
    data: string;
    previous: string;
    hash: string;
  };
  /** One row: the end of the chain, so that cutting rows off shows. */
  ledger_head: { id: number; seq: number; hash: string };
  idempotency: {
    actor: string;
    key: string;
    operation: string;
    input_hash: string;
    output: string;
    created_at: number;
  };
}
