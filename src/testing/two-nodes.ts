import { after } from "node:test";
import pg from "pg";
import { openPostgres } from "../store/postgres.ts";
import type { Store } from "../store/store.ts";
import { storeDatabase } from "./postgres.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";

/** Two nodes on one new database. */
export interface TwoNodes {
  readonly url: string;
  readonly store: Store;
  /** All connections of `store` lead through it. */
  readonly proxy: TcpProxy;
  readonly other: Store;
  /** A connection beside those of the nodes. */
  readonly outside: pg.Client;
}

/** For all tests of a suite. Await it before you declare the tests. It is closed after the last. `sql` runs first. */
export async function twoNodes(sql = ""): Promise<TwoNodes> {
  const database = await storeDatabase();
  const outside = new pg.Client({ connectionString: database.url });
  await outside.connect();
  await outside.query(sql);
  const proxy = await startTcpProxy(database.url);
  const store = await openPostgres({ url: proxy.url, key: "key" });
  const other = await openPostgres({ url: database.url, key: "key" });
  after(async () => {
    await store.close();
    await other.close();
    await proxy.stop();
    await outside.end();
    await database.drop();
  });
  return { url: database.url, store, proxy, other, outside };
}
