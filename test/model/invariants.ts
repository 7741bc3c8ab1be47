import { same, Violation } from "./check.ts";
import type { Rows } from "./rows.ts";

/** Invariants of the design that can be told from the stored rows alone, without the model. Numbers as in its §15. */
export function checkInvariants(rows: Rows): void {
  const agents = new Map(rows.agents.map((row) => [row.id, row]));
  const outcomes = new Map(rows.outcomes.map((row) => [row.id, row]));
  const grants = new Map(rows.grants.map((row) => [row.id, row]));
  const isLive = (id: string): boolean => ["open", "submitted"].includes(outcomes.get(id)?.status ?? "");
  const isActive = (id: string | null): boolean =>
    id !== null && agents.has(id) && agents.get(id)?.status !== "terminated";

  for (const grant of rows.grants) {
    const parent = grant.parent_id === null ? undefined : grants.get(grant.parent_id);
    // 1: never wider than what it was handed on from.
    if (grant.parent_id !== null) {
      same(`resource of the parent of grant ${grant.id}`, parent?.resource, grant.resource);
      same(`company of the parent of grant ${grant.id}`, parent?.company_id, grant.company_id);
      if (parent === undefined || grant.level > parent.level)
        throw new Violation(`grant ${grant.id} is wider than its parent`);
      // 2: handed on by whoever holds it.
      same(`who handed grant ${grant.id} on`, grant.granted_by, parent.grantee_id);
      same(`root of grant ${grant.id} rests on structure`, grant.structural, parent.structural);
    } else {
      same(
        `grant ${grant.id} without a parent came from a boss`,
        grant.structural === 1,
        grant.origin === "boss",
      );
      same(
        `grant ${grant.id} without a parent has a giver`,
        grant.granted_by !== null,
        grant.origin === "boss",
      );
    }
    // 3: it counts exactly the reasons along its chain that do not stand, and so stands exactly while there are none.
    let against = 0;
    for (let link: typeof grant | undefined = grant; link !== undefined;) {
      against += Number(link.revoked_at !== null) + Number(!isLive(link.scope_id));
      against += Number(!isActive(link.grantee_id));
      link = link.parent_id === null ? undefined : grants.get(link.parent_id);
    }
    same(`reasons against grant ${grant.id}`, grant.broken, against);
  }

  // 5: the agents are a tree below one root, all of it employed.
  for (const agent of rows.agents) {
    if (agent.status === "terminated") continue;
    const above = new Set<string>();
    for (let id: string | null = agent.id; id !== null; id = agents.get(id)?.boss_id ?? null) {
      if (above.has(id)) throw new Violation(`agent ${agent.id} is its own boss`);
      if (!isActive(id)) throw new Violation(`agent ${agent.id} answers to ${id}, who has left`);
      above.add(id);
    }
  }
  same(
    "agents without a boss",
    rows.agents.filter((agent) => agent.boss_id === null && agent.status !== "terminated").length,
    1,
  );

  // 5: no outcome waits for itself; every live one serves a live one.
  const waits = new Map<string, string[]>();
  const wait = (waiter: string, target: string): void => {
    waits.set(waiter, [...(waits.get(waiter) ?? []), target]);
  };
  const served = new Set<string>();
  for (const { parent_id, child_id } of rows.edges) {
    wait(parent_id, child_id);
    if (isLive(parent_id)) served.add(child_id);
    if (outcomes.get(parent_id)?.status === "completed" && isLive(child_id))
      throw new Violation(`outcome ${child_id} is live below the completed ${parent_id}`);
  }
  for (const { outcome_id, depends_on_id } of rows.dependencies) wait(outcome_id, depends_on_id);
  const circle = circleIn(waits);
  if (circle !== undefined) throw new Violation(`outcome ${circle} waits for itself`);

  for (const outcome of rows.outcomes) {
    if (!isLive(outcome.id)) continue;
    if (outcome.kind !== "perpetual" && !served.has(outcome.id))
      throw new Violation(`outcome ${outcome.id} is live and serves nothing that is`);
    if (!isActive(outcome.responsible_id))
      throw new Violation(`outcome ${outcome.id} is live and nobody who is there answers for it`);
    // 5: what was handed down went to a direct report, whose boss verifies it.
    if (outcome.delegated === 1)
      same(
        `who verifies outcome ${outcome.id}`,
        outcome.delegated_by,
        agents.get(outcome.responsible_id ?? "")?.boss_id,
      );
    else same(`who verifies outcome ${outcome.id}, which nobody handed down`, outcome.delegated_by, null);
  }
}

function circleIn(next: ReadonlyMap<string, readonly string[]>): string | undefined {
  const done = new Set<string>();
  const path = new Set<string>();
  const visit = (id: string): string | undefined => {
    if (path.has(id)) return id;
    if (done.has(id)) return undefined;
    path.add(id);
    for (const other of next.get(id) ?? []) {
      const found = visit(other);
      if (found !== undefined) return found;
    }
    path.delete(id);
    done.add(id);
    return undefined;
  };
  for (const id of next.keys()) {
    const found = visit(id);
    if (found !== undefined) return found;
  }
  return undefined;
}
