import pg from "pg";
import { tablesAreHeld } from "./texts.ts";
import { alive, answersIn, asRefusal, guard, isLost, isRetryable, keepSockets } from "./connections.ts";
import { type Migration, missingMigrations } from "./migrations.ts";
import { refusePool } from "./pooling.ts";

/**
 * Applies the missing migrations to PostgreSQL. Nodes that start at the same time do so one after another. A node with nothing
 * to apply waits for none of them.
 *
 * A statement may take long, because tables may be large. Only the wait for a lock is limited, because all other statements on
 * the table wait behind it. After `lockTimeout` the migration starts again, at most `attempts` times. Everything else has to be
 * answered in a few seconds: over a dead path, a start would otherwise hang without a word.
 */
const lockTimeout = 3000;
const attempts = 20;
/**
 * Work on large tables. Only the system gives up its path, if the server's machine has not answered for some minutes. The timeout
 * is the longest that Node can wait: 24 days.
 */
const unhurried = (text: string) => ({ text, query_timeout: 2 ** 31 - 1 });

/** `isOnly` means that a pool of connections has no second address. */
export async function applyMigrations(
  url: string,
  isOnly: boolean,
  version: string | undefined,
): Promise<void> {
  const sockets = keepSockets();
  const client = new pg.Client({
    connectionString: url,
    ...alive,
    query_timeout: answersIn.short,
    stream: sockets.stream,
  });
  client.on("error", () => undefined);
  await client.connect().catch((error: unknown) => {
    throw asRefusal(error);
  });
  try {
    if (isOnly) await refusePool(client);
    await guard(client);
    await client.query(`set lock_timeout = ${lockTimeout}`);
    for (let tried = 1; (await missing(client, version)).length > 0; tried++)
      try {
        await applyMissing(client, version);
      } catch (error) {
        if (isLost(error)) throw error;
        await client.query("rollback").catch(() => undefined);
        if (!isRetryable(error)) throw error;
        if (tried >= attempts) throw tablesAreHeld();
      }
  } catch (error) {
    throw asRefusal(error);
  } finally {
    await sockets.end(client.end());
  }
}

async function applyMissing(client: pg.Client, version: string | undefined): Promise<void> {
  // The number only has to be the same on all nodes.
  await client.query("begin; select pg_advisory_xact_lock(42004600)");
  await client.query(
    "create table if not exists migrations (name text primary key, applied_at bigint not null)",
  );
  for (const { name, statements } of await missing(client, version)) {
    for (const statement of statements("postgres")) await client.query(unhurried(statement));
    await client.query(
      "insert into migrations (name, applied_at) values ($1, (extract(epoch from clock_timestamp()) * 1000)::bigint)",
      [name],
    );
  }
  await client.query(unhurried("commit"));
}

async function missing(client: pg.Client, version: string | undefined): Promise<readonly Migration[]> {
  const { rows: tables } = await client.query<{ found: string | null }>(
    "select to_regclass('migrations') as found",
  );
  if (tables[0]?.found == null) return missingMigrations([]);
  const { rows } = await client.query<{ name: string }>("select name from migrations");
  const applied = rows.map((row) => row.name);
  const others = applied.length === 0 ? [] : await nodeVersions(client);
  return missingMigrations(applied, version === undefined ? undefined : { own: version, others });
}

/** The versions of the nodes that renewed their leases within the last minute, by the database's clock. */
async function nodeVersions(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ version: string }>(
    "select version from nodes where heartbeat > (extract(epoch from clock_timestamp()) * 1000)::bigint - 60000",
  );
  return rows.map((row) => row.version);
}
