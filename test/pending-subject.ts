// Creates a pending agent, or an active agent that is otherwise the same, and lists everything the agent has.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { hireAgent } from "../src/contract/hiring.ts";
import { dropOldRequests } from "./walk-scenes.ts";
import * as approvals from "../src/contract/approvals.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { viewAgent } from "../src/contract/agents.ts";
import { createOutcome } from "../src/contract/outcomes.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { dynamic } from "../src/store/query.ts";
import type { Store } from "../src/store/store.ts";
import type { World } from "./walk-row.ts";

export interface Subject {
  /** Also the id of its mandate. */
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly role: string;
  readonly stateFileId: string;
  readonly approvalId: string;
}

export const nobody: Subject = { id: "", name: "", slug: "", role: "", stateFileId: "", approvalId: "" };

/** The boss hires the agent, either for one outcome or permanently. */
export async function hired(world: World, how: { made: boolean; waits: boolean }): Promise<Subject> {
  const { org, boss, name } = world;
  const { companyId } = org;
  const hire = { name: name(), role: `role ${randomUUID()}` };
  await org.board(updateCompany, {
    companyId,
    requireBoardApprovalForNewAgents: how.waits,
  });
  await dropOldRequests(org);
  let id: string;
  if (how.made) {
    ({ id } = await boss.call(createOutcome, { title: name(), parents: [boss.id] }));
    await boss.call(delegateOutcome, { id, hire });
  } else
    ({
      agent: { id },
    } = await boss.call(hireAgent, hire));
  await org.board(updateCompany, { companyId, requireBoardApprovalForNewAgents: false });
  const { approvals: open } = await boss.call(approvals.listApprovals, { status: "pending" });
  const agent = await org.board(viewAgent, { id });
  assert.equal(agent.status, how.waits ? "pending_approval" : "idle");
  return { ...agent, approvalId: open.find(({ agentId }) => agentId === id)?.id ?? randomUUID() };
}

/** The rows that describe the agent, and those that it could own. */
export async function possessions(store: Store, id: string) {
  return store.read(async (tx) => ({
    agent: await tx.all(
      dynamic((db) => db.selectFrom("agents").selectAll().where("id", "=", id)),
      {},
    ),
    grants: await tx.all(
      dynamic((db) => db.selectFrom("grants").selectAll().where("grantee_id", "=", id)),
      {},
    ),
    credentials: await tx.all(
      dynamic((db) => db.selectFrom("credentials").selectAll().where("agent_id", "=", id)),
      {},
    ),
    sessions: await tx.all(
      dynamic((db) => db.selectFrom("sessions").selectAll().where("agent_id", "=", id)),
      {},
    ),
    outcomes: await tx.all(
      dynamic((db) =>
        db
          .selectFrom("outcomes")
          .selectAll()
          .where((eb) => eb.or([eb("responsible_id", "=", id), eb("id", "=", id)])),
      ),
      {},
    ),
    messages: await tx.all(
      dynamic((db) => db.selectFrom("messages").selectAll().where("to_id", "=", id)),
      {},
    ),
    approvals: await tx.all(
      dynamic((db) => db.selectFrom("approvals").selectAll().where("agent_id", "=", id)),
      {},
    ),
  }));
}
