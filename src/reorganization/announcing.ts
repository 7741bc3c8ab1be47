import { type Move, moveSentence } from "../contract/reorganization.ts";
import type { Writing } from "../dispatch/context.ts";
import { isActive, memberById } from "../capabilities/members.ts";
import { liveWorkOf } from "../agents/table.ts";
import { grantById } from "../capabilities/table.ts";
import { notify } from "../mail/notices.ts";
import { outcomeById } from "../outcomes/table.ts";
import type { ReadTx } from "../store/store.ts";
import type { Difference } from "./images.ts";
import { movesForAgent, movesForBoard, news } from "./texts.ts";

/**
 * Announces a reorganization. Each reader gets one message. The board is told everything. An agent is told about new reports,
 * new work, submissions it now verifies, and rights it lost. An agent that only got another manager is told nothing.
 */
const mostLines = 200;

export async function announceMoves(
  call: Writing,
  title: string,
  plan: { readonly moves: readonly Move[]; readonly warnings: readonly string[] },
  found: readonly Difference[],
): Promise<void> {
  const { tx } = call;
  const all = plan.moves.map((move) => `- ${moveSentence(move)}`);
  const most = all.slice(0, mostLines);
  if (all.length > most.length) most.push(`- and ${all.length - most.length} more`);
  await notify(call, null, movesForBoard(title, [...most, ...noteOf(plan.warnings)]));
  const lettersTo = new Map<string, Set<string>>();
  const tell = (id: unknown, line: string): void => {
    if (typeof id === "string") lettersTo.set(id, (lettersTo.get(id) ?? new Set()).add(line));
  };
  for (const { table, key, before, after } of found) {
    const id = String(key["id"]);
    if (table === "agents" && before === null) {
      const made = await memberById(tx, id);
      tell(made?.boss_id, news.newReport(made?.name ?? ""));
    } else if (table === "agents" && after !== null && before !== null) {
      const { name = "" } = (await memberById(tx, id)) ?? {};
      if (typeof after["boss_id"] === "string" && !("status" in after))
        tell(after["boss_id"], news.newReport(name));
      if ("brain_type" in after) for (const line of await workOf(tx, id)) tell(id, line);
    }
    if (table === "outcomes" && before !== null && after !== null) {
      const { title: name, status, delegated_by: verifier } = await outcomeById(tx, id);
      if ("responsible_id" in after) tell(after["responsible_id"], news.newWork(name, id));
      if ("delegated_by" in after && status === "submitted") tell(verifier, news.verify(name, id));
    }
    if (table === "dependencies" && after === null) {
      const waiter = await outcomeById(tx, String(key["outcome_id"]));
      tell(waiter.responsible_id, news.noLongerWaits(waiter.title, waiter.id));
    }
    if (table === "grants" && after !== null && before?.["broken"] === 0) {
      const grant = await tx.first(grantById, { id });
      tell(grant?.grantee_id, news.rightEnded(grant?.resource ?? ""));
    }
  }
  for (const [id, lines] of lettersTo) {
    const member = await memberById(tx, id);
    if (member !== undefined && isActive(member)) await notify(call, id, movesForAgent(title, [...lines]));
  }
}

const noteOf = (warnings: readonly string[]): string[] =>
  warnings.length === 0 ? [] : ["", ...warnings.slice(0, mostLines).map((warning) => `- ${warning}`)];

/** The open work of a position, for its new brain or person. */
async function workOf(tx: ReadTx, agentId: string): Promise<string[]> {
  const live = await tx.all(liveWorkOf, { responsible_id: agentId });
  const work = live.filter(({ kind }) => kind !== "inbox").slice(0, mostLines);
  return work.length === 0 ? [news.newPosition] : work.map(({ id, title }) => news.newWork(title, id));
}
