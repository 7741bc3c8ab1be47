import type { ops } from "virtual:operations";
import type { Answer } from "../../data/operations.ts";

export type Graph = Answer<typeof ops.viewGraph>;
export type GraphNode = Graph["outcomes"][number];

/** A graph, and which of its outcomes fit what is searched for. */
export interface Searched {
  readonly graph: Graph;
  readonly matches: (node: GraphNode) => boolean;
}

/** The outcomes as rows of a tree. An outcome with several parents is listed below the first of them. */
export interface Leaf<N extends { readonly id: string }> {
  readonly node: N;
  readonly depth: number;
  readonly hasChildren: boolean;
  readonly isFolded: boolean;
  /** Whether it matches the filters. Other rows are shown because a row below them matches. */
  readonly matches: boolean;
}

/** The tree of outcomes. It changes only with the graph, not with folding or filters. */
export interface Forest<N extends { readonly id: string }> {
  readonly roots: readonly N[];
  readonly children: ReadonlyMap<string, readonly N[]>;
}

export function forestOf<N extends { readonly id: string }>(
  nodes: readonly N[],
  edges: readonly { readonly parent: string; readonly child: string }[],
): Forest<N> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const children = new Map<string, N[]>();
  const placed = new Set<string>();
  for (const { parent, child } of edges) {
    const node = byId.get(child);
    if (node === undefined || !byId.has(parent) || placed.has(child)) continue;
    placed.add(child);
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [node]);
    else siblings.push(node);
  }
  return { roots: nodes.filter(({ id }) => !placed.has(id)), children };
}

export function rowsOfTree<N extends { readonly id: string }>(
  { roots, children }: Forest<N>,
  matches: (node: N) => boolean,
  folded: ReadonlySet<string>,
): Leaf<N>[] {
  const matching = new Set<string>();
  const shows = new Map<string, boolean>();
  const isShown = (node: N): boolean => {
    const known = shows.get(node.id);
    if (known !== undefined) return known;
    shows.set(node.id, false);
    const below = (children.get(node.id) ?? []).map(isShown);
    const isOne = matches(node);
    if (isOne) matching.add(node.id);
    const answer = isOne || below.includes(true);
    shows.set(node.id, answer);
    return answer;
  };
  const rows: Leaf<N>[] = [];
  const add = (node: N, depth: number): void => {
    if (!isShown(node)) return;
    const below = (children.get(node.id) ?? []).filter(isShown);
    const isFolded = folded.has(node.id);
    rows.push({ node, depth, hasChildren: below.length > 0, isFolded, matches: matching.has(node.id) });
    if (!isFolded) for (const child of below) add(child, depth + 1);
  };
  for (const node of roots) add(node, 0);
  return rows;
}
