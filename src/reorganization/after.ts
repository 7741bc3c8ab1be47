import { sql } from "kysely";
import type { PlaceAfter } from "../contract/reorganization.ts";
import { memberById } from "../capabilities/members.ts";
import { redactText } from "../redaction/redact.ts";
import { textQuery } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import type { Difference } from "./images.ts";

/**
 * The organization around the moved agents, after the change: the agents it changed, their managers up to the root, and the
 * reports of every manager that gained or lost one.
 */
export async function treeAround(
  tx: ReadTx,
  companyId: string,
  found: readonly Difference[],
  nameOfNew: ReadonlyMap<string, string>,
): Promise<PlaceAfter[]> {
  const agents = new Map((await tx.all(employed, { companyId })).map((row) => [row.id, row]));
  const changed = new Set<string>();
  const managers = new Set<string>();
  for (const { table, key, before, after } of found) {
    const id = String(key["id"]);
    if (table !== "agents" || !placeColumns.some((column) => before === null || column in (after ?? {})))
      continue;
    changed.add(id);
    // A departed agent keeps its manager, but is not among the remaining agents.
    const { boss_id: now } = agents.get(id) ?? (await memberById(tx, id)) ?? { boss_id: null };
    for (const boss of [before?.["boss_id"], now]) if (typeof boss === "string") managers.add(boss);
  }
  const shown = new Set<string>();
  const climb = (id: string | null): void => {
    for (let at = id; at !== null && agents.has(at) && !shown.has(at); at = agents.get(at)?.boss_id ?? null)
      shown.add(at);
  };
  for (const id of [...changed, ...managers]) climb(id);
  for (const { id, boss_id } of agents.values()) if (boss_id !== null && managers.has(boss_id)) shown.add(id);
  const named = (id: string): string => nameOfNew.get(id) ?? id;
  return [...agents.values()]
    .filter(({ id }) => shown.has(id))
    .map(({ id, name, role, boss_id }) => ({
      id: named(id),
      name,
      role: redactText(role),
      boss: boss_id === null ? null : named(boss_id),
      changes: changed.has(id),
    }));
}

const placeColumns = ["boss_id", "status", "brain_type", "brain_config"];

const employed = textQuery(
  (p: { companyId: string }) => sql<{ id: string; name: string; role: string; boss_id: string | null }>`
    select id, name, role, boss_id from agents where company_id = ${p.companyId} and status <> 'terminated'
    order by created_at, id`,
);
