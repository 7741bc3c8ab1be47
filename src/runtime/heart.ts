import { sql } from "kysely";
import { brains } from "../brains/registry.ts";
import { deleting, insertion, textQuery } from "../store/query.ts";
import type { NewRow } from "../store/schema.ts";
import type { Store, Tx } from "../store/store.ts";

/**
 * The row of this node in the table `nodes`. It is written with the leases, so it waits for no company. On SQLite there is no other
 * node that would have to know whether this one still runs, so an idle one writes only what changed.
 */
export interface Heart {
  /** What there is to write now. Undefined: nothing. `written` is called once it is durable. */
  beat(): { readonly write: (tx: Tx) => Promise<void>; readonly written: () => void } | undefined;
  /** The node stops, and its row goes. */
  stop(): Promise<void>;
}

export interface HeartParts extends Pick<NewRow<"nodes">, "id" | "name" | "version" | "capacity"> {
  readonly store: Store;
  readonly address: () => string;
  /** Whether this machine can run sessions of this type of brain, apart from the program. */
  readonly canStart: (brainType: string) => boolean;
  /** The programs of brains that were looked for and are not here. */
  readonly lacks: () => readonly string[];
}

export function keepHeart({ store, address, canStart, lacks, ...fixed }: HeartParts): Heart {
  let startedAt: number | undefined;
  let known = "";
  const now = () => ({
    ...fixed,
    address: address(),
    brains: JSON.stringify(
      brains.map(({ type }) => type).filter((type) => type !== "human" && canStart(type)),
    ),
    lacks: JSON.stringify(lacks().slice(0, mostLacks)),
  });
  return {
    beat: () => {
      const row = now();
      const text = JSON.stringify(row);
      if (store.dialect === "sqlite" && text === known) return undefined;
      return {
        write: (tx) => {
          startedAt ??= tx.now;
          return tx.run(saveNode, { ...row, started_at: startedAt, heartbeat: tx.now });
        },
        written: () => void (known = text),
      };
    },
    stop: () => store.write((tx) => tx.run(dropNode, { id: fixed.id }), "leases"),
  };
}

const mostLacks = 100;
const dropNode = deleting("nodes", ["id"]);
const saveNode = insertion(
  "nodes",
  sql`on conflict (id) do update set name = excluded.name, address = excluded.address, version = excluded.version,
    capacity = excluded.capacity, brains = excluded.brains, lacks = excluded.lacks, started_at = excluded.started_at,
    heartbeat = excluded.heartbeat`,
);

/** Rows of other nodes that were not heard of since. */
export const dropNodesBefore = textQuery(
  (p: { before: number; own: string }) =>
    sql<never>`delete from nodes where heartbeat < ${p.before} and id <> ${p.own}`,
);
