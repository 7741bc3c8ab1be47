import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { addressesDiffer, directIsPool, poolNeedsDirectUrl } from "./texts.ts";
import { alive, asRefusal, type timeouts } from "./connections.ts";
import type { Statement } from "./waves.ts";

/**
 * A pool of connections between the nodes and PostgreSQL, such as PgBouncer in transaction mode. Each transaction may get another
 * connection of the server, so nothing may last longer than a transaction:
 *
 * - No statement is prepared for later (waves.ts): the server connection of the next transaction does not know it.
 * - Timeouts are set in each transaction. PgBouncer refuses them among the parameters of a new connection.
 * - LISTEN, migrations, leases and copies use a second address, which leads to the server itself.
 */
export interface DatabaseAddresses {
  readonly url: string;
  readonly directUrl?: string | undefined;
}

/** Sets the timeouts of a transaction. */
export const limitsOf = ({ lock, idle, statement }: (typeof timeouts)["writes"]): Statement => ({
  text: "select set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true), set_config('statement_timeout', $3, true)",
  values: [String(lock), String(idle), String(statement)],
});

/** Refuses two addresses that don't lead to one database, before anything is stored through them. */
export async function checkAddresses({ url, directUrl }: DatabaseAddresses): Promise<void> {
  if (directUrl === undefined || directUrl === url) return;
  if ((await databaseAt(url)) !== (await databaseAt(directUrl))) throw addressesDiffer();
}

/** Refuses a pool without a second address. A pool tells each client a number other than that of the server's process. */
export async function refusePool(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  if (rows[0]?.pid !== Object(client)["processID"]) throw poolNeedsDirectUrl();
}

/** The fault in the addresses, for `agency doctor`: one sentence that says what to do. Undefined if they work. */
export async function troubleWith({ url, directUrl }: DatabaseAddresses): Promise<string | undefined> {
  try {
    await checkAddresses({ url, directUrl });
    if (directUrl === undefined) await onConnection(url, refusePool);
    if (await hears(directUrl ?? url)) return undefined;
    const { message, hint } = directIsPool();
    return `${message} ${hint}`;
  } catch (error) {
    const known = Object(error);
    return [known.message, known.hint].filter((each) => typeof each === "string").join(" ");
  }
}

/** Identifies one database of one server. */
const databaseAt = (url: string): Promise<string> =>
  onConnection(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      "select current_database() || ' ' || extract(epoch from pg_postmaster_start_time()) as name",
    );
    return rows[0]?.name ?? "";
  });

/** Whether a notification reaches a listening connection. A pool gives that connection to other clients. */
const hears = (url: string): Promise<boolean> =>
  onConnection(url, async (client) => {
    const channel = `agency_check_${randomBytes(6).toString("hex")}`;
    const heard = new Promise<boolean>((resolve) => client.once("notification", () => resolve(true)));
    await client.query(`listen ${channel}`);
    await onConnection(url, (other) => other.query(`notify ${channel}`));
    return Promise.race([heard, sleep(3000, false, { ref: false })]);
  });

async function onConnection<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, ...alive, query_timeout: 10_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await use(client);
  } catch (error) {
    throw asRefusal(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}
