import { conflict, invalid, limited, Refusal, refused } from "../contract/refusal.ts";

/** All texts about knowledge files and the workspace. */
interface Named {
  readonly id: string;
  readonly description: string;
}

const named = ({ id, description }: Named): string => `"${description.slice(0, 60).toWellFormed()}" (${id})`;

export const notBase64 = (): Refusal =>
  invalid(
    "content is not valid base64.",
    "Encode the bytes as standard base64, or send text and leave out encoding.",
  );

export const notUnicode = (): Refusal =>
  invalid(
    "content is not valid Unicode text.",
    'Send well-formed text, or send the bytes as base64 with "encoding":"base64".',
  );

export const contentTooLarge = (size: number, maxBytes: number): Refusal =>
  new Refusal(
    "too_large",
    `The content has ${size} bytes. The limit is ${maxBytes} bytes (maxFileBytes).`,
    "Split the content into smaller files that link to each other (kb://<id>), or ask the board to raise maxFileBytes.",
  );

export const storageFull = (whose: "agent" | "company", used: number, most: number): Refusal =>
  limited(
    whose === "agent"
      ? `Your files, messages and commits take ${used} bytes. With this content they would exceed ${most} bytes (maxAgentBytes).`
      : `The files, messages and commits of the company take ${used} bytes. With this content they would exceed ${most} bytes (maxCompanyBytes).`,
    `Write less. Deleted files and old versions count too, so only the board can make room: agency companies update --max-${whose}-bytes <number>.`,
  );

export const stateTooLarge = (size: number, maxBytes: number): Refusal =>
  new Refusal(
    "too_large",
    `A state document may have at most ${maxBytes} bytes. This one has ${size}.`,
    "Keep what your next session needs. Move the rest into other files (create_file) and link to them (kb://<id>).",
  );

export const versionConflict = (file: Named & { readonly version: number; readonly hash: string }): Refusal =>
  conflict(
    `${named(file)} is now at version ${file.version} with hash ${file.hash}. Your change is based on another version.`,
    `Read it again (read_file {"id":"${file.id}"}), merge your change into it, and write with that version and hash.`,
    { version: file.version, hash: file.hash },
  );

/** Files of these kinds belong to something else. The refusal names that thing and the call to use instead. */
type Refused = Readonly<Record<string, readonly [why: string, instead: string]>>;

const notWritable: Refused = {
  outcome: ["shows an outcome and is written by the system", "Change the outcome: update_outcome."],
  log: ["is an agent's log, which only the system writes", "Add to it with submit_summary."],
  result: [
    "is the result of an outcome",
    "Submit or complete the outcome again, with the new result as the note.",
  ],
  skill: ["is part of a skill", "The board replaces a skill as a whole: agency skills add."],
};

const notDeletable: Refused = {
  outcome: ["shows an outcome, which can't be deleted", "Close the outcome with a rationale: close_outcome."],
  state: ["is an agent's state document, which can't be deleted", "Write a shorter version: write_file."],
  log: ["is an agent's log, which can't be deleted", "The log stays with its agent."],
  result: ["is the result of an outcome, which can't be deleted", "Reopen the outcome: reopen_outcome."],
  skill: ["is part of a skill", "The board removes a skill as a whole: agency skills remove."],
};

/** Undefined if agents and people can write (or delete) files of this kind. */
export const refusedWrite = (file: Named & { kind: string }): Refusal | undefined =>
  refusedBy(notWritable, file);
export const refusedDelete = (file: Named & { kind: string }): Refusal | undefined =>
  refusedBy(notDeletable, file);

function refusedBy(kinds: Refused, file: Named & { readonly kind: string }): Refusal | undefined {
  const [why, instead] = kinds[file.kind] ?? [];
  if (why === undefined || instead === undefined) return undefined;
  return refused(`${named(file)} ${why}.`, instead);
}

export const fileDeleted = (file: Named): Refusal =>
  new Refusal(
    "gone",
    `${named(file)} was deleted.`,
    "Use another file, and remove links to this one. The board can still read its history (agency kb history).",
  );

export const pathOrContent = (): Refusal =>
  invalid(
    "Send exactly one of `path` and `content`.",
    "`path` names a file in a session's workspace. `content` is the text itself.",
  );

export const encodingNeedsContent = (): Refusal =>
  invalid("`encoding` belongs to `content`, but you sent `path`.", "Leave out `encoding`.");

export const noWorkspace = (instead: string): Refusal =>
  refused("Only sessions have a workspace, and this call is not from a session.", instead);

export const workspaceUnreadable = (code: string): Refusal =>
  refused(
    `Your workspace can't be opened (${code}).`,
    "Send content instead of path, and read files one by one with read_file.",
  );

/** `why` starts with a verb, as in "is a symbolic link". */
export const unusablePath = (path: string, why: string): Refusal =>
  refused(
    `${path} ${why}.`,
    "Use the path of a regular file inside your workspace. If the file is elsewhere, copy it there first.",
  );

export const copyFailed = (fileId: string, code: string): Refusal =>
  refused(
    `The copy of file ${fileId} can't be written into your workspace (${code}).`,
    "Remove what is in the way (kb must be a folder, not a link) and call list_files again, or call read_file.",
  );
