import { ops } from "virtual:operations";
import type { LedgerEvent } from "./feed.ts";

/**
 * Which answers an event makes stale. An answer about one thing (its input has the thing's id) is stale after an event that
 * names the id anywhere. An answer about the whole company is stale after events of the nouns it is made from.
 */
export interface Touched {
  readonly nouns: ReadonlySet<string>;
  readonly ids: ReadonlySet<string>;
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

export function touchedBy(events: readonly LedgerEvent[]): Touched {
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

/** `company`: its id is in most inputs and says nothing about what the answer is about. */
export function isTouched(
  operation: string,
  input: unknown,
  company: string,
  { nouns, ids }: Touched,
): boolean {
  // A list of companies with their health says what the attention lists say.
  const said = Object(input).health === true ? "attention.view" : operation;
  const madeFrom = sources[said] ?? [nounOf(operation)];
  if (madeFrom.includes("*") ? nouns.size > 0 : madeFrom.some((noun) => nouns.has(noun))) return true;
  return [...JSON.stringify(input).matchAll(uuid)].some(([id]) => id !== company && ids.has(id));
}

/**
 * Reads that are recorded change nothing but the records of them. If they made answers stale, a page would ask again because
 * it has asked.
 */
const reads: ReadonlySet<string> = new Set(
  Object.values(ops).flatMap(({ name, writes }) => (writes === true ? [] : [name])),
);

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

/** What answers about a whole company are made from. Others change with their own noun. */
const sources: Readonly<Record<string, readonly string[]>> = {
  "attention.view": [
    ...everyday,
    "growth",
    "company",
    "provider",
    "brain",
    "reorganization",
    "mcp_server",
    "secret",
  ],
  "company.counts": [...everyday, "company", "knowledge", "reorganization", "mcp_server", "secret"],
  "mcp_server.list": ["mcp_server", "secret", "permission"],
  "secret.list": ["secret", "mcp_server", "agent"],
  "org.view": [...everyday, "company", "reorganization", "person"],
  "org.roster": ["agent", "approval", "reorganization"],
  "cost.list": ["session", "budget", "agent"],
  "budget.list": ["session", "budget", "agent", "company"],
  "outcome.graph": ["outcome", "goal"],
  "outcome.list": ["outcome", "goal"],
  "goal.list": ["outcome", "goal"],
  "event.list": ["*"],
  "session.list": ["session"],
  "reorganization.list": ["reorganization", "agent"],
  "person.me": ["person"],
  // One thing only: events that name it make it stale.
  "agent.view": [],
  "approval.view": [],
  "approval.timeline": [],
  "approval.list_revisions": [],
  "outcome.view": [],
  "outcome.why": [],
  "session.view": [],
  "session.of_agent": [],
  "event.of_agent": [],
  "permission.of_agent": ["permission"],
  "permission.explain": ["permission", "agent"],
  "knowledge.read": [],
  "knowledge.read_version": [],
  "knowledge.access_log": ["knowledge", "read"],
  search: [],
};
