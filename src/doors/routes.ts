import type { Operation } from "../contract/operation.ts";

/** The operation that a method and a path lead to. */
export interface Route {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
}

/** Matches paths piece by piece. A literal piece wins over a parameter. */
export function routesOf(table: readonly Operation[]): (method: string, path: string) => Route | undefined {
  const routes = table
    .map((operation) => ({ operation, pieces: operation.http.path.split("/") }))
    .toSorted((a, b) => Number(literalFirst(a.pieces)) - Number(literalFirst(b.pieces)));
  const byShape = new Map<string, typeof routes>();
  for (const route of routes) {
    const key = `${route.operation.http.method} ${route.pieces.length}`;
    byShape.set(key, [...(byShape.get(key) ?? []), route]);
  }
  return (method, path) => {
    const given = path.split("/");
    for (const { operation, pieces } of byShape.get(`${method} ${given.length}`) ?? []) {
      const params: Record<string, string> = {};
      const matches = pieces.every((piece, index) => {
        const value = given[index] ?? "";
        if (!piece.startsWith(":")) return piece === value;
        const [name = "", ending = ""] = piece.slice(1).split(/(?=\.)/);
        if (!value.endsWith(ending) || value === ending) return false;
        params[name] = decode(value.slice(0, value.length - ending.length));
        return true;
      });
      if (matches) return { operation, params };
    }
    return undefined;
  };
}

const literalFirst = (pieces: readonly string[]): string =>
  pieces.map((piece) => (piece.startsWith(":") ? "1" : "0")).join("");

function decode(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}
