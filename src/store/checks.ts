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
 * Which columns of a query's rows hold only values the code knows. The query builder's tree says which column of which
 * table each result comes from, so every query is covered without a word in it. Found once, when the query is prepared.
 * A column that is computed, and a query written as text, are not checked.
 */
export interface Check {
  /** As it is called in the result. */
  readonly as: string;
  readonly where: string;
  readonly knows: (stored: Value) => boolean;
}

/** A value the code does not know is a bug, or of another version: acting on a guess would do harm. */
export function checkRow(row: Readonly<Record<string, Value>>, checks: readonly Check[]): void {
  for (const { as, where, knows } of checks) {
    const value = row[as];
    // The database itself sees to where null may be; a left join makes it everywhere.
    if (value !== null && (value === undefined || !knows(value))) throw unknownValue(where, value);
  }
}

export function checksOf(node: OperationNode): Check[] {
  if (!SelectQueryNode.is(node)) return [];
  // The rows of a union come from several tables: checked is what comes from the same column in all of them.
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

function checksIn(table: string | undefined): Check[] {
  if (table === undefined || !isTable(table)) return [];
  return Object.entries<Column>(tables[table]).flatMap(([as, { knows }]) =>
    knows === undefined ? [] : [{ as, where: `${table}.${as}`, knows }],
  );
}

const isTable = (name: string): name is TableName => name in tables;
