/** The first part of each address of the dashboard. The daemon answers them with the same page, which then shows what is meant. */
export const pageRoots = [
  "",
  "sign-in",
  "mail",
  "approvals",
  "org",
  "agents",
  "hire",
  "outcomes",
  "knowledge",
  "sessions",
  "reorganizations",
  "costs",
  "activity",
  "settings",
  "companies",
] as const;
