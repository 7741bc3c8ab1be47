// A network between a node and its database. It can silently lose everything that is sent, and refuse connections.
import { connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  /** The URL of the database through this network. */
  readonly url: string;
  /** From now on, loses everything on the open connections. New connections work, unless `alsoNew`. */
  swallow(alsoNew?: boolean): void;
  /** Delays everything by this many milliseconds. */
  slow(milliseconds: number): void;
  /** Lets new connections work again. The old ones stay broken. */
  heal(): void;
  /** Cuts all connections and refuses new ones. */
  cut(): void;
  stop(): Promise<void>;
}

export async function startTcpProxy(databaseUrl: string): Promise<TcpProxy> {
  const target = new URL(databaseUrl);
  const links = new Set<{ ends: readonly Socket[]; isDead: boolean }>();
  let isGone = false;
  let isCut = false;
  let delay = 0;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(Number(target.port), target.hostname);
    const link = { ends: [near, far], isDead: isGone };
    links.add(link);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      const pass = (bytes: Buffer | string): void => void (link.isDead || to.write(bytes));
      from.on("data", (bytes) => {
        if (delay === 0) pass(bytes);
        else setTimeout(pass, delay, bytes);
      });
      from.on("error", () => undefined);
      from.on("close", () => {
        if (!link.isDead) to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = new URL(databaseUrl);
  url.port = String(typeof address === "object" ? address?.port : "");
  const end = (): void => {
    for (const { ends } of links) for (const socket of ends) socket.destroy();
    links.clear();
  };
  return {
    url: url.href,
    swallow: (alsoNew = false) => {
      isGone = alsoNew;
      for (const link of links) link.isDead = true;
    },
    slow: (milliseconds) => {
      delay = milliseconds;
    },
    heal: () => {
      isGone = false;
      isCut = false;
    },
    cut: () => {
      isCut = true;
      end();
    },
    stop: async () => {
      end();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
