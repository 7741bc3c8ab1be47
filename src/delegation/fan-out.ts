import type { CallContext } from "../dispatch/context.ts";
import { isActive, type Member } from "../capabilities/members.ts";
import { demandFanOut, demandRoomForOutcomes } from "../outcomes/limits.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import type { ReadTx } from "../store/store.ts";
import { childrenOf, insertOutcome, outcomeById, repointDependents } from "../outcomes/table.ts";
import { sendOrder } from "../agents/orders.ts";
import { agentById } from "../agents/table.ts";
import { holdFor } from "../departures/waiting-parts.ts";
import { inboxNotDelegable, notOpen } from "../outcomes/texts.ts";
import * as texts from "./texts.ts";

/**
 * Divides an outcome among agents. Each part becomes an outcome of a report or of the divider itself. One integration outcome
 * of the divider depends on all parts, gets their results as context and can't be delegated. Outcomes that depended on the
 * whole now depend on the integration. When the integration completes, the whole is submitted or completed (rollUp in
 * ending.ts).
 */
export interface PlannedPart {
  readonly title: string;
  readonly description: string;
  readonly acceptance: string | null;
  /** A direct report, which may still be pending approval. Or the dividing agent, which keeps this part. */
  readonly to: Member;
  /** Positions of the awaited parts in the list of parts. */
  readonly dependsOn: readonly number[];
}

export interface FannedOut {
  readonly parts: readonly { readonly id: string; readonly waits: boolean }[];
  readonly integrationId: string;
}

export interface Division {
  readonly parts: readonly PlannedPart[];
  /** How many parts count against maxDelegations: single delegations count, the tasks of a plan don't. */
  readonly counted: number;
}

/** Refuses a division that fanOut() would refuse. Returns the parts, each after the parts it depends on. */
export async function demandDivision(
  call: CallContext,
  whole: OutcomeRow,
  from: Member,
  { parts, counted }: Division,
): Promise<(readonly [number, PlannedPart])[]> {
  await demandDividable(call.tx, whole);
  await demandFanOut(call, whole, counted);
  const owners = [...parts.map(({ to }) => (isHanded(from, to) ? to.id : from.id)), from.id];
  for (const [id, own] of Map.groupBy(owners, (owner) => owner))
    await demandRoomForOutcomes(call, id, own.length);
  return inOrder(parts);
}

/** A part for a pending agent stays with the divider until the approval, so it counts among the divider's outcomes. */
const isHanded = (from: Member, to: Member): boolean => to.id !== from.id && isActive(to);

export async function fanOut(
  call: CallContext,
  whole: OutcomeRow,
  from: Member,
  division: Division,
): Promise<FannedOut> {
  const { tx, companyId, actor } = call;
  const { parts } = division;
  const ordered = await demandDivision(call, whole, from, division);
  const ids = parts.map(() => call.newId());
  const urgency = { urgent: whole.urgent, important: whole.important };
  const base = { company_id: companyId, ...urgency, parents: [whole.id] };
  const made = [];
  for (const [index, part] of ordered) {
    const id = ids[index] ?? "";
    const { to, title, description, acceptance } = part;
    const dependsOn = part.dependsOn.flatMap((place) => ids[place] ?? []);
    const owner: Pick<OutcomeRow, "responsible_id" | "delegated" | "delegated_by"> = isHanded(from, to)
      ? { responsible_id: to.id, delegated: 1, delegated_by: from.id }
      : { responsible_id: from.id, delegated: 0, delegated_by: null };
    await insertOutcome(tx, { id, ...base, title, description, acceptance, ...owner, dependsOn }, actor);
    await call.record(id, { title, parents: [whole.id], dependsOn }, "outcome.create");
    if (isHanded(from, to)) {
      await call.record(id, { from: from.id, to: to.id, moved: [id] }, "outcome.delegate");
      await sendOrder(call, from.id, await agentById(tx, to.id), await outcomeById(tx, id), undefined);
    } else if (to.id !== from.id) await holdFor(tx, id, to);
    made[index] = { id, waits: to.id !== from.id && !isHanded(from, to) };
  }
  const integrationId = call.newId();
  await insertOutcome(
    tx,
    {
      id: integrationId,
      ...base,
      kind: "integration",
      title: texts.integrationTitle(whole),
      description: texts.integrationDescription(whole),
      acceptance: whole.acceptance,
      responsible_id: from.id,
      dependsOn: ids,
    },
    actor,
  );
  await repointDependents(tx, whole.id, integrationId);
  await call.record(integrationId, { parents: [whole.id], dependsOn: ids, of: whole.id }, "outcome.create");
  return { parts: made, integrationId };
}

/** Only an open outcome that is not divided already can be divided. */
async function demandDividable(tx: ReadTx, whole: OutcomeRow): Promise<void> {
  if (whole.status !== "open") throw notOpen(whole, "divided into parts");
  if (whole.kind === "inbox") throw inboxNotDelegable(whole);
  if (whole.kind === "perpetual" || whole.kind === "mandate") return;
  const integration = (await childrenOf(tx, whole.id)).find(
    ({ kind, status }) => kind === "integration" && (status === "open" || status === "submitted"),
  );
  if (integration !== undefined) throw texts.alreadyDivided(whole, integration);
}

/** Sorts each part after its dependencies, because a dependency row can only point to an outcome that exists. */
function inOrder(parts: readonly PlannedPart[]): (readonly [number, PlannedPart])[] {
  const placed = new Set<number>();
  const order: (readonly [number, PlannedPart])[] = [];
  for (let before = -1; before !== order.length && order.length < parts.length;) {
    before = order.length;
    for (const [index, part] of parts.entries())
      if (!placed.has(index) && part.dependsOn.every((place) => placed.has(place))) {
        placed.add(index);
        order.push([index, part]);
      }
  }
  if (order.length === parts.length) return order;
  throw texts.partsInACircle(parts.filter((_, index) => !placed.has(index)));
}
