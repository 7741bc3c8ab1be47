/** What is wrong with the first bad event of a chain, or with a row. */
export const wrong = {
  missing: (seq: number): string => `Event ${seq} is missing.`,
  order: "The event does not continue the one before it: events were exchanged, inserted or sealed again.",
  content: "The event was edited, or sealed again without the audit key.",
  headBefore: "The end of the ledger was changed outside Agency before this event was recorded.",
  head: "The stored end of the ledger was edited, or sealed again without the audit key.",
  noHead: "The stored end of the ledger was deleted.",
  cut: (seq: number): string => `The ledger ended with event ${seq}. The events from here on were deleted.`,
  rewritten: (at: number): string =>
    `The anchor of ${timeOf(at)} has another hash for this event. The ledger was rewritten, or the database was put back to an earlier state, with the audit key.`,
  rolledBack: (seq: number, at: number): string =>
    `The anchor of ${timeOf(at)} has event ${seq}, which is missing. The database was put back to an earlier state.`,
  removal: "The stored row about removed events was edited, or sealed again without the audit key.",
  lines: "The list of the rows that the event changed was edited: it names something that is not a row.",
  rowChanged: "The row differs from what the ledger recorded: a value was edited outside Agency.",
  rowInserted: "The ledger never recorded this row: it was inserted outside Agency.",
  rowDeleted: "The row is missing, and the ledger did not record that it was deleted.",
};

export const advice = {
  ledger:
    "Compare the database with a backup from before this time. Agents can continue to work, and new events are recorded.",
  rolledBack:
    "If you restored a backup on purpose, move audit-anchor.log out of the home folder. Otherwise restore the newest backup.",
  row: "Compare the row with a backup, and put its values back.",
};

const timeOf = (at: number): string => new Date(at).toISOString();
