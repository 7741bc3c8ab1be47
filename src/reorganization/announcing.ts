import type { Move } from "../contract/reorganization.ts";
import type { Writing } from "../dispatch/context.ts";
import { isActive, memberById } from "../capabilities/members.ts";
import { notify } from "../mail/operations.ts";
import { outcomeById } from "../outcomes/table.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import type { Difference } from "./images.ts";

/**
 * Who is told, once each: the board everything; whoever has more to answer for, what that is, and what waits for its
 * verdict; whoever has less, what it may not any more. Reports that only have another boss are told nothing.
 */
const mostLines = 200;

export async function announceMoves(
  call: Writing,
  title: string,
  plan: { readonly moves: readonly Move[]; readonly warnings: readonly string[] },
  found: readonly Difference[],
): Promise<void> {
  const { tx } = call;
  const lines = plan.moves.map(lineOf);
  const most = lines.slice(0, mostLines);
  if (lines.length > most.length) most.push(`- and ${lines.length - most.length} more`);
  await notify(call, null, [`Reorganized: ${title}.`, "", ...most, ...noteOf(plan.warnings)].join("\n"));
  const news = new Map<string, Set<string>>();
  const tell = (id: unknown, line: string): void => {
    if (typeof id === "string") news.set(id, (news.get(id) ?? new Set()).add(line));
  };
  for (const { table, key, before, after } of found) {
    const id = String(key["id"]);
    if (table === "agents" && before === null) {
      const made = await memberById(tx, id);
      tell(made?.boss_id, `- ${made?.name ?? ""} reports to you`);
    } else if (table === "agents" && after !== null && before !== null) {
      const { name = "" } = (await memberById(tx, id)) ?? {};
      if (typeof after["boss_id"] === "string" && !("status" in after))
        tell(after["boss_id"], `- ${name} reports to you`);
      if ("brain_type" in after) for (const line of await workOf(tx, id)) tell(id, line);
    }
    if (table === "outcomes" && before !== null && after !== null) {
      const { title: name, status, delegated_by: verifier } = await outcomeById(tx, id);
      if ("responsible_id" in after) tell(after["responsible_id"], `- "${name}" (kb://${id}) is yours`);
      if ("delegated_by" in after && status === "submitted")
        tell(verifier, `- "${name}" (kb://${id}) is submitted: verify it`);
    }
    if (table === "dependencies" && after === null) {
      const waiter = await outcomeById(tx, String(key["outcome_id"]));
      tell(waiter.responsible_id, `- "${waiter.title}" (kb://${waiter.id}) does not wait for what has ended`);
    }
    if (table === "grants" && after !== null && before?.["broken"] === 0) {
      const grant = await tx.first(holderOf, { id });
      tell(grant?.grantee_id, `- you do not hold ${grant?.resource ?? ""} any more`);
    }
  }
  for (const [id, own] of news) {
    const member = await memberById(tx, id);
    if (member !== undefined && isActive(member))
      await notify(call, id, [`The organization has changed: ${title}.`, "", ...own].join("\n"));
  }
}

const lineOf = ({ what, from, to }: Move): string =>
  from === null
    ? `- ${what}: ${to ?? "nobody"}`
    : to === null
      ? `- ${what}: ${from}, no longer`
      : `- ${what}: ${to} (before: ${from})`;

const noteOf = (warnings: readonly string[]): string[] =>
  warnings.length === 0 ? [] : ["", ...warnings.slice(0, mostLines).map((warning) => `- ${warning}`)];

/** Who takes a position over finds there what it has to do. */
async function workOf(tx: ReadTx, agentId: string): Promise<string[]> {
  const work = await tx.all(liveWork, { agentId });
  return work.length === 0
    ? ["- this position is yours; nothing is open"]
    : work.map(({ id, title }) => `- "${title}" (kb://${id}) is yours`);
}

const liveWork = query((db, p: { agentId: string }) =>
  db
    .selectFrom("outcomes")
    .select(["id", "title"])
    .where("responsible_id", "=", p.agentId)
    .where("status", "in", ["open", "submitted"])
    .where("kind", "<>", "inbox")
    .orderBy("num")
    .limit(mostLines),
);

const holderOf = query((db, p: { id: string }) =>
  db.selectFrom("grants").select(["grantee_id", "resource"]).where("id", "=", p.id),
);
