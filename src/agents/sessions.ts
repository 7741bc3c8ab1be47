import { query } from "../store/query.ts";
import type { Tx } from "../store/store.ts";
import { keepCredential } from "./keys.ts";
import { agentById, saveAgent } from "./table.ts";

/**
 * A session: one run of an agent's brain. Opening one raises the agent's epoch, which from that moment is the only one
 * whose token is accepted; an older session that still runs is refused at its next call.
 */
export async function openSession(
  tx: Tx,
  session: { id: string; agentId: string; credentialId: string; token: string; workspace: string | null },
): Promise<{ epoch: number }> {
  const agent = await agentById(tx, session.agentId);
  const epoch = agent.epoch + 1;
  await tx.run(endOthers, { agentId: agent.id, now: tx.now });
  await saveAgent(tx, { ...agent, epoch });
  await tx.run(insertSession, {
    id: session.id,
    companyId: agent.company_id,
    agentId: agent.id,
    epoch,
    workspace: session.workspace,
    now: tx.now,
  });
  await keepCredential(tx, {
    id: session.credentialId,
    token: session.token,
    kind: "session",
    companyId: agent.company_id,
    agentId: agent.id,
    sessionId: session.id,
    label: "session",
  });
  return { epoch };
}

export async function closeSession(tx: Tx, sessionId: string): Promise<void> {
  await tx.run(endOne, { id: sessionId, now: tx.now });
}

const endOthers = query((db, p: { agentId: string; now: number }) =>
  db
    .updateTable("sessions")
    .set({ ended_at: p.now })
    .where("agent_id", "=", p.agentId)
    .where("ended_at", "is", null),
);

const endOne = query((db, p: { id: string; now: number }) =>
  db.updateTable("sessions").set({ ended_at: p.now }).where("id", "=", p.id).where("ended_at", "is", null),
);

const insertSession = query(
  (
    db,
    p: {
      id: string;
      companyId: string;
      agentId: string;
      epoch: number;
      workspace: string | null;
      now: number;
    },
  ) =>
    db.insertInto("sessions").values({
      id: p.id,
      company_id: p.companyId,
      agent_id: p.agentId,
      epoch: p.epoch,
      workspace: p.workspace,
      started_at: p.now,
      ended_at: null,
    }),
);
