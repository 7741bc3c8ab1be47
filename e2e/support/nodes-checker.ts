// Faults that a campaign of nodes must not leave behind. Each check returns the faults it finds, and nodes-checker.test.ts
// plants each of them.

/**
 * Acknowledged writes that are missing, and writes that exist twice. A scribe writes its next file once the last was
 * acknowledged.
 */
export function writeProblems(
  found: readonly string[],
  acknowledged: readonly string[],
): { readonly doubled: string[]; readonly lost: string[] } {
  const times = new Map<string, number>();
  for (const description of found) times.set(description, (times.get(description) ?? 0) + 1);
  const last = new Map<string, number>();
  for (const description of times.keys()) {
    const [, session, number] = /^scribe (\S+) (\d+)$/.exec(description) ?? [];
    if (session !== undefined) last.set(session, Math.max(last.get(session) ?? 0, Number(number)));
  }
  const byScribes = [...last].flatMap(([session, number]) =>
    Array.from({ length: number }, (_, index) => `scribe ${session} ${index}`),
  );
  return {
    doubled: [...times].filter(([, count]) => count > 1).map(([description]) => description),
    lost: [...acknowledged, ...byScribes].filter((description) => !times.has(description)),
  };
}

/** One attempt of a client to write. A client that is refused tries again, possibly through another node. */
export interface Attempt {
  /** Milliseconds until the answer, with the pause before the next attempt. */
  readonly took: number;
  /** Whether a fault disturbed the node during the attempt. */
  readonly isDisturbed: boolean;
  /** The code of the refusal. Undefined if the write was acknowledged. */
  readonly refused?: string | undefined;
}

/**
 * How long a write waited on healthy nodes, in all of its attempts: a node that refuses just before the limit again and again
 * does not keep its promise. The time on a disturbed node does not count.
 */
export const waitOnHealthy = (attempts: readonly Attempt[]): number =>
  attempts.reduce((sum, { took, isDisturbed }) => (isDisturbed ? sum : sum + took), 0);

/** How often healthy nodes refused, by code. */
export function refusalsOfHealthy(attempts: Iterable<Attempt>): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { isDisturbed, refused } of attempts)
    if (!isDisturbed && refused !== undefined) counts[refused] = (counts[refused] ?? 0) + 1;
  return counts;
}

/** A write in the ledger. */
export interface LedgerWrite {
  readonly agentId: string;
  readonly sessionId: string;
}

/**
 * In the order of the ledger: the writes of a session after the agent's next session had written, and the number of sessions
 * with a successor.
 */
export function staleWrites(written: readonly LedgerWrite[]): {
  readonly stale: LedgerWrite[];
  readonly followed: number;
} {
  const over = new Set<string>();
  const current = new Map<string, string>();
  const stale = written.filter(({ agentId, sessionId }) => {
    const before = current.get(agentId);
    if (before !== undefined && before !== sessionId) over.add(before);
    current.set(agentId, sessionId);
    return over.has(sessionId);
  });
  return { stale, followed: over.size };
}

/** Notes the sessions that have a process at the same time. */
export function brainsTogether() {
  const together = new Set<string>();
  let before: ReadonlySet<string> = new Set();
  return {
    look: (now: ReadonlySet<string>): void => {
      // Only if two looks in a row show it: one look reads the processes one after the other.
      const both = [...now].filter((id) => before.has(id)).toSorted();
      for (const [index, one] of both.entries())
        for (const other of both.slice(index + 1)) together.add(`${one} ${other}`);
      before = now;
    },
    /** Pairs of sessions of one agent that ran at the same time. */
    ofOneAgent: (agentOf: ReadonlyMap<string, string>): string[] =>
      [...together].filter((pair) => {
        const [one = "", other = ""] = pair.split(" ");
        return agentOf.get(one) !== undefined && agentOf.get(one) === agentOf.get(other);
      }),
  };
}
