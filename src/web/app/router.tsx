import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from "@tanstack/react-router";
import { Suspense } from "react";
import { patiently } from "../data/patiently.ts";
import { later } from "../ui/later.ts";
import { LoadingPage } from "./loading.tsx";
import { Shell } from "./shell.tsx";

const instead = () => import("./instead.tsx");
const Broken = later(async () => (await instead()).Broken);

/** Every page has its own chunk. All filters and selections are in the address (search), so links can be copied. */
const root = createRootRoute({
  component: Shell,
  notFoundComponent: lazyRouteComponent(() => patiently(instead), "NotFound"),
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

const home = () => patiently(() => import("../features/home/home.tsx"));
const approvals = () => patiently(() => import("../features/approvals/approvals.tsx"));
const organization = () => patiently(() => import("../features/organization/organization.tsx"));
const reorganizations = () => patiently(() => import("../features/organization/reorganizations.tsx"));
const agent = () => patiently(() => import("../features/agent/agent.tsx"));
const session = () => patiently(() => import("../features/session/session.tsx"));
const sessions = () => patiently(() => import("../features/session/sessions.tsx"));
const approval = () => patiently(() => import("../features/approvals/approval.tsx"));
const outcomes = () => patiently(() => import("../features/outcomes/outcomes.tsx"));
const outcome = () => patiently(() => import("../features/outcomes/outcome.tsx"));
const mail = () => patiently(() => import("../features/mail/mail.tsx"));
const settings = () => patiently(() => import("../features/settings/settings.tsx"));
const hire = () => patiently(() => import("../features/hire/hire.tsx"));
const knowledge = () => patiently(() => import("../features/knowledge/knowledge.tsx"));
const file = () => patiently(() => import("../features/knowledge/file.tsx"));
const costs = () => patiently(() => import("../features/costs/costs.tsx"));
const activity = () => patiently(() => import("../features/activity/activity.tsx"));
const companies = () => patiently(() => import("../features/companies/companies.tsx"));

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
  defaultPendingComponent: LoadingPage,
  defaultErrorComponent: () => (
    <Suspense>
      <Broken />
    </Suspense>
  ),
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
