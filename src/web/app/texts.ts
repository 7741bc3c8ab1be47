/** The sentences of the shell. */
export const lostSince = (time: string, seq: string): string =>
  `No connection since ${time}. You see the state of entry #${seq}.`;
export const readsAgain = "Updates every 10 s";
export const notWhileLost = "You can decide again when the connection is back.";
export const viewersRead =
  "You are a viewer. Viewers can read everything and change nothing. The board can give you another role.";
export const recordChecked = "The record is checked.";
export const onlyBoardVerifies = "Only the board can verify the record.";
export const opensLater = "This page opens when the connection is back.";
export const verifiedAt = (time: string): string => `All entries were verified at ${time}.`;
export const chainIsBroken = (seq: number | null): string =>
  seq === null ? "The record was changed." : `The record was changed at entry #${seq}.`;
