/** Texts of the pages about sessions. */
export const noSessions = "No agent has worked yet.";
export const noSessionFound = "No session matches.";
export const noneEndedSo = "No session is in this state.";
export const noSessionsHint = "A session starts when an agent has work. Give the root agent a goal on Home.";
export const printedNothing = "It printed nothing.";
export const nothingYet = (ago: string): string => `Started ${ago}, nothing printed yet.`;
export const hidden = "A result that you can't read.";
export const moreLines = (count: string): string => `${count}: open it beside`;
export const endedBecause = (end: string, reason: string): string => `${end}: ${reason}`;
export const earlierDeeds = "Earlier entries of the record";
