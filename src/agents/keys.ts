import { sql } from "kysely";
import * as contract from "../contract/agents.ts";
import { notFound } from "../contract/refusal.ts";
import { guarded } from "../dispatch/guarded.ts";
import { hashToken } from "../dispatch/identity.ts";
import { isActive } from "../capabilities/members.ts";
import { insertion } from "../store/inserts.ts";
import { query } from "../store/query.ts";
import type { CredentialKind, Row } from "../store/schema.ts";
import type { Tx } from "../store/store.ts";
import { agentById } from "./table.ts";
import { keyAlreadyRevoked, noKeyFor } from "./texts.ts";

/** Credentials: API keys of agents, tokens of sessions, the tokens of people. Only hashes are stored. */

const onCreateKey = guarded(contract.createKey, async (call) => {
  const agent = await agentById(call.tx, call.input.id);
  if (!isActive(agent)) throw noKeyFor(agent);
  const key = `agk_${call.newSecret()}`;
  const id = call.newId();
  const label = call.input.label ?? "key";
  await keepCredential(call.tx, {
    id,
    token: key,
    kind: "key",
    companyId: agent.company_id,
    agentId: agent.id,
    label,
  });
  await call.record(agent.id, { key: id, label });
  return { id, agentId: agent.id, label, key, createdAt: new Date(call.tx.now).toISOString() };
});

const onListKeys = guarded(contract.listKeys, async ({ tx, input }) => {
  const rows = await tx.all(keysOf, { agentId: input.id });
  return { keys: rows.map(present) };
});

const onRevokeKey = guarded(contract.revokeKey, async (call) => {
  const { tx, input } = call;
  const row = (await tx.all(keysOf, { agentId: input.id })).find(({ id }) => id === input.keyId);
  if (row === undefined) throw notFound("key", input.keyId);
  if (row.revoked_at !== null) throw keyAlreadyRevoked(row.label);
  await tx.run(revokeCredential, { id: row.id, now: tx.now });
  await call.record(input.id, { key: row.id });
  return present({ ...row, revoked_at: tx.now });
});

export const keyHandlers = [onCreateKey, onListKeys, onRevokeKey];

export async function keepCredential(
  tx: Tx,
  credential: {
    id: string;
    token: string;
    kind: CredentialKind;
    companyId?: string;
    agentId?: string;
    sessionId?: string;
    personId?: string;
    expiresAt?: number;
    label: string;
  },
): Promise<void> {
  await tx.run(insertCredential, {
    id: credential.id,
    hash: hashToken(credential.token),
    kind: credential.kind,
    company_id: credential.companyId ?? null,
    agent_id: credential.agentId ?? null,
    session_id: credential.sessionId ?? null,
    person_id: credential.personId ?? null,
    expires_at: credential.expiresAt ?? null,
    label: credential.label,
    created_at: tx.now,
    revoked_at: null,
  });
}

function present(row: Pick<Row<"credentials">, "id" | "label" | "created_at" | "revoked_at">) {
  return {
    id: row.id,
    label: row.label,
    createdAt: new Date(row.created_at).toISOString(),
    revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at).toISOString(),
  };
}

const keysOf = query((db, p: { agentId: string }) =>
  db
    .selectFrom("credentials")
    .select(["id", "label", "created_at", "revoked_at"])
    .where("agent_id", "=", p.agentId)
    .where("kind", "=", "key")
    .orderBy("created_at")
    .orderBy("id"),
);

export const revokeCredential = query((db, p: { id: string; now: number }) =>
  db.updateTable("credentials").set({ revoked_at: p.now }).where("id", "=", p.id),
);

const insertCredential = insertion("credentials", sql`on conflict (hash) do nothing`);
