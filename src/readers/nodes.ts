import { sql } from "kysely";
import { isInstalled, programUsed } from "../brains/registry.ts";
import { type ListedNode, listNodes } from "../contract/installation.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import { selection, textQuery } from "../store/query.ts";
import { type Row, tables } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * The nodes, from their rows. A node that renewed nothing for as long as a lease lasts is silent and does not count. The asking
 * node is never silent: on SQLite, where it is the only one, it renews its row only on changes.
 */
export const leaseMilliseconds = 20_000;

type NodeRow = Row<"nodes">;
type Configured = Pick<Row<"agents">, "brain_type" | "brain_config">;

/** Facts about the nodes for `why` and the scheduler. */
export interface NodesSeen {
  /** Whether a node other than the asking one can start sessions of this agent, or may find that it can. */
  canStartElsewhere(agent: Configured): boolean;
  /**
   * none: no node starts sessions. full: every node that can start this agent has reached its maximum of sessions. failing: each
   * of them failed to start its last session, for lack of disk space or memory, or the like.
   */
  roomFor(agent: Configured): "none" | "full" | "failing" | "free";
  /** The number of nodes that start sessions. */
  readonly count: number;
}

export async function seeNodes(tx: ReadTx, own: string | undefined): Promise<NodesSeen> {
  const nodes = (await tx.all(allNodes, {})).filter((row) => isRunning(row, tx.now, own));
  const busy = await sessionsByNode(tx);
  const starting = nodes.filter(({ capacity }) => capacity !== 0);
  return {
    count: starting.length,
    canStartElsewhere: (agent) =>
      starting.some((row) => row.id !== own && row.trouble === null && canStart(row, agent)),
    roomFor: (agent) => {
      if (nodes.length > 0 && starting.length === 0) return "none";
      const able = starting.filter((row) => canStart(row, agent));
      const isFull = ({ id, capacity }: NodeRow): boolean =>
        capacity !== null && (busy.get(id) ?? 0) >= capacity;
      const sound = able.filter(({ trouble }) => trouble === null);
      if (able.length > 0 && sound.length === 0) return "failing";
      return sound.length > 0 && sound.every(isFull) ? "full" : "free";
    },
  };
}

/** The name of the machine of this node, or its id if it has not reported itself. */
export async function nodeName(tx: ReadTx, id: string): Promise<string> {
  return (await tx.all(allNodes, {})).find((row) => row.id === id)?.name ?? id;
}

/** The running nodes apart from this one, such as `alpha (http://10.0.0.5:4600)`. */
export const runningBeside = (tx: ReadTx, own: string | undefined): Promise<string[]> =>
  beside(tx, own, (row) => isRunning(row, tx.now, undefined));

/** All known nodes apart from this one, also silent ones. */
export const knownBeside = (tx: ReadTx, own: string | undefined): Promise<string[]> =>
  beside(tx, own, () => true);

async function beside(
  tx: ReadTx,
  own: string | undefined,
  counts: (row: NodeRow) => boolean,
): Promise<string[]> {
  const found = (await tx.all(allNodes, {})).filter((row) => row.id !== own && counts(row));
  return found.map(({ name, address }) => `${name} (${address})`);
}

function canStart({ brains, lacks }: NodeRow, { brain_type, brain_config }: Configured): boolean {
  if (!isInstalled(brain_type) || !tables.nodes.brains.parse(brains).includes(brain_type)) return false;
  const program = programUsed(brain_type, brain_config);
  return program === undefined || !tables.nodes.lacks.parse(lacks).includes(program.command);
}

const isRunning = ({ id, heartbeat }: NodeRow, now: number, own: string | undefined): boolean =>
  id === own || heartbeat > now - leaseMilliseconds;

async function sessionsByNode(tx: ReadTx): Promise<ReadonlyMap<string, number>> {
  return new Map((await tx.all(liveByNode, {})).map(({ node_id, count }) => [node_id, count]));
}

export const nodeHandlers = (own: string | undefined): Guarded[] => [
  guarded(listNodes, async ({ tx }) => {
    const busy = await sessionsByNode(tx);
    const iso = (time: number): string => new Date(time).toISOString();
    return {
      nodes: (await tx.all(allNodes, {})).map((row): ListedNode => ({
        id: row.id,
        name: row.name,
        address: row.address,
        answering: row.id === own,
        state: isRunning(row, tx.now, own) ? "running" : "silent",
        version: row.version,
        sessions: busy.get(row.id) ?? 0,
        maxSessions: row.capacity,
        brains: tables.nodes.brains.parse(row.brains),
        lacks: tables.nodes.lacks.parse(row.lacks),
        trouble: row.trouble,
        startedAt: iso(row.started_at),
        heartbeatAt: iso(row.id === own ? tx.now : row.heartbeat),
      })),
    };
  }),
];

const allNodes = selection("nodes", [], sql`order by name, address, id`);
const liveByNode = textQuery(
  (_: Record<never, never>) => sql<{ node_id: string; count: number }>`
    select node_id, count(*) as count from sessions where ended_at is null and node_id is not null group by node_id`,
);
