import assert from "node:assert/strict";
import { updateCompany } from "../contract/companies.ts";
import { listEvents } from "../contract/ledger.ts";
import { agentInbox } from "../contract/mail.ts";
import { createAgent } from "../contract/hiring.ts";
import { updateAgent } from "../contract/agents.ts";
import { listOutcomes, viewOutcome } from "../contract/outcomes.ts";
import type { StoreKind } from "./organization.ts";
import { hang, says } from "./scripts.ts";
import { type Stage, stagedOn } from "./stage.ts";

/** A company with small limits whose brains only print. It is for tests of the final output of sessions. */

const plain = { adapterType: "process", adapterConfig: { command: "/bin/true" } };

/** Declares tests in which the root agent has such a brain. The company has no other agents. */
export const stagedPrinters =
  (kind: StoreKind) =>
  (name: string, play: (stage: Stage) => Promise<void>): void =>
    stagedOn(kind)(name, async (stage) => {
      const { board, companyId, rootId } = stage.org;
      await board(updateAgent, { id: rootId, ...plain });
      await board(updateCompany, {
        companyId,
        defaultAdapterType: "process",
        defaultAdapterConfig: plain.adapterConfig,
        maxDelegations: 3,
        maxDelegationDepth: 2,
        maxAgents: null,
        maxOpenOutcomes: 200,
      });
      await play(stage);
    });

/** Lets time pass minute by minute. The schedulers come to rest before each minute. */
export async function passes(stage: Stage, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    await stage.rest();
    stage.advance(60_000);
  }
}

/** Hires a report of `reportsTo`, by default of the root. */
export async function report(
  { org }: Stage,
  name: string,
  role: string,
  reportsTo = org.rootId,
): Promise<string> {
  const { companyId } = org;
  return (await org.board(createAgent, { companyId, name, role, ...plain, reportsTo })).id;
}

export const work = ({ org }: Stage, title = "The whole"): Promise<string> => org.outcome(title);

/** The text of an agent's inbox. */
export async function told({ org }: Stage, id: string): Promise<string> {
  return (await org.board(agentInbox, { id })).messages.map(({ body }) => body ?? "").join("\n---\n");
}

export async function outcomes({ org }: Stage) {
  return (await org.board(listOutcomes, { companyId: org.companyId, limit: 1000 })).outcomes;
}

export async function byTitle(stage: Stage, title: string) {
  const found = (await outcomes(stage)).find((outcome) => outcome.title === title);
  assert.ok(found !== undefined, title);
  return stage.org.board(viewOutcome, { id: found.id });
}

export async function eventsOf({ org }: Stage, operation: string) {
  const { events } = await org.board(listEvents, { companyId: org.companyId, limit: 1000 });
  return events.filter((event) => event.operation === operation);
}

/** The root's next session prints these lines. Sessions that start as a result only hang. */
export async function printLines(stage: Stage, ...lines: string[]): Promise<void> {
  stage.runner.plan(stage.org.rootId, says(...lines));
  stage.runner.otherwise(hang);
  await stage.rest();
}
