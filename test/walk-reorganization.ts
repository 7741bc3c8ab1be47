// The rows of the walk about reorganizations. Firing an agent is one of them.
import { terminateAgent } from "../src/contract/agents.ts";
import * as reorganization from "../src/contract/reorganization.ts";
import { boardOnly, everyMember, type Row, row, type World } from "./walk-row.ts";
import { anAgent, company } from "./walk-scenes.ts";

/** Moves one report of the boss below another, inside the boss's part of the organization. */
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

export const reorganizationRows: readonly Row[] = [
  row(terminateAgent, "board", anAgent, boardOnly),
  row(reorganization.planReorganization, "boss", aMove, notBelow),
  row(reorganization.applyReorganization, "boss", aMove, notBelow),
  row(reorganization.undoReorganization, "boss", applied, notIts),
  row(reorganization.viewReorganization, "boss", applied, notIts),
  row(reorganization.listReorganizations, "boss", company, everyMember),
];
