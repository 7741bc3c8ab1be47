import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useHere } from "../../data/company.ts";
import { Page } from "../../ui/page.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Brains } from "./brains.tsx";
import { Browsers, People } from "./people.tsx";
import { CompanySettings, CompanyLimits } from "./company-settings.tsx";
import { Secrets, Servers } from "./connections.tsx";
import { Repos } from "./repos.tsx";
import * as texts from "./texts.ts";
import "../../ui/work.css";
import "./settings.css";

const pages: Readonly<Record<texts.Tab, () => ReactNode>> = {
  company: () => <CompanySettings />,
  advanced: () => <CompanyLimits />,
  brains: () => <Brains />,
  servers: () => <Servers />,
  secrets: () => <Secrets />,
  repos: () => <Repos />,
  people: () => <People />,
  browsers: () => <Browsers />,
};

const names = ["company", "advanced", "brains", "servers", "secrets", "repos", "people", "browsers"] as const;

export function SettingsPage(): ReactNode {
  const { tab: asked }: { tab?: string } = useParams({ strict: false });
  const { company } = useHere();
  const tab = names.find((each) => each === asked) ?? "company";
  return (
    <Page title="Settings" heading>
      <Tabs
        label="Settings"
        tabs={names.map((name) => ({
          to: `/settings/${name}`,
          text: texts.tabs[name],
          isOpen: name === tab,
        }))}
      />
      <div className="work">
        <div className="work-inner wide settings" key={`${company.id} ${tab}`}>
          {pages[tab]()}
        </div>
      </div>
    </Page>
  );
}
