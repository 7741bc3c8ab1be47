// Attacks that need the built daemon, real processes or the files of a database. Other suites make them, and their names are
// read from those suites. So the table can't claim an attack that no suite makes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Attack } from "./attack.ts";

export interface OtherAttack extends Attack {
  readonly suite: string;
}

const root = join(import.meta.dirname, "../..");

function named(file: string, pattern: RegExp): string[] {
  const source = readFileSync(join(root, file), "utf8");
  return [...source.matchAll(pattern)].map(([, , name = ""]) => name);
}

const escapes = named("e2e/support/hostile.mjs", /\battempt\(\s*(["`])(.+?)\1/g).map(
  (attempt): OtherAttack => ({
    class: "agent's process",
    threat: "leaving the sandbox",
    attempt,
    expected: "held, as root and as a normal user",
    suite: "e2e/hostile-sandbox.test.ts",
  }),
);

const tamperings = named("src/events/tampering.db.test.ts", /^ {6}(?:\[|(?: {2}))(")([a-z][^"]+)",/gm).map(
  (attempt): OtherAttack => ({
    class: "tampering",
    threat: "rewriting what happened",
    attempt,
    expected: "audit verify names the first bad row",
    suite: "src/events/tampering.db.test.ts",
  }),
);

const floods = named("e2e/support/flooded.ts", /^ {6}(")([a-z][^"]+)": \{/gm).map((attempt): OtherAttack => ({
  class: "flood",
  threat: "keeping others waiting",
  attempt,
  expected: "a second client is answered soon, and the flood is refused slowly",
  suite: "e2e/floods.test.ts",
}));

export const otherAttacks: readonly OtherAttack[] = [...escapes, ...tamperings, ...floods];
