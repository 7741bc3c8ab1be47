/** Texts of Companies. */
export const created =
  "It gets a root agent, which reports to the board. You can change all other settings later.";
export const archived = "No agent works here. Everything can still be read.";
