import { hash } from "node:crypto";
import { Refusal } from "../contract/refusal.ts";
import type { Actor } from "../events/ledger.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * Who acts is decided by the credential, never by an argument. A credential is a 256-bit random token of which only the
 * SHA-256 is stored. Three kinds: `board` (a person), `key` (whatever drives an agent from outside), `session` (one
 * run of an agent's brain; valid while the session lives and its epoch is the agent's).
 */
export interface Caller {
  readonly actor: Actor;
  /** The company of an agent; null for the board, which governs all of them. */
  readonly companyId: string | null;
  /** The folder a session may name files in. */
  readonly workspace: string | null;
}

export function hashToken(token: string): string {
  return hash("sha256", token);
}

export async function authenticate(tx: ReadTx, token: string | undefined): Promise<Caller> {
  const row =
    token === undefined || token === "" ? undefined : await tx.first(byHash, { hash: hashToken(token) });
  if (row === undefined || row.revoked_at !== null)
    throw unauthenticated("The credential is missing or not valid.");
  if (row.kind === "board")
    return { actor: { kind: "board", agentId: null, sessionId: null }, companyId: null, workspace: null };
  if (row.agent_id === null || row.company_id === null || row.status === null)
    throw unauthenticated("The credential is missing or not valid.");
  if (row.status === "terminated" || row.status === "pending_approval")
    throw unauthenticated("The agent of this credential is not active.");
  if (row.status === "paused")
    throw new Refusal("forbidden", "This agent is paused.", "Its boss or the board can resume it.");
  if (row.kind === "session" && (row.session_ended_at !== null || row.session_epoch !== row.agent_epoch))
    throw unauthenticated(
      "This session has ended or was replaced by a newer one; its writes are no longer accepted.",
    );
  return {
    actor: { kind: "agent", agentId: row.agent_id, sessionId: row.session_id },
    companyId: row.company_id,
    workspace: row.workspace,
  };
}

function unauthenticated(message: string): Refusal {
  return new Refusal(
    "unauthenticated",
    message,
    "Send `Authorization: Bearer <token>`: the board token from the home folder, an agent's key or a live session's token.",
  );
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
      "a.epoch as agent_epoch",
      "s.epoch as session_epoch",
      "s.ended_at as session_ended_at",
      "s.workspace",
    ])
    .where("c.hash", "=", p.hash),
);
