/** Texts of the pages about approvals. */
export const noneOf = (status: string): string =>
  ({
    pending: "No request waits for you.",
    revision_requested: "No request is being revised.",
    approved: "No request was approved yet.",
    rejected: "No request was rejected.",
  })[status] ?? "There are no requests yet.";
export const noneHint = "Agents ask before they hire, change an agent, or raise a budget.";
export const noRequestFound = "No request matches.";
export const noRequestFoundHint =
  "The search looks at the names and roles of the requesters and of the agents they ask for.";

export const commentPlaceholder = "Write a comment…";
export const compareTitle = "Compare with";
export const comparePick = "An agent that works here…";
export const comparedWith = (name: string): string => `Compared with ${name}`;
export const compareSame = "Everything is configured the same.";
