import { sql } from "kysely";
import type { Deliverable, UnreadableLink } from "../contract/outcomes.ts";
import { isActive, memberById } from "../capabilities/members.ts";
import { includesVersion, pinsOn, versionsFor } from "../capabilities/pinned.ts";
import { holds } from "../capabilities/rights.ts";
import { departedOwner, upward } from "../capabilities/structure.ts";
import { type Viewer, visibleVersions } from "../capabilities/visible.ts";
import type { Writing } from "../dispatch/context.ts";
import { linksIn } from "../knowledge/content.ts";
import { fileById, versionAt } from "../knowledge/table.ts";
import { insertion } from "../store/inserts.ts";
import { selection, textQuery, updating } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import type { OutcomeRow } from "./outcome.ts";
import { listedOn } from "./table.ts";
import { filesNotYours, howToShare, tooManyDeliverables } from "./texts.ts";

/**
 * Deliverables: the versions of knowledge files that an outcome delivers. A submission names files that the submitter wrote, at
 * their current version, or deliverables it received from below, at the version it received. The outcome's place decides who
 * may read them (capabilities/pinned.ts).
 *
 *   not delivered ──submit──▶ delivered ──complete──▶ accepted
 *
 * A later submission has its own list of files. Versions that were delivered before stay readable until the outcome is closed:
 * a verifier can compare them, and an agent that built on an accepted version can still look at it.
 */
const mostDeliverables = 100;
/** Each link in a note costs queries, so only the first 200 are checked. The answer reports fewer. */
const mostLinks = 200;
const mostReported = 20;

/**
 * Stores the deliverables of a submission or completion. Returns the links in the note that some of its readers can't open. If
 * the owner names no files, the files of the last submission are delivered again.
 */
export async function keepDeliverables(
  call: Writing,
  outcome: OutcomeRow,
  note: string | null,
  files: readonly string[] | undefined,
): Promise<UnreadableLink[]> {
  const { tx, actor } = call;
  const isOwner = actor.agentId === outcome.responsible_id;
  const before = isOwner ? await tx.all(listedOn, { outcome_id: outcome.id }) : [];
  const wanted = new Map<string, number>();
  const wrong: string[] = [];
  for (const id of new Set(files ?? [])) {
    const version = await versionToDeliver(tx, actor, outcome, id);
    if (version === undefined) wrong.push(id);
    else wanted.set(id, version);
  }
  if (wrong.length > 0) throw filesNotYours(wrong);
  if (files === undefined)
    for (const { file_id: id } of before) {
      const version = await versionToDeliver(tx, actor, outcome, id);
      if (version !== undefined) wanted.set(id, version);
    }
  const others: string[] = [];
  for (const id of note === null ? [] : linksIn(Buffer.from(note)).slice(0, mostLinks)) {
    const version = wanted.get(id) ?? (await versionToDeliver(tx, actor, outcome, id));
    if (version === undefined) others.push(id);
    else wanted.set(id, version);
  }
  if (wanted.size > mostDeliverables) throw tooManyDeliverables(wanted.size, mostDeliverables);
  if (before.length > 0) await tx.run(unlist, { outcome_id: outcome.id, listed: 0 });
  for (const [id, version] of wanted)
    await tx.run(insertDeliverable, {
      outcome_id: outcome.id,
      file_id: id,
      version,
      company_id: outcome.company_id,
      by_agent_id: actor.agentId,
      listed: 1,
      created_at: tx.now,
      accepted_at: null,
    });
  return unreadableLinks(tx, actor, outcome, others);
}

/** Marks the deliverables of a completed outcome as accepted. */
export async function acceptDeliverables({ tx }: Writing, outcomeId: string): Promise<void> {
  await tx.run(markAccepted, { outcome_id: outcomeId, accepted_at: tx.now });
}

/** The deliverables of an outcome's last submission that the viewer may read. */
export async function deliverablesOf(tx: ReadTx, viewer: Viewer, outcomeId: string): Promise<Deliverable[]> {
  const shown: Deliverable[] = [];
  for (const row of await tx.all(listedOn, { outcome_id: outcomeId })) {
    const file = await fileById(tx, row.file_id);
    const at = await tx.first(versionAt, { id: row.file_id, version: row.version });
    if (file === undefined || file.deleted_at !== null || at === undefined) continue;
    if (!includesVersion(await visibleVersions(tx, viewer, file.id), row.version)) continue;
    const by = await memberById(tx, row.by_agent_id);
    shown.push({
      id: file.id,
      description: at.description,
      mediaType: file.media_type,
      version: row.version,
      hash: at.hash,
      size: at.size,
      by: by === undefined ? null : { id: by.id, name: by.name },
      accepted: row.accepted_at !== null,
    });
  }
  return shown;
}

/**
 * The version of a file that the actor may deliver, or undefined if it may not: the current version of a file it wrote and can
 * still read or, of a deliverable from below, the newest version it received. The board may deliver any file.
 */
async function versionToDeliver(
  tx: ReadTx,
  { agentId }: Viewer,
  outcome: OutcomeRow,
  id: string,
): Promise<number | undefined> {
  const file = await fileById(tx, id);
  if (file?.kind !== "file" || file.deleted_at !== null || file.company_id !== outcome.company_id)
    return undefined;
  if (agentId === null) {
    const before = await tx.first(lastListed, { outcome_id: outcome.id, file_id: id });
    return before?.version ?? file.version;
  }
  const isOwn =
    (await tx.first(wroteIt, { file_id: id, author_agent_id: agentId })) !== undefined ||
    (await departedOwner(tx, agentId, id)) !== undefined;
  if (isOwn && (await holds(tx, agentId, `kb:${id}`, "read"))) return file.version;
  return (await pinsOn(tx, agentId, id)).find(({ how }) => fromBelow.has(how))?.version;
}

const fromBelow: ReadonlySet<string> = new Set(["owner", "verifier", "decider", "ancestor"]);

/**
 * The links that some reader of the note can't open: the verifier, or the owner of an ancestor. A link to a file that the actor
 * can't see counts as unreadable for all of them. Otherwise the answer would tell whether the file exists.
 */
async function unreadableLinks(
  tx: ReadTx,
  actor: Viewer,
  outcome: OutcomeRow,
  links: readonly string[],
): Promise<UnreadableLink[]> {
  if (links.length === 0 || actor.agentId === null) return [];
  const ids = (await tx.all(readersOf, { id: outcome.id })).map(({ id }) => id);
  const readers = [];
  for (const id of new Set([...(outcome.delegated_by === null ? [] : [outcome.delegated_by]), ...ids])) {
    const reader = id === actor.agentId ? undefined : await memberById(tx, id);
    if (reader !== undefined && isActive(reader)) readers.push({ id, name: reader.name });
  }
  const found: UnreadableLink[] = [];
  for (const id of links.slice(0, mostReported)) {
    const file = await fileById(tx, id);
    const isOpen = file?.company_id === outcome.company_id && file.deleted_at === null;
    const canOpen = isOpen && (await versionsFor(tx, actor.agentId, id)).length > 0;
    const cannot = [];
    for (const reader of readers)
      if (!canOpen || (await versionsFor(tx, reader.id, id)).length === 0) cannot.push(reader);
    if (cannot.length > 0) found.push({ file: id, readers: cannot, says: howToShare(id, cannot, canOpen) });
  }
  return found;
}

const lastListed = selection(
  "deliverables",
  ["outcome_id", "file_id"],
  sql`and listed = 1 order by version desc limit 1`,
);
const unlist = updating("deliverables", ["listed"], ["outcome_id"]);
const insertDeliverable = insertion(
  "deliverables",
  sql`on conflict (outcome_id, file_id, version) do update set listed = 1`,
);
const markAccepted = updating(
  "deliverables",
  ["accepted_at"],
  ["outcome_id"],
  sql`and listed = 1 and accepted_at is null`,
);
const wroteIt = selection("versions", ["file_id", "author_agent_id"], sql`limit 1`);

const readersOf = textQuery(
  (p: { id: string }) =>
    sql<{ id: string }>`${upward(sql`select parent_id as id from edges where child_id = ${p.id}`)}
      select distinct o.responsible_id as id from up join outcomes o on o.id = up.id
      where o.responsible_id is not null order by o.responsible_id limit 20`,
);
