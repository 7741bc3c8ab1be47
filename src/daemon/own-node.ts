import { hostname } from "node:os";
import { leaseMilliseconds } from "../readers/nodes.ts";
import { renewEvery } from "../runtime/scheduler.ts";
import { selection } from "../store/query.ts";
import type { Store } from "../store/store.ts";
import { giveNodeId, type Home, nodeId } from "./home.ts";
import { homeWasCopied } from "./texts.ts";

/**
 * The id of this node. A home that was copied to another machine has the id of the first node, and each of the two would end the
 * sessions of the other as its own. So if the row of the id is that of another machine, and is renewed while this node watches it, this
 * node takes a new id. This machine may have got another name. In that case no node renews the row.
 */
export async function ownNode(parts: {
  readonly store: Store;
  readonly home: Home;
  /** 0 means any. */
  readonly port: number;
  readonly name?: string;
  readonly newId: () => string;
  readonly pause: (milliseconds: number) => Promise<void>;
  readonly log: (line: Record<string, unknown>) => void;
}): Promise<string> {
  const { store, home, port, name = hostname(), newId, pause, log } = parts;
  const id = nodeId(home, newId);
  if (store.dialect === "sqlite") return id;
  const look = () => store.read(async (tx) => ({ row: (await tx.all(nodeRow, { id }))[0], now: tx.now }));
  const { row: before, now } = await look();
  if (before === undefined || before.heartbeat <= now - leaseMilliseconds) return id;
  const isHere = before.name === name && (port === 0 || before.address.endsWith(`:${port}`));
  for (let waited = 0; !isHere && waited < renewEvery + 2000; waited += lookEvery) {
    await pause(lookEvery);
    const { row } = await look();
    if (row === undefined) return id;
    if (row.heartbeat === before.heartbeat) continue;
    log({ level: "warn", about: "node", says: homeWasCopied(`${row.name} (${row.address})`) });
    return giveNodeId(home, newId());
  }
  return id;
}

const lookEvery = 500;
const nodeRow = selection("nodes", ["id"]);
