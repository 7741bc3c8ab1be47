import { Refusal } from "../contract/refusal.ts";
import { isActive, type Member, reportsOf } from "../capabilities/members.ts";
import type { ReadTx } from "../store/store.ts";
import { roleKey } from "./headcount.ts";

/** Whom a manager means: itself, or a direct report by id, slug, name or role. Work goes down one level at a time. */

/** Undefined where the team lacks such a role. A role that several have is nobody in particular. */
export async function findInTeam(
  tx: ReadTx,
  manager: Member,
  reference: string,
): Promise<Member | undefined> {
  const wanted = roleKey(reference.replace(/^\s*@/, ""));
  if (wanted === "self" || wanted === manager.id || wanted === manager.slug) return manager;
  const reports = await reportsOf(tx, manager.id);
  const byId = reports.find(({ id }) => id === wanted);
  if (byId !== undefined) return byId;
  const byRole = reports.filter(({ role }) => roleKey(role) === wanted);
  if (byRole.length > 1)
    throw new Refusal(
      "refused",
      `${byRole.length} reports have the role ${reference}: ${byRole.map(({ id, name }) => `${name} (${id})`).join(", ")}.`,
      "Name one by its id.",
    );
  const byName = reports.find(({ slug, name }) => slug === wanted || roleKey(name) === wanted);
  const found = byName ?? byRole[0];
  if (found === undefined && isId(wanted)) throw await notInTeam(tx, manager, reference);
  return found;
}

/** Somebody else than the manager, employed or (where the caller says so) waiting for approval. */
export async function findReport(
  tx: ReadTx,
  manager: Member,
  reference: string,
  orPending = false,
): Promise<Member> {
  const found = await findInTeam(tx, manager, reference);
  if (found === undefined) throw await notInTeam(tx, manager, reference);
  if (found.id === manager.id)
    throw new Refusal(
      "refused",
      `${manager.name} cannot delegate to itself.`,
      "Do it, or name a direct report.",
    );
  if (!isActive(found) && !(orPending && found.status === "pending_approval"))
    throw new Refusal(
      "refused",
      `${found.name} is ${found.status} and cannot be assigned work.`,
      "Choose an active report.",
    );
  return found;
}

/** Everybody in a company may know who reports to whom. */
async function notInTeam(tx: ReadTx, manager: Member, reference: string): Promise<Refusal> {
  const wanted = roleKey(reference.replace(/^\s*@/, ""));
  const reports = await reportsOf(tx, manager.id);
  for (const report of reports)
    for (const below of await reportsOf(tx, report.id))
      if ([below.id, below.slug, roleKey(below.name), roleKey(below.role)].includes(wanted))
        return new Refusal(
          "refused",
          `${below.name} reports to ${report.name}, not to ${manager.name}.`,
          `Work goes down one level at a time: delegate to ${report.name} (${report.id}).`,
        );
  return new Refusal(
    "refused",
    `${manager.name} has no direct report ${reference.slice(0, 100)}.`,
    reports.length === 0
      ? "Hire one first."
      : `Direct reports: ${reports.map(({ slug }) => slug).join(", ")}.`,
  );
}

const isId = (word: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(word);
