/** Texts of the pages about outcomes. */
export const outcomeKindWords = {
  perpetual: "Purpose",
  mandate: "Mandate",
  work: "Work",
  integration: "Integration",
  inbox: "Inbox",
} as const;

export const noOutcomes = "No outcomes yet.";
export const noOutcomesHint = (root: string): string => `Tell ${root} what you want.`;
export const showAll = "Show all outcomes";
export const noMatch = "No outcome matches these filters.";
export const whyNotMoving = "Why it is not moving";

export const mapLabel = (count: string): string =>
  `Map of ${count}, with reasons on the left and steps on the right. Arrow keys move, Enter opens.`;
export const mapItem = (title: string, state: string, owner: string): string =>
  `${title}. ${state}. ${owner}.`;
export const mapLegend =
  "A solid line leads from an outcome to the outcomes that serve it. A dashed line leads to those it waits for.";
export const graphIsCut = "Only the newest 20,000 outcomes are shown here. The table lists all.";
export const moreChains = "It serves more outcomes than are listed here.";
