/** Texts of Companies. */
export const created = "It gets a root agent, which serves the board. Everything else you set afterwards.";
export const archived = "No agent works here. Everything can still be read.";
