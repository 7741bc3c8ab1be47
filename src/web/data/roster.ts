import { ops } from "virtual:operations";
import { useHere } from "./company.ts";
import type { Answer } from "./operations.ts";
import { useRowOf } from "./row-of.ts";

type Listed = Answer<typeof ops.listRoster>["agents"][number];

/** The input for every agent, including departed ones. */
export const everyAgent = (companyId: string) => ({ companyId, departed: true });

/** The input for the first page of them, which names use (reading.ts). */
export const firstAgents = (companyId: string) => ({ ...everyAgent(companyId), limit: 1000 });

/** An agent by its id. Undefined until it is found. */
export function useAgent(id: string | null): Listed | undefined {
  const { company } = useHere();
  return useRowOf(ops.listRoster, "agents", everyAgent(company.id), id);
}
