/** Texts of the pages about knowledge. */
export const fileKindWords = {
  file: "Files",
  result: "Results",
  message: "Messages",
  log: "Logs",
  state: "States",
  outcome: "Outcomes",
  skill: "Skills",
} as const;
export const noFiles = "No knowledge files yet.";
export const noFilesHint = "Agents write them as they work. You can add one.";
export const noneOfKind = (kind: string): string => `No ${kind.toLowerCase()} yet.`;
/** How files of each kind are made. */
export const kindHints = {
  result: "The result of an outcome is kept here when the outcome is completed.",
  message: "Every message is kept here.",
  log: "The log entry of each session is added here when the session ends.",
  state: "Each agent keeps notes for its next session here.",
  outcome: "Every outcome has a file with its description.",
  skill: "The board adds skills with agency skills add.",
} as const;
export const nothingFound = (kind: string, words: string): string =>
  `None of the ${kind.toLowerCase()} has the words “${words}”.`;
export const otherKinds = "Other kinds may have them: choose one above.";
export const firstOfMany = (count: number): string =>
  `The first ${count} matches. More words narrow the search.`;
export const readIsRecorded = "Opening a file is recorded as a read.";
export const binary = (type: string, bytes: string): string =>
  `This file is not text (${type}, ${bytes} bytes), so it is not shown.`;
export const shownSoFar = (shown: string, all: string): string => `${shown} of ${all} characters are shown.`;
export const showMore = "Show more";
export const downloadIt = "Download";
export const brokenLinks = (count: string, hasMore: boolean): string =>
  hasMore ? `${count} and more` : count;
export const linksNowhere = "links to a file that does not exist";
export const linksToDeleted = "links to a deleted file:";
export const versionKeys = "Keys: [ and ] change the version, D shows what changed";
export const deletedIt = "deleted it";
export const meanwhile = (version: number): string =>
  `Version ${version} was saved while you wrote. The differences from your text are below. Your text is still here.`;
export const newerText = (version: number): string => `The text of version ${version}`;
export const edit = (isEditing: boolean, hasDraft: boolean): string =>
  isEditing ? "Stop editing" : hasDraft ? "Continue editing" : "Edit";
export const pageWords = { "": "Text", history: "Versions", links: "Links", access: "Access" } as const;
export const peopleRead = "People can read everything and are not listed.";

const accesses: Readonly<Record<string, string>> = {
  "knowledge.read": "read it",
  "knowledge.read_version": "read an earlier version",
  "knowledge.create": "created it",
  "knowledge.write": "wrote it",
  "knowledge.delete": "deleted it",
  "knowledge.search": "found it by a search",
};
export const accessWords = (action: string): string =>
  accesses[action] ?? (action.split(".").at(-1) ?? action).replaceAll("_", " ");
