/** Texts about requests that are approved together. */
export const aloneRight = (right: string): string => `Decide this request separately: it grants ${right}.`;
export const aloneStatus = "It is no longer pending.";
export const batchTitle = (count: number): string =>
  `Approve ${count === 1 ? "1 request" : `${count} requests`}?`;
export const approveMany = (count: number): string => `Approve ${count}`;
export const approveChosen = (count: number): string => `Approve ${count}…`;
export const batchSum = (heads: string, rights: string, money: string): string =>
  `Together: ${heads}, ${rights}, ${money} a month.`;
export const chosenOf = (count: number): string => `${count} selected`;
export const oneTypeOnly = "Only requests of one type are approved together.";
