import type { StatementAnswer, Statement } from "./waves.ts";

/**
 * The numbers of new rows (`num`). PostgreSQL gives each row a number when it is inserted, and the ledger has to wait for that.
 * So a batch draws some numbers as soon as it has its lock: as many as the largest of the last batches used. If none is left
 * for a row, the row gets its number when it is inserted.
 *
 * The lock is held from the draw to the commit. So the numbers of a company's rows rise in the order of their commits,
 * whichever node writes them. Unused numbers are lost.
 */
export interface Numbers {
  /** The next number of the table, if there is one. */
  next(table: string): number | undefined;
  fill(answer: StatementAnswer): void;
  /** The number of rows of each table that asked for a number. */
  readonly asked: ReadonlyMap<string, number>;
}

export function numbersOfLink(): Numbers {
  const stock = new Map<string, number[]>();
  const asked = new Map<string, number>();
  return {
    asked,
    next: (table) => {
      asked.set(table, (asked.get(table) ?? 0) + 1);
      return stock.get(table)?.shift();
    },
    fill: ({ rows }) => {
      const drawn = rows.map(Object).toSorted((a, b) => a.num - b.num);
      for (const [table, some] of Map.groupBy(drawn, ({ name }) => String(name)))
        stock.set(
          table,
          some.map(({ num }) => Number(num)),
        );
    },
  };
}

/** How many numbers the next batch will need. */
export function keepNeeds() {
  const needs = new Map<string, number>();
  return {
    note: (asked: Numbers["asked"]): void => {
      for (const table of new Set([...needs.keys(), ...asked.keys()])) {
        const need = Math.max(asked.get(table) ?? 0, (needs.get(table) ?? 0) * 0.97);
        if (need < 0.2) needs.delete(table);
        else needs.set(table, Math.min(need, mostDrawn));
      }
    },
    draw: (): Statement | undefined =>
      needs.size === 0
        ? undefined
        : {
            text: drawing,
            values: [JSON.stringify([...needs].map(([name, need]) => ({ name, count: Math.ceil(need) })))],
          },
  };
}

const mostDrawn = 64;

const drawing = `select t.name, nextval(s.sequence) as num
  from json_to_recordset($1::json) as t(name text, count integer),
  lateral (select pg_get_serial_sequence(t.name, 'num')::regclass as sequence offset 0) as s,
  generate_series(1, t.count)`;
