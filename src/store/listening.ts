import pg from "pg";
import { alive, asRefusal, keepSockets } from "./connections.ts";

const channel = "agency_events";

/**
 * Keeps one connection that listens for the commits of other nodes, and reconnects when it breaks. Notifications sent in
 * between are lost, which does no harm: followers of events also look from time to time.
 */
export async function listen(
  url: string,
  hear: () => void,
): Promise<{ tell: () => void; end: () => Promise<void> }> {
  let closed = false;
  let telling: NodeJS.Timeout | undefined;
  /** True if there were commits since the notification under way was sent. */
  let isBehind = false;
  const sockets = keepSockets();
  const connect = (): pg.Client =>
    new pg.Client({ connectionString: url, ...alive, query_timeout: 5000, stream: sockets.stream });
  let client = connect();
  const start = async (): Promise<void> => {
    const own = client;
    client.on("notification", ({ processId }) => {
      // Listeners were already called when this node committed.
      if (processId !== Object(own)["processID"]) hear();
    });
    client.on("error", () => {
      if (!closed) setTimeout(restart, 1000).unref();
    });
    await client.connect();
    await client.query(`listen ${channel}`);
    hear();
    check(client);
  };
  /** A connection that died silently hears nothing. So it is tested now and then. */
  const check = (asked: pg.Client): void => {
    setTimeout(() => {
      if (closed || asked !== client) return;
      asked.query("select 1").then(() => check(asked), restart);
    }, 10_000).unref();
  };
  const restart = (): void => {
    if (closed) return;
    client.removeAllListeners();
    client.on("error", () => undefined);
    void client.end().catch(() => undefined);
    client = connect();
    start().catch(() => setTimeout(restart, 1000).unref());
  };
  /** Sends one notification at a time: a slow server gets the next one after its answer. */
  const tell = (): void => {
    isBehind = true;
    telling ??= setTimeout(() => void notify(), 20).unref();
  };
  const notify = async (): Promise<void> => {
    isBehind = false;
    if (!closed) await client.query(`notify ${channel}`).catch(() => undefined);
    telling = undefined;
    if (isBehind && !closed) tell();
  };
  const end = async (): Promise<void> => {
    closed = true;
    clearTimeout(telling);
    await sockets.end(client.end());
  };
  await start().catch(async (error: unknown) => {
    await end();
    throw asRefusal(error);
  });
  return {
    /**
     * Tells the other nodes of commits. This happens outside their transactions, because PostgreSQL would otherwise let them
     * commit only one at a time.
     */
    tell,
    end,
  };
}
