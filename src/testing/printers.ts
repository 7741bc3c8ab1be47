import assert from "node:assert/strict";
import { listEvents } from "../contract/ledger.ts";
import { agentInbox } from "../contract/mail.ts";
import { createAgent, updateAgent, updateCompany } from "../contract/organization.ts";
import { listOutcomes, viewOutcome } from "../contract/outcomes.ts";
import type { StoreKind } from "./organization.ts";
import type { Script } from "./scripted-runner.ts";
import { onStage, type Stage } from "./stage.ts";

/** An organization whose brains have no tools: all they do is print. */

const plain = { adapterType: "process", adapterConfig: { command: "/bin/true" } };

/** The root is a brain that only prints; nobody else is there. */
export const onPrinters = (kind: StoreKind, play: (stage: Stage) => Promise<void>): Promise<void> =>
  onStage(kind, async (stage) => {
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

/** A session that only prints this. */
export const says =
  (...lines: string[]): Script =>
  async () => ({ output: `${lines.join("\n")}\n` });

/** The root says this about an outcome of its own and is not started again for what it is told. */
export async function say(stage: Stage, ...lines: string[]): Promise<void> {
  stage.runner.plan(stage.org.rootId, says(...lines));
  stage.runner.otherwise(async ({ hold }) => hold(new Promise(() => undefined)));
  await stage.rest();
}

/** So many minutes. */
export async function passes(stage: Stage, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    await stage.rest();
    stage.advance(60_000);
  }
}

export async function report(
  { org }: Stage,
  name: string,
  role: string,
  reportsTo?: string,
): Promise<string> {
  const { companyId } = org;
  const boss = reportsTo === undefined ? {} : { reportsTo };
  return (await org.board(createAgent, { companyId, name, role, ...plain, ...boss })).id;
}

export const work = ({ org }: Stage, title = "The whole"): Promise<string> => org.outcome(title);

export const told = async ({ org }: Stage, id: string): Promise<string> =>
  (await org.board(agentInbox, { id })).messages.map(({ body }) => body ?? "").join("\n---\n");

export const outcomes = async ({ org }: Stage) =>
  (await org.board(listOutcomes, { companyId: org.companyId, limit: 1000 })).outcomes;

export async function byTitle(stage: Stage, title: string) {
  const found = (await outcomes(stage)).find((outcome) => outcome.title === title);
  assert.ok(found !== undefined, title);
  return stage.org.board(viewOutcome, { id: found.id });
}

export async function eventsOf({ org }: Stage, operation: string) {
  const { events } = await org.board(listEvents, { companyId: org.companyId, limit: 1000 });
  return events.filter((event) => event.operation === operation);
}
