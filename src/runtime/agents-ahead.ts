/**
 * Which agents a scheduler looks at next, and which it looks at later. An agent is in one of these states:
 *
 * - to look at: it may have work. The next tick looks at it once.
 * - later: it may start only after a certain time, for example after a session without progress.
 * - waiting in its company: it has work, but found no free place or budget.
 * - waiting for room: it may have work, but this node is full. Other nodes look at it themselves.
 *
 * All of this may be lost at any moment: the sweep finds every agent again.
 */
export interface AgentsAhead {
  lookAt(id: string): void;
  lookAfter(id: string, time: number): void;
  readonly waitIn: (companyId: string, id: string) => void;
  waitForRoom(id: string): void;
  /** Looks again at those that waited in this company, because a place may be free. */
  readonly placeFreed: (companyId: string) => void;
  /** Looks at those that waited for room, in the order in which they came. */
  readonly roomFreed: () => void;
  /** The node is full: all that it would look at wait for room. */
  leaveToOthers(): void;
  /** Looks at those whose time has come. */
  reach(now: number): void;
  /** Takes the next ones to look at. */
  take(most: number | undefined): string[];
  readonly toLookAt: () => number;
  readonly waitsForRoom: () => boolean;
  /** The times after which agents may start. */
  readonly times: () => Iterable<number>;
}

export function agentsAhead(): AgentsAhead {
  const toLookAt = new Set<string>();
  const later = new Map<string, number>();
  const inCompany = new Map<string, Set<string>>();
  const forRoom = new Set<string>();
  const moveAll = (from: Set<string>, to: Set<string>): void => {
    for (const id of from) to.add(id);
    from.clear();
  };
  return {
    lookAt: (id) => void toLookAt.add(id),
    lookAfter: (id, time) => void later.set(id, time),
    waitIn: (companyId, id) => {
      inCompany.set(companyId, (inCompany.get(companyId) ?? new Set<string>()).add(id));
    },
    waitForRoom: (id) => void forRoom.add(id),
    placeFreed: (companyId) => {
      for (const id of inCompany.get(companyId) ?? []) toLookAt.add(id);
      inCompany.delete(companyId);
    },
    roomFreed: () => moveAll(forRoom, toLookAt),
    leaveToOthers: () => moveAll(toLookAt, forRoom),
    reach: (now) => {
      for (const [id, time] of later) if (time <= now && later.delete(id)) toLookAt.add(id);
    },
    take: (most) => {
      const ids = [...toLookAt].slice(0, most);
      for (const id of ids) toLookAt.delete(id);
      return ids;
    },
    toLookAt: () => toLookAt.size,
    waitsForRoom: () => forRoom.size > 0,
    times: () => later.values(),
  };
}
