import { useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { AgentActions } from "../../ui/agent-actions.tsx";
import { AgentSummary, AgentTop, PendingHire } from "../../ui/agent-now.tsx";
import { useKeys } from "../../ui/keys.ts";
import { useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { When } from "../../ui/time.tsx";
import { Line, Name } from "../../ui/words.tsx";
import * as texts from "./texts.ts";
import { AgentMail } from "./agent-mail.tsx";
import { AgentOutcomes } from "./agent-outcomes.tsx";
import { AgentRecord } from "./agent-record.tsx";
import { AgentRights } from "./agent-rights.tsx";
import { AgentSessions } from "./agent-sessions.tsx";
import { AgentSetup } from "./agent-setup.tsx";
import "../../ui/agent-panel.css";
import "../../ui/work.css";
import "./agent.css";

const tabs = {
  now: ["Now", AgentSummary],
  outcomes: ["Outcomes", AgentOutcomes],
  rights: ["Rights", AgentRights],
  mail: ["Mail", AgentMail],
  sessions: ["Sessions", AgentSessions],
  setup: ["Setup", AgentSetup],
  record: ["Record", AgentRecord],
} as const satisfies Record<string, readonly [string, (props: { id: string }) => ReactNode]>;

const isTab = (name: string): name is keyof typeof tabs => name in tabs;

/** One agent: understand it, and steer it. */
export function AgentPage(): ReactNode {
  const { id = "", tab = "now" }: { id?: string; tab?: string } = useParams({ strict: false });
  const navigate = useNavigate();
  const agent = useRead(ops.viewAgent, { id });
  const open = isTab(tab) ? tab : "now";
  const [, Content] = tabs[open];
  const rows = useRowKeys(".plain-list > li");
  useKeys({ Escape: () => void navigate({ to: "/org", search: { agent: id } }) });
  return (
    <Page title={agent.data?.name ?? "Agent"} quoted crumbs={[{ text: "Organization", to: "/org" }]}>
      <Loaded of={agent}>
        {(data) => (
          <div className="scroll">
            <div className="agent-page">
              <header className="head">
                <AgentTop
                  of={data}
                  says={
                    <p className="lab">
                      <Line text={data.says} />
                    </p>
                  }
                >
                  <h1 className="nm">
                    <Line text={data.name} />
                  </h1>
                </AgentTop>
                <AgentActions agent={data} />
              </header>
              {data.approval !== null && (
                <div className="banner" role="status">
                  <span>
                    {data.status === "pending_approval"
                      ? "The hire waits for a decision: "
                      : "A change waits for a decision: "}
                    <Name of={data.approval} />
                  </span>
                </div>
              )}
              {data.left !== null && (
                <div className="banner" role="status">
                  <div className="min-w-0">
                    Left <When at={data.left.at} said />
                    {data.left.reason !== null && (
                      <>
                        : <Line text={data.left.reason.replace(/\.$/, "")} />
                      </>
                    )}
                    . {texts.pageIsRecord}{" "}
                    {data.left.successor !== null && (
                      <>
                        <Name
                          of={{ kind: "agent", id: data.left.successor.id, title: data.left.successor.name }}
                          tile="agent"
                        />{" "}
                        {texts.tookOver(data.left.tookOver.length)}
                        <ul className="took-over" hidden={data.left.tookOver.length === 0}>
                          {data.left.tookOver.map((outcome) => (
                            <li key={outcome.id}>
                              <Name of={outcome} />
                            </li>
                          ))}
                        </ul>
                      </>
                    )}
                  </div>
                </div>
              )}
              {data.status === "pending_approval" ? (
                <div className="body">
                  <PendingHire of={data} />
                </div>
              ) : (
                <>
                  <Tabs
                    label="Parts of this page"
                    className="tabs"
                    tabs={Object.entries(tabs).map(([name, [text]]) => ({
                      to: `/agents/${id}/${name}`,
                      text,
                      isOpen: name === open,
                    }))}
                  />
                  <div className="body" ref={rows}>
                    <Content id={id} />
                  </div>
                </>
              )}
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  );
}
