import type { LedgerEvent } from "./feed.ts";

/**
 * Which answers an event makes stale. An answer about one thing (its input has the thing's id) is stale after an event that
 * names the id anywhere. An answer about the whole company is stale after events of the nouns that it is made from.
 */
export interface Touched {
  readonly nouns: ReadonlySet<string>;
  readonly ids: ReadonlySet<string>;
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/**
 * `reads`: reads that are recorded. They change nothing but the records of them. If they made answers stale, a page would ask
 * again because it has asked.
 */
export function touchedBy(events: readonly LedgerEvent[], reads: ReadonlySet<string>): Touched {
  const nouns = new Set<string>();
  const ids = new Set<string>();
  for (const { operation, subject, actor, data } of events) {
    if (reads.has(operation)) {
      nouns.add("read");
      continue;
    }
    nouns.add(nounOf(operation));
    for (const [id] of JSON.stringify([subject, actor.agentId, actor.sessionId, data]).matchAll(uuid))
      ids.add(id);
  }
  return { nouns, ids };
}

/** `company` is the company's id. It is in most inputs, so it does not show what an answer is about. */
export function isTouched(
  operation: string,
  input: unknown,
  company: string,
  { nouns, ids }: Touched,
): boolean {
  // A list of companies with their health contains what the attention lists say.
  const said = Object(input).health === true ? "attention.view" : operation;
  const madeFrom = sources[said] ?? [nounOf(operation)];
  if (madeFrom.includes("*") ? nouns.size > 0 : madeFrom.some((noun) => nouns.has(noun))) return true;
  return [...JSON.stringify(input).matchAll(uuid)].some(([id]) => id !== company && ids.has(id));
}

const nounOf = (operation: string): string => operation.split(".")[0] ?? operation;

const everyday = [
  "approval",
  "agent",
  "outcome",
  "goal",
  "message",
  "mail",
  "session",
  "budget",
  "permission",
];

/** Whatever can make something move or stop. */
const movers = [
  ...everyday,
  "growth",
  "company",
  "provider",
  "brain",
  "reorganization",
  "mcp_server",
  "secret",
];

/**
 * What answers are made from, besides what their input names. Others change with their own noun. An answer that says why
 * something does not move depends on what it waits for, which its input does not name.
 */
export const sources: Readonly<Record<string, readonly string[]>> = {
  "attention.view": movers,
  why: movers,
  "why.many": movers,
  // It counts what the attention list lists.
  "company.counts": [...movers, "knowledge"],
  "mcp_server.list": ["mcp_server", "secret", "permission"],
  "secret.list": ["secret", "mcp_server", "agent"],
  "brain.list": ["brain", "provider", "secret"],
  "org.view": [...everyday, "company", "reorganization", "person"],
  "org.roster": ["agent", "approval", "reorganization"],
  "cost.list": ["session", "budget", "agent", "goal"],
  "budget.list": ["session", "budget", "agent", "goal", "company"],
  "outcome.graph": ["outcome", "goal", "agent", "reorganization"],
  "outcome.list": ["outcome", "goal", "agent", "reorganization"],
  "outcome.of_agent": ["outcome", "goal"],
  // Its parents, the outcomes below it and those it waits for.
  "outcome.view": ["outcome", "goal"],
  "goal.list": ["outcome", "goal"],
  "event.list": ["*"],
  "session.list": ["session"],
  "reorganization.list": ["reorganization", "agent"],
  "reorganization.view": ["reorganization", "agent"],
  // The positions of people.
  "person.me": ["person", "agent"],
  "person.list": ["person", "agent"],
  // What it waits for, its budget, its reports.
  "agent.view": ["agent", "approval", "outcome", "goal", "budget", "permission", "company", "reorganization"],
  // What approving changes: heads, money, rights, and what waits for it.
  "approval.view": [
    "approval",
    "agent",
    "outcome",
    "goal",
    "budget",
    "permission",
    "company",
    "reorganization",
  ],
  "permission.of_agent": ["permission"],
  "permission.explain": ["permission", "agent"],
  "knowledge.access_log": ["knowledge", "read"],
  // One thing only: events that name it make it stale.
  "approval.timeline": [],
  "approval.list_revisions": [],
  "session.view": [],
  "session.of_agent": [],
  "event.of_agent": [],
  "knowledge.read": [],
  "knowledge.read_version": [],
  search: [],
};
