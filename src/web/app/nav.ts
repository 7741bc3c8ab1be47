import type { IconName } from "../ui/icons.tsx";

/** The pages of the sidebar. `count` names the number beside it. */
export interface NavItem {
  readonly to: string;
  readonly text: string;
  readonly icon: IconName;
  readonly count?: "attention" | "mail" | "approvals" | "agents" | "outcomes";
  readonly group?: "Company" | "Record";
  /** Other addresses whose pages belong to this item. */
  readonly also?: readonly string[];
}

export const navItems: readonly NavItem[] = [
  { to: "/", text: "Home", icon: "home", count: "attention" },
  { to: "/mail", text: "Mail", icon: "mail", count: "mail" },
  { to: "/approvals", text: "Approvals", icon: "stamp", count: "approvals" },
  {
    to: "/org",
    text: "Organization",
    icon: "org",
    count: "agents",
    group: "Company",
    also: ["/agents", "/hire", "/sessions", "/reorganizations"],
  },
  { to: "/outcomes", text: "Outcomes", icon: "target", count: "outcomes", group: "Company" },
  { to: "/knowledge", text: "Knowledge", icon: "book", group: "Company" },
  { to: "/costs", text: "Costs", icon: "coins", group: "Record" },
  { to: "/activity", text: "Activity", icon: "pulse", group: "Record" },
];

/** The item at the foot of the sidebar. */
export const settingsItem: NavItem = { to: "/settings", text: "Settings", icon: "gear" };
