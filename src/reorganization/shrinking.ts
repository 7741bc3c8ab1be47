import type { Writing } from "../dispatch/context.ts";
import { query } from "../store/query.ts";

/**
 * Chooses the agents that leave when a part of the organization shrinks to a number: first those with the least live work, then
 * the deepest, then the newest. No agent leaves before its reports do, so as little as possible moves.
 */
export async function chooseLeavers(
  { tx, companyId, actor }: Writing,
  stay: number,
): Promise<{ id: string; name: string; why: string }[]> {
  const all = await tx.all(activeAgents, { companyId });
  const byId = new Map(all.map((agent) => [agent.id, agent]));
  const depths = new Map<string, number>();
  for (const agent of all) {
    let depth = 0;
    let at: typeof agent | undefined = agent;
    while (at !== undefined && at.id !== actor.agentId && at.boss_id !== null) {
      at = byId.get(at.boss_id);
      depth++;
    }
    if (at !== undefined && (actor.agentId === null || at.id === actor.agentId)) depths.set(agent.id, depth);
  }
  const left = new Map(all.filter(({ id }) => depths.has(id)).map((agent) => [agent.id, agent]));
  const leavers = [];
  while (left.size > stay) {
    const bosses = new Set([...left.values()].map(({ boss_id }) => boss_id));
    const [next] = [...left.values()]
      .filter(({ id }) => !bosses.has(id) && depths.get(id) !== 0)
      .toSorted(
        (a, b) =>
          a.live - b.live ||
          (depths.get(b.id) ?? 0) - (depths.get(a.id) ?? 0) ||
          b.created_at - a.created_at ||
          (a.id < b.id ? 1 : -1),
      );
    if (next === undefined) break;
    left.delete(next.id);
    const work = next.live === 0 ? "no live work" : `${next.live} live outcome${next.live === 1 ? "" : "s"}`;
    leavers.push({ id: next.id, name: next.name, why: `${work}, at depth ${depths.get(next.id) ?? 0}` });
  }
  return leavers;
}

const activeAgents = query((db, p: { companyId: string }) =>
  db
    .selectFrom("agents as a")
    .select(["a.id", "a.name", "a.boss_id", "a.created_at"])
    .select((eb) =>
      eb
        .selectFrom("outcomes as o")
        .select((o) => o.fn.countAll<number>().as("count"))
        .whereRef("o.responsible_id", "=", "a.id")
        .where("o.status", "in", ["open", "submitted"])
        .where("o.kind", "not in", ["mandate", "perpetual", "inbox"])
        .$asScalar()
        .$notNull()
        .as("live"),
    )
    .where("a.company_id", "=", p.companyId)
    .where("a.status", "in", ["idle", "paused"])
    .orderBy("a.created_at")
    .orderBy("a.id"),
);
