/** Texts of the shell. */
export const signingIn = "Signing in…";
export const notSignedIn = "You are not signed in.";
export const openAgency = "Open Agency";
export const browserNotSignedIn = "This browser is not signed in.";
export const runSignIn = ["Run", "where the daemon runs, then open the link that it prints."] as const;
export const noCompany = "There is no company yet.";
export const noCompanyHint = "Run `agency up` where the daemon runs: its first start creates one.";
export const unknownCompany = (name: string): string => `You can't open a company called “${name}”.`;
export const openAnother = "It doesn't exist, or you have no access to it. Companies that you can open:";
export const noCompanyToOpen = "It doesn't exist, or you have no access to it. Ask the board for access.";
export const lostSince = (time: string, seq: string): string =>
  `No connection since ${time}. You see the state of entry #${seq}.`;
export const readsAgain = "Updates every 10 s";
export const notWhileLost = "You can decide again when the connection is back.";
export const viewersRead =
  "You are a viewer. Viewers can read everything and change nothing. The board can give you another role.";
export const recordChecked = "The record is checked.";
export const onlyBoardVerifies = "Only the board can verify the record.";
export const whyTitle = "Why";
export const whyNothing = "Nothing can be said about this.";
export const whyStates = {
  moving: "moving",
  scheduled: "scheduled",
  waiting: "waiting for a decision",
  stuck: "stuck",
} as const;
export const accessTitle = "Explain access";
export const accessFixes = "What would change the answer:";
export const fixWords: Readonly<Record<string, string>> = {
  "permission.grant": "Grant it",
  "permission.revoke": "Revoke it",
  "outcome.reopen": "Reopen it",
};
export const notFound = "Not found";
export const pageNotFound = "There is no such page.";
export const broken = "Error";
export const pageBroken = "This page can't be shown because of an error in Agency. What you typed is kept.";
export const reload = "Load it again";
export const opensLater = "This page opens when the connection is back.";

export const verifiedAt = (time: string): string => `All entries were verified at ${time}.`;
export const chainIsBroken = (seq: number | null): string =>
  seq === null ? "The record was changed." : `The record was changed at entry #${seq}.`;
