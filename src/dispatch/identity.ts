import { hash } from "node:crypto";
import type { Actor } from "../events/ledger.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { agentInactive, credentialInvalid, paused, sessionEnded, unauthenticated } from "./texts.ts";

/**
 * The credential decides who acts, never an argument. A credential is a random token of 256 bits, of which only the
 * SHA-256 is stored. There are three kinds: `board` (a person), `key` (a program that acts for an agent from outside)
 * and `session` (one run of an agent's brain). A session's credential is valid while the session is live and its
 * epoch is the agent's current one.
 */
export interface Caller {
  readonly actor: Actor;
  /** The company of an agent; null for the board, which governs every company. */
  readonly companyId: string | null;
  /** The folder of a session, from which it may name files. */
  readonly workspace: string | null;
}

export function hashToken(token: string): string {
  return hash("sha256", token);
}

export async function authenticate(tx: ReadTx, token: string | undefined): Promise<Caller> {
  const row =
    token === undefined || token === "" ? undefined : await tx.first(byHash, { hash: hashToken(token) });
  if (row === undefined || row.revoked_at !== null) throw unauthenticated(credentialInvalid);
  if (row.kind === "board")
    return { actor: { kind: "board", agentId: null, sessionId: null }, companyId: null, workspace: null };
  if (row.agent_id === null || row.company_id === null || row.status === null)
    throw unauthenticated(credentialInvalid);
  if (row.status === "terminated" || row.status === "pending_approval") throw unauthenticated(agentInactive);
  if (row.status === "paused") throw paused(row.name ?? "This agent");
  if (row.kind === "session" && (row.session_ended_at !== null || row.session_epoch !== row.agent_epoch))
    throw unauthenticated(sessionEnded);
  return {
    actor: { kind: "agent", agentId: row.agent_id, sessionId: row.session_id },
    companyId: row.company_id,
    workspace: row.workspace,
  };
}

const byHash = query((db, p: { hash: string }) =>
  db
    .selectFrom("credentials as c")
    .leftJoin("agents as a", "a.id", "c.agent_id")
    .leftJoin("sessions as s", "s.id", "c.session_id")
    .select([
      "c.kind",
      "c.company_id",
      "c.agent_id",
      "c.session_id",
      "c.revoked_at",
      "a.status",
      "a.name",
      "a.epoch as agent_epoch",
      "s.epoch as session_epoch",
      "s.ended_at as session_ended_at",
      "s.workspace",
    ])
    .where("c.hash", "=", p.hash),
);
