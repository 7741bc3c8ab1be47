// The invariants of the rows that are broken, as the running daemon finds them: the output of `agency doctor --deep`.
import { examineDeeply } from "../../src/contract/doctor.ts";
import type { BuiltDaemon } from "./daemon.ts";
import { allPages } from "./pages.ts";

export async function checkInvariants({ board }: Pick<BuiltDaemon, "board">): Promise<string[]> {
  const findings = await allPages((cursor) => board.call(examineDeeply, { cursor }), "findings");
  return findings.map(({ invariant, statement, what }) => `${invariant} (${statement}) ${what}`);
}
