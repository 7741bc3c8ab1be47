import { createHash } from "node:crypto";

/**
 * What happened, line by line. All lines go into a hash, by which two runs are compared; the last ones are kept to be
 * shown. Ids are shown by names of their own, given in the order in which they first appear.
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

  /** What an id is called here: `outcome 7`. */
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
