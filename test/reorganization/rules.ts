import assert from "node:assert/strict";
import type { Resource } from "../../src/contract/resources.ts";
import { effectiveRank } from "../../src/capabilities/rights.ts";
import { structuralRank } from "../../src/capabilities/structure.ts";
import type { Value } from "../../src/store/columns.ts";
import type { Store } from "../../src/store/store.ts";
import type { Dump } from "../../src/simulator/restored.ts";

/** What must hold of an organization, whatever was moved: read off the rows, on either store. */
type Row = Readonly<Record<string, Value>>;

const isLive = (row: Row | undefined): boolean =>
  row?.["status"] === "open" || row?.["status"] === "submitted";
const isActive = (row: Row | undefined): boolean =>
  row?.["status"] === "idle" || row?.["status"] === "paused";

export function demandSound(all: Dump): void {
  const table = (name: string): ReadonlyMap<string, Row> => all.get(name) ?? new Map<string, Row>();
  const at = (name: string, id: Value | undefined): Row | undefined => table(name).get(String(id));
  const rows = (name: string): Row[] => [...table(name).values()];
  const edges = rows("edges");
  const parentsOf = (id: Value | undefined) =>
    edges.filter((edge) => edge["child_id"] === id).map((edge) => at("outcomes", edge["parent_id"]));

  for (const agent of rows("agents")) {
    const name = String(agent["name"]);
    if (agent["status"] === "terminated") {
      const keys = rows("credentials").filter(
        (one) => one["agent_id"] === agent["id"] && one["revoked_at"] === null,
      );
      assert.deepEqual(keys, [], `${name} left and has a credential`);
      continue;
    }
    const seen = new Set<Value | undefined>();
    for (
      let next: Row | undefined = agent;
      next?.["boss_id"] !== null;
      next = at("agents", next?.["boss_id"])
    ) {
      assert.ok(
        next !== undefined && !seen.has(next["id"]),
        `the way up from ${name} does not end at the root`,
      );
      assert.ok(
        next === agent || isActive(next),
        `${name} is below ${String(next["name"])}, who is not there`,
      );
      seen.add(next["id"]);
    }
    const mandate = at("outcomes", agent["mandate_id"]);
    assert.ok(mandate?.["responsible_id"] === agent["id"] && isLive(mandate), `${name} has not its mandate`);
    const waiting = rows("messages").filter(
      (one) =>
        one["to_id"] === agent["id"] && one["delivered_at"] !== null && one["acknowledged_at"] === null,
    );
    const inboxes = rows("outcomes").filter(
      (one) => one["kind"] === "inbox" && one["responsible_id"] === agent["id"] && isLive(one),
    );
    assert.equal(inboxes.length, waiting.length > 0 ? 1 : 0, `the inbox outcome of ${name}`);
    const open = rows("approvals").filter(
      (one) =>
        one["agent_id"] === agent["id"] &&
        (one["status"] === "pending" || one["status"] === "revision_requested"),
    );
    assert.equal(open.length, agent["status"] === "pending_approval" ? 1 : 0, `the approval of ${name}`);
    for (const { payload } of open) {
      const { requestedConfigurationSnapshot: asked }: Record<string, unknown> = JSON.parse(String(payload));
      const named: unknown = Reflect.get(Object(asked), "reportsTo");
      assert.equal(named, agent["boss_id"], `the approval of ${name} names another boss`);
    }
  }

  for (const outcome of rows("outcomes")) {
    if (!isLive(outcome)) continue;
    const title = `"${String(outcome["title"])}" (${String(outcome["id"])})`;
    const owner = at("agents", outcome["responsible_id"]);
    assert.ok(owner !== undefined && owner["status"] !== "terminated", `${title} has no owner`);
    if (outcome["delegated"] === 1)
      assert.equal(outcome["delegated_by"], owner["boss_id"], `${title} is not verified by the boss`);
    else assert.equal(outcome["delegated_by"], null, `${title} was handed down by nobody and somebody`);
    if (outcome["kind"] !== "perpetual")
      assert.ok(parentsOf(outcome["id"]).some(isLive), `${title} serves nothing that lives`);
    if (outcome["kind"] === "mandate")
      assert.ok(
        parentsOf(outcome["id"]).some(
          (one) => one?.["id"] === at("agents", owner["boss_id"])?.["mandate_id"],
        ),
        `${title} does not hang below the mandate of the boss`,
      );
    if (outcome["kind"] === "mandate")
      assert.ok(
        rows("agents").some((one) => one["mandate_id"] === outcome["id"] && one["status"] !== "terminated"),
        `${title} is the mandate of nobody`,
      );
  }
  for (const { outcome_id, depends_on_id } of rows("dependencies")) {
    const target = at("outcomes", depends_on_id);
    const isGhost =
      target?.["status"] === "closed" && (target["kind"] === "mandate" || target["kind"] === "inbox");
    assert.ok(!isLive(at("outcomes", outcome_id)) || !isGhost, `${String(outcome_id)} waits for a ghost`);
  }
  demandNoCircle([
    ...edges.map((edge): [Value | undefined, Value | undefined] => [edge["parent_id"], edge["child_id"]]),
    ...rows("dependencies").map((one): [Value | undefined, Value | undefined] => [
      one["outcome_id"],
      one["depends_on_id"],
    ]),
  ]);
  for (const grant of rows("grants")) demandChain(grant, at);
}

function demandChain(grant: Row, at: (name: string, id: Value | undefined) => Row | undefined): void {
  const what = `the right ${String(grant["id"])} of ${String(grant["grantee_id"])} on ${String(grant["resource"])}`;
  let reasons = 0;
  for (let link: Row | undefined = grant; link !== undefined;) {
    const holder = at("agents", link["grantee_id"]);
    if (link["revoked_at"] !== null) reasons++;
    if (!isLive(at("outcomes", link["scope_id"]))) reasons++;
    if (holder?.["status"] === "terminated") reasons++;
    const parent: Row | undefined = link["parent_id"] === null ? undefined : at("grants", link["parent_id"]);
    if (parent !== undefined) {
      assert.ok(Number(link["level"]) <= Number(parent["level"]), `${what} is wider than what it came from`);
      assert.equal(
        link["granted_by"],
        parent["grantee_id"],
        `${what} came from somebody who did not hold it`,
      );
      assert.equal(link["structural"], parent["structural"], what);
    }
    if (parent === undefined && link["granted_by"] !== null)
      assert.equal(link["structural"], 1, `${what} comes from nowhere`);
    const byRoot = link["resource"] === "org:hire" && at("agents", link["granted_by"])?.["boss_id"] === null;
    if (grant["broken"] === 0 && link["granted_by"] !== null && !byRoot)
      assert.equal(link["granted_by"], holder?.["boss_id"], `${what} stands on somebody who is not the boss`);
    link = parent;
  }
  assert.equal(grant["broken"], reasons, `${what}: how many reasons do not stand`);
}

function demandNoCircle(waits: readonly (readonly [Value | undefined, Value | undefined])[]): void {
  const next = new Map<Value | undefined, (Value | undefined)[]>();
  for (const [waiter, target] of waits) next.set(waiter, [...(next.get(waiter) ?? []), target]);
  const done = new Set<Value | undefined>();
  const visit = (id: Value | undefined, above: ReadonlySet<Value | undefined>): void => {
    assert.ok(!above.has(id), `${String(id)} waits for itself`);
    if (done.has(id)) return;
    for (const target of next.get(id) ?? []) visit(target, new Set([...above, id]));
    done.add(id);
  };
  for (const id of next.keys()) visit(id, new Set());
}

/** What each active agent may do now, and what of that comes from its place. */
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
    for (const agent of agents)
      for (const resource of resources)
        rights.set(`${agent} ${resource}`, {
          rank: await effectiveRank(tx, agent, resource),
          byPlace: await structuralRank(tx, agent, resource),
        });
    return rights;
  });
}

/** Nobody may do more than before, but for what its place gives it; who has come meanwhile had nothing to widen. */
export function demandNotWider(before: Rights, after: Rights): void {
  const known = new Set([...before.keys()].map((key) => key.split(" ")[0]));
  for (const [key, { rank, byPlace }] of after) {
    if (!known.has(key.split(" ")[0])) continue;
    const was = before.get(key)?.rank ?? -1;
    assert.ok(rank <= Math.max(was, byPlace), `${key}: ${was} before, ${rank} now, ${byPlace} by its place`);
  }
}

/** Where only a layer is put between, nobody who was there has less of anything but what came from its place. */
export function demandNotNarrower(before: Rights, after: Rights): void {
  for (const [key, { rank, byPlace }] of before) {
    if (key.includes(" outcome:") || key.includes(" mail:") || rank === byPlace) continue;
    const now = after.get(key)?.rank ?? -1;
    assert.ok(now >= rank, `${key}: ${rank} before, ${now} now`);
  }
}

/** Who reorganizes moves nobody but those who were below it. */
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
