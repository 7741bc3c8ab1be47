/** What the daemon says in its log about the disk. */
export const spaceIsLow =
  "The disk is nearly full. Calls that change something are refused until there is space again. Reading works.";

export const spaceIsBack = "There is space on the disk again. All calls are accepted.";

export const waitingForSpace = "The disk is full. The daemon waits for space to open its data.";
