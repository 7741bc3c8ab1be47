import type { AgentRow } from "../agents/table.ts";
import { skillFiles } from "../companies/skill-operations.ts";
import { append } from "../events/ledger.ts";
import type { SkillCopy } from "../processes/runner.ts";
import type { Tx } from "../store/store.ts";

/** The current skills of the company. A session gets a copy of each file, so each is recorded as read. */
export async function takeSkills(
  tx: Tx,
  agent: Pick<AgentRow, "id" | "company_id">,
  sessionId: string,
): Promise<SkillCopy[]> {
  const copies: SkillCopy[] = [];
  for (const { path, id, version, hash } of await tx.all(skillFiles, { companyId: agent.company_id })) {
    copies.push({ path, content: await tx.blobs.read(id, hash) });
    append(tx, {
      companyId: agent.company_id,
      actor: { kind: "agent", agentId: agent.id, sessionId },
      operation: "knowledge.read",
      subject: id,
      data: { version },
    });
  }
  return copies;
}
