import { ops } from "virtual:operations";
import { useHere } from "./company.ts";
import type { Answer } from "./operations.ts";
import { useRead } from "./reading.ts";

type Agents = Answer<typeof ops.listRoster>["agents"];

/** Every agent, those that have left included. */
export const everyAgent = (companyId: string) => ({ companyId, departed: true, limit: 1000 });

export function useEveryAgent(): Readonly<Agents> | undefined {
  const { company } = useHere();
  return useRead(ops.listRoster, everyAgent(company.id)).data?.agents;
}

const byId = new WeakMap<object, ReadonlyMap<string, string>>();

/** What an agent does. Undefined until the roster is there. */
export function useRole(id: string | null): string | undefined {
  const agents = useEveryAgent();
  if (agents === undefined || id === null) return undefined;
  let roles = byId.get(agents);
  if (roles === undefined) byId.set(agents, (roles = new Map(agents.map((each) => [each.id, each.role]))));
  return roles.get(id);
}
