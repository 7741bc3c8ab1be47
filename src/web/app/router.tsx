import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from "@tanstack/react-router";
import { Shell } from "./shell.tsx";
import { NotFound } from "./not-found.tsx";

/** Every page has its own chunk. All filters and selections are in the address (search), so links can be copied. */
const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  validateSearch: (search: Record<string, unknown>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(search).flatMap(([name, value]) =>
        typeof value === "string" || typeof value === "number" || typeof value === "boolean"
          ? [[name, String(value)]]
          : [],
      ),
    ),
  search: { middlewares: [retainSearchParams(["company"])] },
});

const page = (path: string, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => root, path, component });

const home = () => import("../features/home/home.tsx");
const approvals = () => import("../features/approvals/approvals.tsx");
const organization = () => import("../features/organization/organization.tsx");
const reorganizations = () => import("../features/organization/reorganizations.tsx");
const agent = () => import("../features/agent/agent.tsx");
const session = () => import("../features/session/session.tsx");
const sessions = () => import("../features/session/sessions.tsx");
const approval = () => import("../features/approvals/approval.tsx");
const outcomes = () => import("../features/outcomes/outcomes.tsx");
const outcome = () => import("../features/outcomes/outcome.tsx");
const mail = () => import("../features/mail/mail.tsx");
const settings = () => import("../features/settings/settings.tsx");
const hire = () => import("../features/hire/hire.tsx");
const knowledge = () => import("../features/knowledge/knowledge.tsx");
const file = () => import("../features/knowledge/file.tsx");
const costs = () => import("../features/costs/costs.tsx");
const activity = () => import("../features/activity/activity.tsx");
const companies = () => import("../features/companies/companies.tsx");

export const router = createRouter({
  routeTree: root.addChildren([
    page("/", lazyRouteComponent(home, "Home")),
    page("/approvals", lazyRouteComponent(approvals, "Approvals")),
    page("/approvals/$id", lazyRouteComponent(approval, "ApprovalPage")),
    page("/org", lazyRouteComponent(organization, "Organization")),
    page("/reorganizations", lazyRouteComponent(reorganizations, "ReorganizationsPage")),
    page("/reorganizations/$id", lazyRouteComponent(reorganizations, "ReorganizationsPage")),
    page("/agents/$id", lazyRouteComponent(agent, "AgentPage")),
    page("/agents/$id/$tab", lazyRouteComponent(agent, "AgentPage")),
    page("/sessions", lazyRouteComponent(sessions, "SessionsPage")),
    page("/sessions/$id", lazyRouteComponent(session, "SessionPage")),
    page("/mail", lazyRouteComponent(mail, "MailPage")),
    page("/mail/$agent", lazyRouteComponent(mail, "MailPage")),
    page("/settings", lazyRouteComponent(settings, "SettingsPage")),
    page("/settings/$tab", lazyRouteComponent(settings, "SettingsPage")),
    page("/hire", lazyRouteComponent(hire, "HirePage")),
    page("/knowledge", lazyRouteComponent(knowledge, "KnowledgePage")),
    page("/knowledge/$id", lazyRouteComponent(file, "FilePage")),
    page("/knowledge/$id/$part", lazyRouteComponent(file, "FilePage")),
    page("/costs", lazyRouteComponent(costs, "CostsPage")),
    page("/activity", lazyRouteComponent(activity, "ActivityPage")),
    page("/companies", lazyRouteComponent(companies, "CompaniesPage")),
    page("/outcomes", lazyRouteComponent(outcomes, "OutcomesPage")),
    page("/outcomes/$id", lazyRouteComponent(outcome, "OutcomePage")),
  ]),
  defaultPreload: "intent",
  // Values are plain text in the address, not JSON.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(
      Object.entries(search).flatMap(([name, value]) =>
        value === undefined || value === "" ? [] : [[name, String(value)]],
      ),
    ).toString();
    return text === "" ? "" : `?${text}`;
  },
});
