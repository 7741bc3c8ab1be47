/** The sentences of the pages about sessions. */
export const readsInbox = "Reads its inbox";
export const noSessions = "No agent has worked yet.";
export const noneEndedSo = "No session is in this state.";
export const noSessionsHint =
  "A session starts when an agent has something to do. Give the root agent a goal on Home.";
