import { damaged, type Refusal, refused, unavailable } from "../contract/refusal.ts";

/** A full disk is not a bug: the daemon refuses what it can't write, and continues when there is space again. */
export const diskFull = (): Refusal =>
  unavailable(
    "The disk is full, and nothing was changed. Reading still works.",
    "Free space on the disk of the daemon's data, then call again. The daemon continues without a restart.",
    { retryAfterSeconds: 5 },
  );

/** The database does not answer, or not in time. If the call was a change, it may or may not have happened. */
export const databaseAway = (): Refusal =>
  unavailable(
    "The database does not answer.",
    "Call again in a few seconds, with the same idempotency key if this was a change: it may have been made. The daemon continues without a restart.",
    { retryAfterSeconds: 2 },
  );

export const poolNeedsDirectUrl = () =>
  refused(
    "The address of the database leads to a pool of connections, such as PgBouncer.",
    "Name the server itself too, as DATABASE_DIRECT_URL, DATABASE_DIRECT_URL_FILE or DATABASE_DIRECT_URL_FD.",
  );

export const addressesDiffer = () =>
  refused(
    "DATABASE_URL and DATABASE_DIRECT_URL lead to two databases.",
    "Correct one of them. Both must lead to the same database: DATABASE_URL through the pool, DATABASE_DIRECT_URL without it.",
  );

export const directIsPool = () =>
  refused(
    "Notifications between nodes don't arrive at the direct address of the database.",
    "Name the server itself as DATABASE_DIRECT_URL, not a pool of connections.",
  );

export const tablesAreHeld = () =>
  refused(
    "Agency can't update the tables: another program has locked them for over a minute.",
    "Stop other nodes that are starting, or end the open transaction, then start again. Nothing was changed.",
  );

export const needsNewerAgency = (needed: string, own: string) =>
  refused(
    `The data needs Agency ${needed} or newer. This is Agency ${own}.`,
    `Install it: npm install --global agency@${needed}. Then start again. Nothing was changed.`,
  );

export const contentDamaged = (fileId: string, hash: string, isChanged: boolean) =>
  damaged(
    `The stored content of file ${fileId} was ${isChanged ? "changed" : "deleted"} outside Agency.`,
    "Tell the board. It can restore the content from a backup; `agency doctor --deep` lists every damaged file.",
    { file: fileId, hash },
  );
