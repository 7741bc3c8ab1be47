/**
 * The first part of each address of the dashboard. The daemon answers all of them with the same page, which then shows the
 * right view.
 */
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
