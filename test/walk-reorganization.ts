// The rows of the walk about reorganizing, and about letting somebody go, which is one.
import { terminateAgent } from "../src/contract/organization.ts";
import * as reorganization from "../src/contract/reorganization.ts";
import type { Row, World } from "./walk-table.ts";

/** Two reports of the boss, one to be moved below the other: within the boss's part of the organization. */
async function aMove({ org, boss, report, name }: World) {
  const { id } = await org.agent(name(), boss.id);
  const change = { kind: "move_report" as const, agent: id, to: report.id };
  return { companyId: org.companyId, change };
}

async function applied(world: World) {
  const { id } = await world.boss.call(reorganization.applyReorganization, await aMove(world));
  return { id };
}

const notBelow = { stranger: "forbidden", report: "forbidden" } as const;
const notIts = { stranger: "not_found", report: "not_found", root: "not_found" } as const;
const everyMember = { none: "every member of the company may" };

export const reorganizationRows: readonly Row[] = [
  {
    operation: terminateAgent,
    actor: "board",
    input: async ({ org, name }) => ({ id: (await org.agent(name())).id }),
    denied: { boss: "forbidden" },
    elsewhere: "not_found",
  },
  {
    operation: reorganization.planReorganization,
    actor: "boss",
    input: aMove,
    denied: notBelow,
    elsewhere: "not_found",
  },
  {
    operation: reorganization.applyReorganization,
    actor: "boss",
    input: aMove,
    denied: notBelow,
    elsewhere: "not_found",
  },
  {
    operation: reorganization.undoReorganization,
    actor: "boss",
    input: applied,
    denied: notIts,
    elsewhere: "not_found",
  },
  {
    operation: reorganization.viewReorganization,
    actor: "boss",
    input: applied,
    denied: notIts,
    elsewhere: "not_found",
  },
  {
    operation: reorganization.listReorganizations,
    actor: "boss",
    input: async ({ org }) => ({ companyId: org.companyId }),
    denied: everyMember,
    elsewhere: "not_found",
  },
];
