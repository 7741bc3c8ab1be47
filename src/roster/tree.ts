import { nameKey } from "../contract/names.ts";
import type { Definition } from "./definition.ts";
import { bossCircle, nameTwice, noSuchBoss, rootNameTaken, secondRoot } from "./texts.ts";

/** The reporting lines, from the names in the definitions. The order of the files does not matter. */
export interface Tree {
  /** The definition that reports to the board, if there is one. */
  readonly root: Definition | undefined;
  /** All other agents, each after its boss. A `boss` of null means the root agent. */
  readonly others: readonly { readonly definition: Definition; readonly boss: Definition | null }[];
}

export const rootName = "Root";

export function arrange(definitions: readonly Definition[]): Tree {
  const sorted = definitions.toSorted((a, b) => (a.file < b.file ? -1 : 1));
  const [root, second] = sorted.filter(isRoot);
  if (second !== undefined) throw secondRoot(second, root?.name ?? "");
  const byName = new Map<string, Definition>();
  for (const definition of sorted) {
    const key = nameKey(definition.name);
    const other = byName.get(key);
    if (other !== undefined) throw nameTwice(definition, other.file);
    if (root === undefined && key === nameKey(rootName)) throw rootNameTaken(definition, rootName);
    byName.set(key, definition);
  }
  const bossOf = (definition: Definition): Definition | null => {
    const { reportsTo } = definition;
    if (reportsTo === undefined) return null;
    const boss = byName.get(nameKey(reportsTo));
    if (boss === root && boss !== undefined) return null;
    if (boss === undefined && root === undefined && nameKey(reportsTo) === nameKey(rootName)) return null;
    if (boss === undefined) throw noSuchBoss(definition, reportsTo);
    return boss;
  };
  const waiting = new Map(
    sorted.filter((definition) => definition !== root).map((definition) => [definition, bossOf(definition)]),
  );
  const others: { definition: Definition; boss: Definition | null }[] = [];
  for (let placed = -1; placed !== others.length;) {
    placed = others.length;
    for (const [definition, boss] of waiting)
      if ((boss === null || !waiting.has(boss)) && waiting.delete(definition))
        others.push({ definition, boss });
  }
  const [[stuck] = []] = waiting;
  if (stuck !== undefined)
    throw bossCircle(
      stuck,
      [...waiting.keys()].map(({ name }) => name),
    );
  return { root, others };
}

const isRoot = ({ reportsTo }: Definition): boolean =>
  reportsTo !== undefined && nameKey(reportsTo) === "board";
