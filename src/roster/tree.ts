import { nameKey } from "../contract/names.ts";
import type { Definition } from "./definition.ts";

/** Who reports to whom, from the names in the definitions; the order of the files does not matter. */
export interface Tree {
  /** The definition that reports to the board, if there is one. */
  readonly root: Definition | undefined;
  /** Everybody else, each after its boss; `boss` is null for the root agent. */
  readonly others: readonly { readonly definition: Definition; readonly boss: Definition | null }[];
}

export const rootName = "Root";

export function arrange(definitions: readonly Definition[]): Tree {
  const sorted = definitions.toSorted((a, b) => (a.file < b.file ? -1 : 1));
  const [root, second] = sorted.filter(isRoot);
  if (second !== undefined)
    throw second.wrong(
      "reportsTo",
      `${root?.name ?? ""} already reports to the board.`,
      "One agent answers to the board; let this one report to it.",
    );
  const byName = new Map<string, Definition>();
  for (const definition of sorted) {
    const key = nameKey(definition.name);
    const other = byName.get(key);
    if (other !== undefined)
      throw definition.wrong("name", `${other.file} has this name, too.`, "Give each agent its own name.");
    if (root === undefined && key === nameKey(rootName))
      throw definition.wrong(
        "name",
        `the root agent is named ${rootName}.`,
        "To describe the root agent itself, add reportsTo: board.",
      );
    byName.set(key, definition);
  }
  const bossOf = (definition: Definition): Definition | null => {
    const { reportsTo } = definition;
    if (reportsTo === undefined) return null;
    const boss = byName.get(nameKey(reportsTo));
    if (boss === root && boss !== undefined) return null;
    if (boss === undefined && root === undefined && nameKey(reportsTo) === nameKey(rootName)) return null;
    if (boss === undefined)
      throw definition.wrong(
        "reportsTo",
        `nobody here is named ${reportsTo}.`,
        "Name another definition, or leave it out: then it reports to the root agent.",
      );
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
    throw stuck.wrong(
      "reportsTo",
      `these report to each other in a circle, or to somebody who does: ${[...waiting.keys()].map(({ name }) => name).join(", ")}.`,
      "Let one of them report to the root agent.",
    );
  return { root, others };
}

const isRoot = ({ reportsTo }: Definition): boolean =>
  reportsTo !== undefined && nameKey(reportsTo) === "board";
