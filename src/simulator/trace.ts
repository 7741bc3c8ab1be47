import { createHash } from "node:crypto";

/**
 * Records the actions, line by line. A hash of all lines shows whether two runs were the same. The last lines are kept for the
 * report of a failure. Ids appear as short names, numbered in the order of their first appearance.
 */
export class Trace {
  readonly #hash = createHash("sha256");
  readonly #last: string[] = [];
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #kept: number;
  lines = 0;

  constructor(kept: number) {
    this.#kept = kept;
  }

  line(text: string): void {
    this.#hash.update(`${text}\n`);
    this.lines += 1;
    this.#last.push(text);
    if (this.#last.length > this.#kept) this.#last.shift();
  }

  last(): readonly string[] {
    return this.#last;
  }

  digest(): string {
    return this.#hash.copy().digest("hex");
  }

  /** The short name of an id, for example `outcome 7`. */
  name(kind: string, id: string | null): string {
    if (id === null) return "the board";
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    return this.call(id, `${kind} ${count}`);
  }

  call(id: string, name: string): string {
    this.#names.set(id, name);
    return name;
  }
}
