/** A rule that the program has broken. The simulator exists to find these. */
export class Broken extends Error {
  override readonly name = "Broken";
  readonly rule: string;

  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`);
    this.rule = rule;
  }
}

/** The error of a store call that the simulator made fail. */
export class StoreFault extends Error {
  override readonly name = "StoreFault";
}
