import { Refusal } from "../contract/refusal.ts";
import type { CallContext } from "../dispatch/context.ts";
import { isActive, type Member } from "../capabilities/members.ts";
import { demandFanOut, demandRoomForOutcomes } from "../outcomes/limits.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import type { ReadTx } from "../store/store.ts";
import { childrenOf, insertOutcome, outcomeById, repointDependents } from "../outcomes/table.ts";
import { sendOrder } from "../agents/orders.ts";
import { agentById } from "../agents/table.ts";
import { holdFor } from "../departures/waiting-parts.ts";

/**
 * Delegate, then depend: each part of an outcome becomes an outcome of a report, and one integration outcome for whoever
 * handed them out depends on all of them. It gets their results as context and is put together by that agent alone, at its
 * own depth. Whoever depended on the whole depends on the integration from here on; when it completes, so does the whole.
 */
export interface PlannedPart {
  readonly title: string;
  readonly description: string;
  readonly acceptance: string | null;
  /** A direct report, also one that waits for approval; or the one who hands out, who keeps this part. */
  readonly to: Member;
  /** Places in the list of parts. */
  readonly dependsOn: readonly number[];
}

export interface FannedOut {
  readonly parts: readonly { readonly id: string; readonly waits: boolean }[];
  readonly integrationId: string;
}

export async function fanOut(
  call: CallContext,
  whole: OutcomeRow,
  from: Member,
  parts: readonly PlannedPart[],
  counted: boolean,
): Promise<FannedOut> {
  const { tx, companyId, actor } = call;
  await demandParted(call.tx, whole);
  const handedOut = parts.filter(({ to }) => to.id !== from.id);
  await demandFanOut(call, whole, counted ? handedOut.length : 0);
  // What waits for somebody's approval stays with who hands out, who also puts it together.
  const isHanded = (to: Member): boolean => to.id !== from.id && isActive(to);
  const owners = [...parts.map(({ to }) => (isHanded(to) ? to.id : from.id)), from.id];
  for (const [id, own] of Map.groupBy(owners, (owner) => owner))
    await demandRoomForOutcomes(call, id, own.length);
  const ids = parts.map(() => call.newId());
  const urgency = { urgent: whole.urgent, important: whole.important };
  const base = { company_id: companyId, ...urgency, parents: [whole.id] };
  const made = [];
  for (const [index, part] of inOrder(parts)) {
    const id = ids[index] ?? "";
    const { to, title, description, acceptance } = part;
    const dependsOn = part.dependsOn.flatMap((place) => ids[place] ?? []);
    const owner = isHanded(to)
      ? { responsible_id: to.id, delegated: 1, delegated_by: from.id }
      : { responsible_id: from.id, delegated: 0, delegated_by: null };
    const said = { kind: "work", title, description, acceptance };
    await insertOutcome(tx, { id, ...base, ...said, ...owner, dependsOn }, actor);
    await call.record(id, { title, parents: [whole.id], dependsOn }, "outcome.create");
    if (isHanded(to)) {
      await call.record(id, { from: from.id, to: to.id, moved: [id] }, "outcome.delegate");
      await sendOrder(call, from.id, await agentById(tx, to.id), await outcomeById(tx, id), undefined);
    } else if (to.id !== from.id) await holdFor(tx, id, to);
    made[index] = { id, waits: to.id !== from.id && !isHanded(to) };
  }
  const integrationId = call.newId();
  await insertOutcome(
    tx,
    {
      id: integrationId,
      ...base,
      kind: "integration",
      title: `Integrate: ${whole.title}`.slice(0, 300).toWellFormed(),
      description: `Put the results of its parts together into the result of "${whole.title}" (kb://${whole.id}).`,
      acceptance: whole.acceptance,
      responsible_id: from.id,
      delegated: 0,
      delegated_by: null,
      dependsOn: ids,
    },
    actor,
  );
  await repointDependents(tx, whole.id, integrationId);
  await call.record(integrationId, { parents: [whole.id], dependsOn: ids, of: whole.id }, "outcome.create");
  return { parts: made, integrationId };
}

/** An open outcome that is not in parts already. */
async function demandParted(tx: ReadTx, whole: OutcomeRow): Promise<void> {
  if (whole.status !== "open")
    throw new Refusal("refused", `The outcome is ${whole.status}.`, "Hand out parts of an open outcome.");
  if (whole.kind === "inbox")
    throw new Refusal("refused", "An inbox cannot be handed out.", "Turn messages into outcomes first.");
  if (whole.kind === "perpetual" || whole.kind === "mandate") return;
  const integration = (await childrenOf(tx, whole.id)).find(
    ({ kind, status }) => kind === "integration" && (status === "open" || status === "submitted"),
  );
  if (integration !== undefined)
    throw new Refusal(
      "refused",
      `Its parts are handed out already; "${integration.title}" (${integration.id}) waits for them.`,
      "Wait for what comes back, or close that integration first.",
    );
}

/** Each after what it depends on, so that every row points to one that is there. */
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
  const stuck = parts.filter((_, index) => !placed.has(index)).map(({ title }) => `"${title.slice(0, 60)}"`);
  throw new Refusal(
    "refused",
    `These wait for each other in a circle: ${stuck.join(", ")}.`,
    "Leave one of the dependencies out.",
  );
}
