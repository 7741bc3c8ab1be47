import { Refusal } from "../contract/refusal.ts";
import { isActive, type Member, memberById, reportsOf } from "../capabilities/members.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { nameKey } from "../contract/names.ts";
import { roleKey } from "../hiring/headcount.ts";

/**
 * Whom a manager means: a direct report by id, role, slug or name, or itself. Work goes down one level at a time. A role comes
 * before a name, because that is what work is handed out by; a report before the manager, whose role a report may share.
 */

/** Undefined where the team lacks such a role. A role that several have is nobody in particular. */
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
  if (byRole.length > 1)
    throw new Refusal(
      "refused",
      `${byRole.length} reports have the role ${reference}: ${byRole.map(({ id, name }) => `${name} (${id})`).join(", ")}.`,
      "Name one by its id.",
    );
  const found = byRole[0] ?? reports.find((report) => namesOf(report).includes(wanted));
  if (found !== undefined) return found;
  if (["self", "me", ...namesOf(manager), roleKey(manager.role)].includes(wanted)) return manager;
  if (isId(wanted)) throw await notInTeam(tx, manager, reference);
  return undefined;
}

/** Nobody is hired for a role that is somebody's name: whoever is meant is there, and reports to somebody else. */
export async function demandRole(tx: ReadTx, manager: Member, reference: string): Promise<void> {
  const wanted = wantedIn(reference);
  const { company_id: companyId, boss_id } = manager;
  const meant =
    wanted === "boss" && boss_id !== null
      ? await memberById(tx, boss_id)
      : await tx.first(calledSo, { companyId, key: nameKey(wanted), slug: wanted });
  if (meant === undefined || roleKey(meant.role) === wanted) return;
  const { hint } = await notInTeam(tx, manager, reference);
  throw new Refusal(
    "refused",
    `${meant.name} (${meant.role}) is no direct report of ${manager.name}, and ${reference.slice(0, 100)} is no role.`,
    `${hint} A role the team lacks is hired.`,
  );
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
  const wanted = wantedIn(reference);
  const reports = await reportsOf(tx, manager.id);
  for (const report of reports)
    for (const below of await reportsOf(tx, report.id))
      if ([...namesOf(below), roleKey(below.role)].includes(wanted))
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

const wantedIn = (reference: string): string => roleKey(reference.replace(/^\s*@/, ""));

const namesOf = ({ id, slug, name }: Member): string[] => [id, slug, roleKey(name)];

const isId = (word: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(word);

const calledSo = query((db, p: { companyId: string; key: string; slug: string }) =>
  db
    .selectFrom("agents")
    .select(["name", "role"])
    .where("company_id", "=", p.companyId)
    .where("status", "<>", "terminated")
    .where((eb) => eb.or([eb("name_key", "=", p.key), eb("slug", "=", p.slug)])),
);
