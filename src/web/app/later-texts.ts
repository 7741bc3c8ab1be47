/** The sentences of the parts of the shell that are loaded later: signing in, answers, and what is shown instead of a page. */
export const signingIn = "Signing in…";
export const notSignedIn = "You are not signed in.";
export const openAgency = "Open Agency";
export const browserNotSignedIn = "This browser is not signed in.";
export const runSignIn = ["Run", "where the daemon runs, then open the link that it prints."] as const;
export const whyTitle = "Why";
export const whyNothing = "Agency can't explain this.";
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
export const notFoundTitle = "Not found";
export const pageNotFound = "There is no such page.";
export const broken = "Error";
export const pageBroken = "This page can't be shown because of an error in Agency. What you typed is kept.";
export const reload = "Load it again";
export const noCompany = "There is no company yet.";
export const noCompanyHint = "Run `agency up` where the daemon runs: its first start creates one.";
export const unknownCompany = (name: string): string => `You can't open a company called “${name}”.`;
export const openAnother = "It doesn't exist, or you have no access to it. Companies that you can open:";
export const noCompanyToOpen = "It doesn't exist, or you have no access to it. Ask the board for access.";
