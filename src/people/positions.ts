import type { AgentRow } from "../agents/table.ts";
import type { ReadTx } from "../store/store.ts";
import { findPerson } from "./table.ts";
import { notAPosition, viewerHoldsNothing } from "./texts.ts";

/**
 * The person of a position after a change. `given` is undefined if unchanged, and null if vacant. An agent that gets another
 * brain is no longer a position.
 */
export async function personAfter(
  tx: ReadTx,
  agent: Pick<AgentRow, "name" | "brain_type" | "person_id">,
  given: string | null | undefined,
): Promise<string | null> {
  if (given === undefined) return agent.brain_type === "human" ? agent.person_id : null;
  if (given === null) return null;
  if (agent.brain_type !== "human") throw notAPosition(agent.name);
  const person = await findPerson(tx, given);
  if (person.role === "viewer") throw viewerHoldsNothing(person.name);
  return person.id;
}
