import { sql } from "kysely";
import { brains } from "../brains/registry.ts";
import { refuseOlder } from "../store/migrations.ts";
import { insertion } from "../store/inserts.ts";
import { deleting, textQuery } from "../store/query.ts";
import type { NewRow } from "../store/schema.ts";
import type { Store, Tx } from "../store/store.ts";

/**
 * The row of this node in the table `nodes`. The row is written with the leases, so its write waits for no company. On SQLite
 * no other node has to know whether this one still runs, so an idle node writes only changes.
 */
export interface Heart {
  /** The next write, or undefined if there is nothing to write. `written` is called once the write is durable. */
  beat(): { readonly write: (tx: Tx) => Promise<void>; readonly written: () => void } | undefined;
  /** Deletes the row, because the node stops. */
  stop(): Promise<void>;
}

export interface HeartParts extends Pick<NewRow<"nodes">, "id" | "name" | "version" | "capacity"> {
  readonly store: Store;
  readonly address: () => string;
  /** Whether sessions of this type of brain can start on this machine. Does not check whether its program is installed. */
  readonly canStart: (brainType: string) => boolean;
  /** The brains' programs that were looked for and are missing here. */
  readonly lacks: () => readonly string[];
  /** What keeps this node from starting sessions now. */
  readonly trouble?: () => string | null;
  /** Called if a newer version has changed the data since this node started, and this version can't use the data any more. */
  readonly tooOld?: (error: unknown) => void;
}

export function keepHeart({ store, address, canStart, lacks, trouble, tooOld, ...fixed }: HeartParts): Heart {
  let startedAt: number | undefined;
  let known = "";
  const now = () => ({
    ...fixed,
    address: address(),
    brains: JSON.stringify(
      brains.map(({ type }) => type).filter((type) => type !== "human" && canStart(type)),
    ),
    lacks: JSON.stringify(lacks().slice(0, mostLacks)),
    trouble: trouble?.() ?? null,
  });
  /**
   * What the start checked may have changed since: a migration does not wait for a node that stands still, nor for one that started
   * while it ran (store/apply-migrations.ts).
   */
  const stillNewEnough = async (tx: Tx): Promise<void> => {
    const applied = (await tx.all(appliedMigrations, {})).map(({ name }) => name);
    try {
      refuseOlder(applied, fixed.version);
    } catch (error) {
      tooOld?.(error);
      throw error;
    }
  };
  return {
    beat: () => {
      const row = now();
      const text = JSON.stringify(row);
      if (store.dialect === "sqlite" && text === known) return undefined;
      return {
        write: async (tx) => {
          startedAt ??= tx.now;
          if (store.dialect === "postgres") await stillNewEnough(tx);
          return tx.run(saveNode, { ...row, started_at: startedAt, heartbeat: tx.now });
        },
        written: () => void (known = text),
      };
    },
    stop: () => store.write((tx) => tx.run(dropNode, { id: fixed.id }), "leases"),
  };
}

const mostLacks = 100;
const appliedMigrations = textQuery(
  (_: Record<never, never>) => sql<{ name: string }>`select name from migrations`,
);
const dropNode = deleting("nodes", ["id"]);
const saveNode = insertion(
  "nodes",
  sql`on conflict (id) do update set name = excluded.name, address = excluded.address, version = excluded.version,
    capacity = excluded.capacity, brains = excluded.brains, lacks = excluded.lacks, trouble = excluded.trouble, started_at = excluded.started_at,
    heartbeat = excluded.heartbeat`,
);

/** Deletes the rows of other nodes that have been silent since. */
export const dropNodesBefore = textQuery(
  (p: { before: number; own: string }) =>
    sql<never>`delete from nodes where heartbeat < ${p.before} and id <> ${p.own}`,
);
