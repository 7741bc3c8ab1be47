import { flextree } from "d3-flextree";
import type { MapItem } from "../../ui/camera.ts";
import { type Graph, forestOf, type GraphNode, type Leaf, rowsOfTree, shownOutcomes } from "./forest.ts";

/** An outcome on the map. Purposes are at the left, and the outcomes that serve them are to their right. */
export interface PlacedItem extends MapItem {
  readonly node: GraphNode;
  readonly matches: boolean;
}

export interface Edge {
  readonly from: PlacedItem;
  readonly to: PlacedItem;
  /** `serves`: a line of the tree. `also`: another parent. `waits`: a dependency. */
  readonly kind: "serves" | "also" | "waits";
}

export interface MapOfOutcomes {
  readonly items: readonly PlacedItem[];
  readonly wires: readonly Edge[];
}

const width = 236;
const height = 44;
const gapX = 64;
const gapY = 10;

interface Branch {
  readonly leaf: Leaf<GraphNode> | null;
  readonly below: Branch[];
}

export function layOutcomes(graph: Graph, matches: (node: GraphNode) => boolean): MapOfOutcomes {
  const forest = forestOf(graph.outcomes, graph.edges);
  const rows = rowsOfTree(forest, shownOutcomes(forest, matches), new Set());
  const top: Branch = { leaf: null, below: [] };
  const path: Branch[] = [top];
  for (const leaf of rows) {
    const branch: Branch = { leaf, below: [] };
    path.length = leaf.depth + 1;
    path.at(-1)?.below.push(branch);
    path.push(branch);
  }
  const layout = flextree<Branch>({
    children: ({ below }) => below,
    // The layout grows downwards, but the map grows to the right.
    nodeSize: ({ data }) => (data.leaf === null ? [0, 0] : [height + gapY, width + gapX]),
  });
  const tree = layout.hierarchy(top);
  layout(tree);
  const items: PlacedItem[] = [];
  const placed = new Map<string, PlacedItem>();
  tree.each(({ data: { leaf }, x, y }) => {
    if (leaf === null) return;
    const item = {
      id: leaf.node.id,
      x: y,
      y: x - height / 2,
      w: width,
      h: height,
      node: leaf.node,
      matches: leaf.matches,
    };
    items.push(item);
    placed.set(item.id, item);
  });
  const wires: Edge[] = [];
  const hasParent = new Set<string>();
  const add = (from: string, to: string, kind: Edge["kind"]): void => {
    const [a, b] = [placed.get(from), placed.get(to)];
    if (a !== undefined && b !== undefined) wires.push({ from: a, to: b, kind });
  };
  for (const { parent, child } of graph.edges) {
    if (!placed.has(parent) || !placed.has(child)) continue;
    add(parent, child, hasParent.has(child) ? "also" : "serves");
    hasParent.add(child);
  }
  for (const { outcome, dependsOn } of graph.dependencies) add(outcome, dependsOn, "waits");
  return { items, wires };
}
