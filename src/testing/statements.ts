import pg from "pg";

/** The statements that this process sends to PostgreSQL until stop() is called. */
export interface WatchedStatements {
  /** All texts. Transactions and savepoints count too, and so does each statement of a wave (store/waves.ts). */
  readonly texts: readonly string[];
  /** The transactions that have begun and ended since, each with the statements that begin and end it. */
  readonly transactions: readonly (readonly string[])[];
  /** For each read that can be made together with others: the text that does so (store/waves.ts). */
  readonly together: ReadonlySet<string>;
  stop(): void;
}

export function watchStatements(): WatchedStatements {
  const query: unknown = Reflect.get(pg.Client.prototype, "query");
  if (typeof query !== "function") throw new TypeError("the driver has no queries");
  const texts: string[] = [];
  const transactions: string[][] = [];
  const together = new Set<string>();
  const open = new Map<pg.Client, string[]>();
  const note = (client: pg.Client, text: string): void => {
    texts.push(text);
    if (text.startsWith("begin")) open.set(client, []);
    const begun = open.get(client);
    begun?.push(text);
    if (begun === undefined || !/^(?:commit|rollback)$/.test(text)) return;
    open.delete(client);
    transactions.push(begun);
  };
  Reflect.set(pg.Client.prototype, "query", function (this: pg.Client, ...args: unknown[]): unknown {
    const wave: readonly unknown[] = Object(args[0]).statements ?? [args[0]];
    for (const each of wave) {
      const statement = Object(each);
      note(this, String(statement.text ?? each));
      if (typeof statement.together === "string") together.add(statement.together);
    }
    return Reflect.apply(query, this, args);
  });
  const stop = (): void => void Reflect.set(pg.Client.prototype, "query", query);
  return { texts, transactions, together, stop };
}
