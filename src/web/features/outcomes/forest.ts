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

/** The outcomes that are shown: those that match, and those above them. */
export interface ShownOutcomes {
  readonly shown: ReadonlySet<string>;
  readonly matching: ReadonlySet<string>;
}

/** Looks at every outcome, so it changes only with the graph and the filters, not with folding. */
export function shownOutcomes<N extends { readonly id: string }>(
  { roots, children }: Forest<N>,
  matches: (node: N) => boolean,
): ShownOutcomes {
  const matching = new Set<string>();
  const shown = new Set<string>();
  const seen = new Set<string>();
  const look = (node: N): boolean => {
    if (seen.has(node.id)) return shown.has(node.id);
    seen.add(node.id);
    let isShown = matches(node);
    if (isShown) matching.add(node.id);
    for (const child of children.get(node.id) ?? []) if (look(child)) isShown = true;
    if (isShown) shown.add(node.id);
    return isShown;
  };
  for (const node of roots) look(node);
  return { shown, matching };
}

export function rowsOfTree<N extends { readonly id: string }>(
  { roots, children }: Forest<N>,
  { shown, matching }: ShownOutcomes,
  folded: ReadonlySet<string>,
): Leaf<N>[] {
  const rows: Leaf<N>[] = [];
  const add = (node: N, depth: number): void => {
    if (!shown.has(node.id)) return;
    const below = children.get(node.id) ?? [];
    const isFolded = folded.has(node.id);
    const hasChildren = below.some(({ id }) => shown.has(id));
    rows.push({ node, depth, hasChildren, isFolded, matches: matching.has(node.id) });
    if (!isFolded) for (const child of below) add(child, depth + 1);
  };
  for (const node of roots) add(node, 0);
  return rows;
}
