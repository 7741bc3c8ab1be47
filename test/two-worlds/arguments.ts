import { fileKinds } from "../../src/contract/knowledge.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { operations } from "../../src/contract/operation-table.ts";
import { outcomeStatuses } from "../../src/contract/outcomes.ts";
import { approvalStatuses, approvalTypes } from "../../src/contract/approvals.ts";
import { foundKinds } from "../../src/contract/finding.ts";
import { sessionEnds } from "../../src/contract/sessions.ts";
import { agentStatuses } from "../../src/contract/agents.ts";
import type { Chance } from "../../src/simulator/chance.ts";
import { months, words } from "./world.ts";

/** Inputs for the questions of the watchers: one for each operation that reads. */
export interface Pool {
  readonly chance: Chance;
  readonly named: readonly string[];
  readonly guesses: readonly string[];
  readonly nouns: Readonly<Record<string, readonly string[]>>;
  readonly companyId: string;
  /** Cursors from earlier answers. */
  readonly cursors: readonly string[];
}

export const reading: readonly Operation[] = operations.filter(({ effect }) => effect !== "write");

/** Values by key of the input. If a key is missing here, every operation with that key fails the test. */
const values: Readonly<Record<string, (pool: Pool) => unknown>> = {
  id: idIn,
  requestId: idIn,
  companyId: (pool) => (pool.chance.flip(0.9) ? pool.companyId : idIn(pool)),
  agent: (pool) => pool.chance.pick([idIn(pool), "vera", "rex", "sam", "nobody at all"]),
  limit: ({ chance }) => chance.pick([1, 2, 3, 100]),
  cursor: (pool) =>
    pool.chance.flip(0.5) ? pool.chance.pick(pool.cursors) : pool.chance.pick([idIn(pool), "5", "x"]),
  query: ({ chance }) =>
    chance.pick([...words, "mine", "lent", "sent", "hidden", "a", "amber basalt", "e d"]),
  kind: ({ chance }) => chance.pick([...fileKinds, ...foundKinds]),
  q: ({ chance }) => chance.pick([...words, "mine", "lent", "sent", "hidden", "a", "rex", "work", "e d"]),
  text: ({ chance }) => chance.pick([...words, "a"]),
  owner: (pool) => pool.chance.pick([idIn(pool), "vera", "rex"]),
  blocked: ({ chance }) => chance.flip(0.5),
  ids: (pool) => [idIn(pool), idIn(pool), idIn(pool)],
  days: ({ chance }) => chance.flip(0.5),
  outcome: idIn,
  end: ({ chance }) => chance.pick(sessionEnds),
  order: ({ chance }) => chance.pick(["oldest", "newest"]),
  actor: (pool) => pool.chance.pick([idIn(pool), "rex", "board"]),
  operation: ({ chance }) => chance.pick(["outcome", "outcome.close"]),
  subject: idIn,
  from: () => "2020-01-01T00:00:00Z",
  to: () => "2040-01-01T00:00:00Z",
  refused: ({ chance }) => chance.flip(0.5),
  repo: () => "some",
  branch: () => "agency/rex/fix",
  onto: () => "main",
  testOutput: () => "ok",
  materialize: () => false,
  version: ({ chance }) => chance.between(1, 4),
  resource: (pool) =>
    pool.chance.pick([
      `kb:${idIn(pool)}`,
      `outcome:${idIn(pool)}`,
      `kb:${pool.chance.pick(pool.guesses) ?? ""}`,
      `outcome:${pool.chance.pick(pool.guesses) ?? ""}`,
      `mail:${idIn(pool)}`,
      "mail:board",
      "org:hire",
      "mcp:some",
    ]),
  level: ({ chance }) => chance.pick(["none", "read", "write", "send", "use"]),
  status: ({ chance }) => chance.pick([...outcomeStatuses, ...approvalStatuses, ...agentStatuses]),
  type: ({ chance }) => chance.pick(approvalTypes),
  month: ({ chance }) => chance.pick([...months, "2020-01"]),
  by: ({ chance }) => chance.pick(["agent", "outcome"]),
  waitSeconds: () => 0,
  adapterType: ({ chance }) => chance.pick(["rehearsal", "process", "none"]),
  with: (pool) => pool.chance.pick([idIn(pool), "vera", "rex", "sam", "boss", "board"]),
  of: (pool) => pool.chance.pick([idIn(pool), "vera", "rex", "sam", "board"]),
  archived: ({ chance }) => chance.flip(0.5),
  health: ({ chance }) => chance.flip(0.5),
  departed: ({ chance }) => chance.flip(0.5),
  deferred: ({ chance }) => chance.flip(0.5),
  all: ({ chance }) => chance.flip(0.5),
  live: ({ chance }) => chance.flip(0.5),
  stands: ({ chance }) => chance.flip(0.5),
  deep: ({ chance }) => chance.flip(0.5),
  after: ({ chance }) => chance.between(0, 50),
  change: (pool) =>
    pool.chance.pick([
      { kind: "move_report", agent: idIn(pool), to: idIn(pool) },
      { kind: "move_report", agent: "rita", to: "rex" },
      { kind: "move_report", agent: "rex", to: "rita" },
      { kind: "fire", agent: pool.chance.pick(["rex", "rita", "sam", idIn(pool)]) },
      { kind: "merge", agents: ["rex"], into: "rita" },
    ]),
};

export function inputFor(operation: Operation, pool: Pool): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(operation.input.shape)) {
    const value = values[key];
    if (value === undefined)
      throw new Error(`${operation.name} has the input ${key}: add it to the two worlds`);
    // Without optional arguments, most answers show most.
    const isOptional = schema.safeParse(undefined).success;
    if (isOptional && !pool.chance.flip(0.35)) continue;
    const noun = Object.entries(operation.within).find(([, named]) => named === key)?.[0] ?? "";
    const fitting = pool.nouns[noun.split(" ").at(-1) ?? ""];
    const isOne = fitting !== undefined && key !== "ids" && pool.chance.flip(0.8);
    input[key] = isOne ? pool.chance.pick(fitting) : value(pool);
  }
  return input;
}

function idIn({ chance, named, guesses }: Pool): string {
  return chance.pick(chance.flip(0.8) ? named : guesses) ?? "";
}
