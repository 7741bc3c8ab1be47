import assert from "node:assert/strict";
import type { Resource } from "../../src/contract/resources.ts";
import { effectiveRank } from "../../src/capabilities/rights.ts";
import { structuralRank } from "../../src/capabilities/structure.ts";
import { findBroken, inOneLine } from "../../src/invariants/examine.ts";
import type { Area } from "../../src/invariants/invariant.ts";
import type { Value } from "../../src/store/columns.ts";
import type { Store } from "../../src/store/store.ts";
import type { Dump } from "../../src/simulator/restored.ts";

/** The rules for what a reorganization may change. src/invariants has the rules that always hold for the rows. */
type Row = Readonly<Record<string, Value>>;

const isActive = (row: Row | undefined): boolean =>
  row?.["status"] === "idle" || row?.["status"] === "paused";

export async function demandSound(
  store: Store,
  areas: readonly Area[] = ["organization", "work", "history"],
): Promise<void> {
  const findings = await store.read((tx) => findBroken(tx, { areas }));
  assert.deepEqual(findings.map(inOneLine), []);
}

/** The present rights of each active agent, and the part that comes from its position. */
export type Rights = ReadonlyMap<string, { readonly rank: number; readonly byPlace: number }>;

export async function rightsOf(store: Store, all: Dump): Promise<Rights> {
  const agents = [...(all.get("agents")?.values() ?? [])].filter(isActive).map((row) => String(row["id"]));
  const files = [...(all.get("files")?.values() ?? [])].filter((row) => row["kind"] === "file");
  const outcomes = [...(all.get("outcomes")?.values() ?? [])].filter((row) => row["kind"] !== "inbox");
  const resources: Resource[] = [
    "org:hire",
    ...files.map((row): Resource => `kb:${String(row["id"])}`),
    ...outcomes.map((row): Resource => `outcome:${String(row["id"])}`),
    ...agents.map((id): Resource => `mail:${id}`),
  ];
  return store.read(async (tx) => {
    const rights = new Map<string, { rank: number; byPlace: number }>();
    // All checks of an agent at once: PostgreSQL then answers them in a few messages instead of thousands.
    for (const agent of agents)
      await Promise.all(
        resources.map(async (resource) => {
          const [rank, byPlace] = await Promise.all([
            effectiveRank(tx, agent, resource),
            structuralRank(tx, agent, resource),
          ]);
          rights.set(`${agent} ${resource}`, { rank, byPlace });
        }),
      );
    return rights;
  });
}

/** No agent may have more rights than before, except by its position. Agents that joined meanwhile are not compared. */
export function demandNotWider(before: Rights, after: Rights): void {
  const known = new Set([...before.keys()].map((key) => key.split(" ")[0]));
  for (const [key, { rank, byPlace }] of after) {
    if (!known.has(key.split(" ")[0])) continue;
    const was = before.get(key)?.rank ?? -1;
    assert.ok(rank <= Math.max(was, byPlace), `${key}: ${was} before, ${rank} now, ${byPlace} by its place`);
  }
}

/** After a layer was inserted, no agent may have lost any right except those that came from its position. */
export function demandNotNarrower(before: Rights, after: Rights): void {
  for (const [key, { rank, byPlace }] of before) {
    if (key.includes(" outcome:") || key.includes(" mail:") || rank === byPlace) continue;
    const now = after.get(key)?.rank ?? -1;
    assert.ok(now >= rank, `${key}: ${rank} before, ${now} now`);
  }
}

/** An agent that reorganizes may move only agents that were below it. */
export function demandWithin(before: Dump, actor: string, moved: readonly string[]): void {
  const agents = before.get("agents");
  for (const id of moved) {
    let at = agents?.get(id);
    while (at !== undefined && at["boss_id"] !== actor) at = agents?.get(String(at["boss_id"]));
    assert.ok(
      at !== undefined || agents?.has(id) !== true,
      `${id} was moved by ${actor}, who is not above it`,
    );
  }
}
