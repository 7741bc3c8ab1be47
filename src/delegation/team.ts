import type { Refusal } from "../contract/refusal.ts";
import { isActive, type Member, memberById, reportsOf, sameName, sameSlug } from "../capabilities/members.ts";
import type { ReadTx } from "../store/store.ts";
import { lookOf } from "../contract/names.ts";
import { roleKey } from "../hiring/headcount.ts";
import * as texts from "./texts.ts";

/**
 * Finds the agent that a manager names: a direct report (by id, role, slug or name) or the manager itself. Work goes down one
 * level at a time, so other agents are never found. Roles are tried before names, because plans assign work to roles. Reports
 * are tried before the manager, because a report may have the manager's role.
 */

/** Undefined if the team lacks the role. Refuses if several reports have the role. */
export async function findInTeam(
  tx: ReadTx,
  manager: Member,
  reference: string,
): Promise<Member | undefined> {
  const wanted = wantedIn(reference);
  const reports = await reportsOf(tx, manager.id);
  const byId = reports.find(({ id }) => id === wanted);
  if (byId !== undefined) return byId;
  const byRole = reports.filter(({ role }) => roleKey(role) === wanted);
  if (byRole.length > 1) throw texts.severalInRole(manager, reference, byRole);
  const found = byRole[0] ?? reports.find((report) => namesOf(report).includes(wanted));
  if (found !== undefined) return found;
  if (["self", "me", ...namesOf(manager), roleKey(manager.role)].includes(wanted)) return manager;
  if (isId(wanted)) throw await notInTeam(tx, manager, reference);
  return undefined;
}

/**
 * Refuses to hire for a role that is the name of an agent elsewhere in the company. The plan meant that agent, which reports to
 * another manager.
 */
export async function demandRole(tx: ReadTx, manager: Member, reference: string): Promise<void> {
  const wanted = wantedIn(reference);
  const { company_id, boss_id } = manager;
  const meant =
    wanted === "boss" && boss_id !== null
      ? await memberById(tx, boss_id)
      : ((await tx.first(sameName, { company_id, name_key: lookOf(wanted) })) ??
        (await tx.first(sameSlug, { company_id, slug: wanted })));
  if (meant === undefined || roleKey(meant.role) === wanted) return;
  const { hint } = await notInTeam(tx, manager, reference);
  throw texts.neitherReportNorRole(manager, meant, reference, hint);
}

/** A direct report that can get work: an active one or, with `orPending`, one that still waits for approval. */
export async function findReport(
  tx: ReadTx,
  manager: Member,
  reference: string,
  orPending = false,
): Promise<Member> {
  const found = await findInTeam(tx, manager, reference);
  if (found === undefined) throw await notInTeam(tx, manager, reference);
  if (found.id === manager.id) throw texts.notToItself(manager);
  if (!isActive(found) && !(orPending && found.status === "pending_approval")) throw texts.notEmployed(found);
  return found;
}

/** The refusal may name agents of other teams, because every agent can see the organization chart. */
async function notInTeam(tx: ReadTx, manager: Member, reference: string): Promise<Refusal> {
  const wanted = wantedIn(reference);
  const reports = await reportsOf(tx, manager.id);
  for (const report of reports)
    for (const below of await reportsOf(tx, report.id))
      if ([...namesOf(below), roleKey(below.role)].includes(wanted))
        return texts.reportsToAnother(manager, below, report);
  return texts.noSuchReport(manager, reference, reports);
}

const wantedIn = (reference: string): string => roleKey(reference.replace(/^\s*@/, ""));

const namesOf = ({ id, slug, name }: Member): string[] => [id, slug, roleKey(name)];

const isId = (word: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(word);
