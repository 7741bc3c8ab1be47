/** What is wrong with the first bad event of a chain. */
export const wrong = {
  missing: (seq: number): string => `Event ${seq} is missing.`,
  order: "The event does not continue the one before it: events were exchanged, inserted or sealed again.",
  content: "The event was edited, or sealed again without the audit key.",
  headBefore: "The end of the ledger was changed outside Agency before this event was recorded.",
  head: "The stored end of the ledger was edited, or sealed again without the audit key.",
  noHead: "The stored end of the ledger was deleted.",
  cut: (seq: number): string => `The ledger ended with event ${seq}. The events from here on were deleted.`,
};
