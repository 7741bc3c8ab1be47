/**
 * The columns that identify the rows of a table. The ledger seals every change of a row of these tables (chain.ts). Some tables
 * are left out: the ledger itself, content (its hash is in `versions`), the search index and sums (they repeat other rows), the
 * nodes, which change every few seconds, copies of transcripts, and the limits that providers report.
 */
export const rowKeys = {
  companies: ["id"],
  people: ["id"],
  agents: ["id"],
  sessions: ["id"],
  credentials: ["id"],
  files: ["id"],
  versions: ["file_id", "version"],
  links: ["from_id", "to_id"],
  outcomes: ["id"],
  messages: ["id"],
  enclosures: ["message_id", "file_id"],
  skill_files: ["company_id", "path"],
  mcp_servers: ["company_id", "name"],
  providers: ["company_id", "name"],
  model_calls: ["id"],
  repos: ["company_id", "name"],
  clones: ["session_id", "folder"],
  repo_branches: ["company_id", "repo", "name"],
  bundles: ["id"],
  secrets: ["company_id", "name"],
  edges: ["parent_id", "child_id"],
  dependencies: ["outcome_id", "depends_on_id"],
  deliverables: ["outcome_id", "file_id", "version"],
  grants: ["id"],
  reviews: ["num"],
  notices: ["company_id", "about", "kind"],
  permission_requests: ["id"],
  approvals: ["id"],
  approval_revisions: ["approval_id", "revision"],
  approval_comments: ["id"],
  budgets: ["agent_id", "measure"],
  reservations: ["session_id", "measure"],
  charges: ["pool_id", "month", "measure"],
  budget_alerts: ["pool_id", "month", "kind"],
  budget_pauses: ["agent_id"],
  costs: ["kind", "id", "period", "own"],
  reorganizations: ["id"],
  idempotency: ["actor", "key"],
} as const;
export type SealedTable = keyof typeof rowKeys;
export const isSealed = (name: string): name is SealedTable => Object.hasOwn(rowKeys, name);

/** The tables whose rows a reorganization changes and an undo puts back. */
export const imagedNames = [
  "agents",
  "outcomes",
  "edges",
  "dependencies",
  "grants",
  "approvals",
  "permission_requests",
  "credentials",
  "messages",
  "budgets",
  "budget_pauses",
  "charges",
] as const satisfies readonly SealedTable[];
export type ImagedTable = (typeof imagedNames)[number];
