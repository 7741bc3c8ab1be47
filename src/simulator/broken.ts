/** A rule that does not hold: what the simulator is looking for. */
export class Broken extends Error {
  override readonly name = "Broken";
  readonly rule: string;

  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`);
    this.rule = rule;
  }
}

/** The error of a store that failed because the simulator wanted it to. */
export class StoreFault extends Error {
  override readonly name = "StoreFault";
}
