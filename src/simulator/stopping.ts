import * as contract from "../contract/companies.ts";
import { call, type SimulatedCaller } from "./calling.ts";
import type { World } from "./world.ts";

/** Freezes, thaws and archives the company, sometimes out of order, which must be refused. */
export async function stopOrGo(board: SimulatedCaller): Promise<unknown> {
  const { world } = board;
  const { chance, company, watch } = world;
  const state = watch.companies.stateOf(company.id);
  const operation = chance.weighted([
    [state === "active" ? 6 : 1, contract.freezeCompany],
    [state === "frozen" ? 12 : 1, contract.thawCompany],
    [state === "archived" ? 0 : 1, contract.archiveCompany],
    [state === "archived" ? 12 : 1, contract.unarchiveCompany],
  ]);
  return call(board, operation, { companyId: company.id });
}

export const archive = (board: SimulatedCaller): Promise<unknown> =>
  call(board, contract.archiveCompany, { companyId: board.world.company.id });

/** Whether the company is stopped. A person then soon lets it continue. */
export const standsStill = ({ watch, company }: World): boolean =>
  watch.companies.stateOf(company.id) !== "active";

/** Lets the company continue for good. */
export async function goOnWorking(world: World): Promise<void> {
  const { watch, company, board } = world;
  // A late call may just have stopped it.
  await watch.follow();
  const input = { companyId: company.id };
  if (watch.companies.stateOf(company.id) === "archived")
    await world.askQuietly(board, contract.unarchiveCompany, input);
  await watch.follow();
  if (standsStill(world)) await world.askQuietly(board, contract.thawCompany, input);
  await watch.follow();
}
