import { sql } from "kysely";
import type { Message } from "../contract/mail.ts";
import type { UnreadableLink } from "../contract/outcomes.ts";
import { notFound } from "../contract/refusal.ts";
import type { Member } from "../capabilities/members.ts";
import { includesVersion, versionsFor } from "../capabilities/pinned.ts";
import { holds } from "../capabilities/rights.ts";
import { type Viewer, visibleVersions } from "../capabilities/visible.ts";
import { linksIn } from "../knowledge/content.ts";
import { fileById, versionAt } from "../knowledge/table.ts";
import { fileDeleted } from "../knowledge/texts.ts";
import { insertion } from "../store/inserts.ts";
import { selection } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import * as texts from "./texts.ts";

/**
 * The enclosures of a message: the files that its sender names, and files that the sender wrote and links to. The receiver may
 * read the sent version while the sender can (capabilities/pinned.ts). Nothing else is stored for this right.
 */
export type Enclosed = ReadonlyMap<string, { readonly version: number; readonly linked: boolean }>;

/** Each link costs queries, so only the first 100 are checked. The answer reports fewer. */
const mostLinks = 100;
const mostReported = 20;

interface Sending {
  readonly tx: ReadTx;
  readonly companyId: string;
  /** Null means the board. */
  readonly from: string | null;
}

/** The file that the sender names, at the newest version that the sender can read. Refuses a file that it can't read. */
export async function versionToSend({ tx, companyId, from }: Sending, id: string): Promise<number> {
  const file = await fileById(tx, id);
  const versions = await visibleVersions(tx, { agentId: from }, id);
  if (file === undefined || file.company_id !== companyId || versions.length === 0)
    throw notFound("file", id);
  if (file.deleted_at !== null) throw fileDeleted(file);
  return versions === "all" ? file.version : Math.max(...versions);
}

export async function enclose(
  sending: Sending,
  content: Uint8Array,
  files: readonly string[] = [],
): Promise<Enclosed> {
  const enclosed = new Map<string, { version: number; linked: boolean }>();
  for (const id of files) enclosed.set(id, { version: await versionToSend(sending, id), linked: false });
  for (const id of linksIn(content).slice(0, mostLinks)) {
    const version = enclosed.has(id) ? undefined : await ownVersion(sending, id);
    if (version !== undefined) enclosed.set(id, { version, linked: true });
  }
  return enclosed;
}

/** The current version of a file that the sender wrote itself and can still read. */
async function ownVersion({ tx, companyId, from }: Sending, id: string): Promise<number | undefined> {
  const file = await fileById(tx, id);
  if (file?.kind !== "file" || file.deleted_at !== null || file.company_id !== companyId) return undefined;
  if (from === null)
    return (await tx.first(boardWrote, { file_id: id })) === undefined ? undefined : file.version;
  const isOwn = (await tx.first(agentWrote, { file_id: id, author_agent_id: from })) !== undefined;
  return isOwn && (await holds(tx, from, `kb:${id}`, "read")) ? file.version : undefined;
}

export async function keepEnclosures(
  tx: Tx,
  message: { readonly id: string; readonly company_id: string },
  enclosed: Enclosed,
): Promise<void> {
  for (const [id, { version, linked }] of enclosed)
    await tx.run(insertEnclosure, {
      message_id: message.id,
      file_id: id,
      version,
      company_id: message.company_id,
      linked: linked ? 1 : 0,
    });
}

/** The enclosures that the viewer may read. */
export async function enclosuresOf(tx: ReadTx, viewer: Viewer, messageId: string): Promise<Message["files"]> {
  const shown = [];
  for (const { file_id: id, version, linked } of await tx.all(enclosedIn, { message_id: messageId })) {
    const at = await tx.first(versionAt, { id, version });
    const isGone = (await fileById(tx, id))?.deleted_at !== null;
    if (at === undefined || isGone || !includesVersion(await visibleVersions(tx, viewer, id), version))
      continue;
    shown.push({ id, version, description: at.description, linked: linked === 1 });
  }
  return shown;
}

/**
 * The links that the receiver can't open. A link to a file that the sender itself can't open is always reported, in the same
 * words. Otherwise the answer would tell whether the file exists.
 */
export async function unreadableIn(
  sending: Sending,
  content: Uint8Array,
  to: Pick<Member, "id" | "name"> | null,
  enclosed: Enclosed,
): Promise<UnreadableLink[]> {
  const { tx, companyId, from } = sending;
  const found: UnreadableLink[] = [];
  for (const id of linksIn(content).slice(0, mostLinks)) {
    if (enclosed.has(id) || found.length === mostReported || to?.id === from) continue;
    const file = await fileById(tx, id);
    const isOpen = file?.company_id === companyId && file.deleted_at === null;
    const canOpen = isOpen && (await versionsFor(tx, from, id)).length > 0;
    if (canOpen && (await versionsFor(tx, to?.id ?? null, id)).length > 0) continue;
    const readers = to === null ? [] : [{ id: to.id, name: to.name }];
    found.push({ file: id, readers, says: texts.linkUnreadable(to?.name ?? "The board", id, canOpen) });
  }
  return found;
}

const insertEnclosure = insertion("enclosures");
const enclosedIn = selection("enclosures", ["message_id"], sql`order by linked, file_id`);
const agentWrote = selection("versions", ["file_id", "author_agent_id"], sql`limit 1`);
const boardWrote = selection("versions", ["file_id"], sql`and author_kind = 'board' limit 1`);
