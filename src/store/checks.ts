import {
  AliasNode,
  ColumnNode,
  IdentifierNode,
  type OperationNode,
  ReferenceNode,
  SelectAllNode,
  SelectQueryNode,
  TableNode,
} from "kysely";
import { type Column, unknownValue, type Value } from "./columns.ts";
import { type TableName, tables } from "./schema.ts";

/**
 * Some columns may hold only values that schema.ts lists, such as a status. The store checks them in every row it reads.
 *
 * Kysely's syntax tree tells which table and column each result comes from, so queries need no annotations. The checks
 * are derived once, when the query is prepared. Computed columns and queries written as raw SQL are not
 * checked, except those of selection(), which name their table.
 */
export interface Check {
  /** The column's name in the result. */
  readonly as: string;
  readonly where: string;
  readonly knows: (stored: Value) => boolean;
}

/** Throws on an unknown value. It comes from a bug or from another version, and acting on a guess could do harm. */
export function checkRow(row: Readonly<Record<string, Value>>, checks: readonly Check[]): void {
  for (const { as, where, knows } of checks) {
    const value = row[as];
    // Null is always accepted here: the database enforces `not null`, and a left join can return null in any column.
    if (value !== null && (value === undefined || !knows(value))) throw unknownValue(where, value);
  }
}

export function checksOf(node: OperationNode): Check[] {
  if (!SelectQueryNode.is(node)) return [];
  // The rows of a union come from several tables. A result is checked only if it is the same column in all of them.
  const others = (node.setOperations ?? []).map(({ expression }) => checksOf(expression));
  const isEverywhere = ({ as, where }: Check): boolean =>
    others.every((checks) => checks.some((other) => other.as === as && other.where === where));
  return selected(node).filter(isEverywhere);
}

function selected(node: SelectQueryNode): Check[] {
  const sources = new Map<string, readonly Check[]>();
  for (const source of [...(node.from?.froms ?? []), ...(node.joins ?? []).map(({ table }) => table)]) {
    const inner = AliasNode.is(source) ? source.node : source;
    const name = AliasNode.is(source) && IdentifierNode.is(source.alias) ? source.alias.name : tableIn(inner);
    if (name !== undefined)
      sources.set(name, TableNode.is(inner) ? checksIn(tableIn(inner)) : checksOf(inner));
  }
  const found = (table: TableNode | undefined): readonly Check[] =>
    table === undefined ? [...sources.values()].flat() : (sources.get(tableIn(table) ?? "") ?? []);
  return (node.selections ?? []).flatMap(({ selection }) => {
    if (SelectAllNode.is(selection)) return found(undefined);
    const inner = AliasNode.is(selection) ? selection.node : selection;
    if (!ReferenceNode.is(inner)) return [];
    const { column, table } = inner;
    if (!ColumnNode.is(column)) return found(table);
    const as =
      AliasNode.is(selection) && IdentifierNode.is(selection.alias) ? selection.alias.name : undefined;
    const check = found(table).find((one) => one.as === column.column.name);
    return check === undefined ? [] : [{ ...check, as: as ?? check.as }];
  });
}

const tableIn = (node: OperationNode): string | undefined =>
  TableNode.is(node) ? node.table.identifier.name : undefined;

export function checksIn(table: string | undefined): Check[] {
  if (table === undefined || !isTable(table)) return [];
  return Object.entries<Column>(tables[table]).flatMap(([as, { knows }]) =>
    knows === undefined ? [] : [{ as, where: `${table}.${as}`, knows }],
  );
}

const isTable = (name: string): name is TableName => name in tables;
