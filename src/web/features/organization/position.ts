import type { ops } from "virtual:operations";
import type { Answer } from "../../data/operations.ts";
import type { MarkName } from "../../ui/marks.ts";

export type Position = Answer<typeof ops.viewOrg>["agents"][number];

export const standings = ["working", "idle", "paused", "blocked", "pending"] as const;
export type Standing = (typeof standings)[number];

export function stateOfAgent({ status, working, blocked, workable }: Position): Standing {
  if (status === "pending_approval") return "pending";
  if (status === "paused") return "paused";
  if (working !== null) return "working";
  return blocked > 0 && workable === 0 ? "blocked" : "idle";
}

export const standingMarks: Readonly<Record<Standing, MarkName>> = {
  working: "work",
  idle: "idle",
  paused: "pause",
  blocked: "stop",
  pending: "pending",
};

export interface Branch {
  readonly agent: Position;
  readonly depth: number;
  readonly reports: number;
}

/** The agents in the order of the tree, without those below a folded agent. */
export function treeOf(agents: readonly Position[], folded: ReadonlySet<string>): Branch[] {
  const below = new Map<string | null, Position[]>();
  const known = new Set(agents.map(({ id }) => id));
  for (const agent of agents) {
    const boss = agent.boss !== null && known.has(agent.boss.id) ? agent.boss.id : null;
    const reports = below.get(boss);
    if (reports === undefined) below.set(boss, [agent]);
    else reports.push(agent);
  }
  const rows: Branch[] = [];
  const visit = (boss: string | null, depth: number): void => {
    for (const agent of below.get(boss) ?? []) {
      rows.push({ agent, depth, reports: below.get(agent.id)?.length ?? 0 });
      if (!folded.has(agent.id)) visit(agent.id, depth + 1);
    }
  };
  visit(null, 0);
  return rows;
}

/** Whether the words are in the agent's name or role. */
export const isFound = ({ name, role }: Position, words: string): boolean =>
  `${name} ${role}`.toLowerCase().includes(words);

/** The managers above an agent, the nearest first. */
export function managersOf(agents: readonly Position[], of: Position): string[] {
  const boss = agents.find(({ id }) => id === of.boss?.id);
  return boss === undefined ? [] : [boss.id, ...managersOf(agents, boss)];
}
