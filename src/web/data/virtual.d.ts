declare module "virtual:operations" {
  export const ops: import("./operations.ts").PageOperations;
}

declare module "*?sharedworker&url" {
  const url: string;
  export default url;
}

declare module "*?worker&url" {
  const url: string;
  export default url;
}

declare module "*.css" {}

declare module "d3-flextree" {
  interface FlexNode<T> {
    readonly data: T;
    readonly x: number;
    readonly y: number;
    each(visit: (node: FlexNode<T>) => void): void;
  }
  export function flextree<T>(options: {
    readonly children: (data: T) => readonly T[];
    readonly nodeSize: (node: { readonly data: T }) => readonly [number, number];
  }): {
    hierarchy(data: T): FlexNode<T>;
    (tree: FlexNode<T>): void;
  };
}
