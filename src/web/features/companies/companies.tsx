import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import type { Answer } from "../../data/operations.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { Button } from "../../ui/buttons.tsx";
import { Meter } from "../../ui/figures.tsx";
import { LoadedList, useList } from "../../ui/more-rows.tsx";
import { useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { Line } from "../../ui/words.tsx";
import * as texts from "./texts.ts";
import "../../ui/work.css";
import "./companies.css";

type Listed = Answer<typeof ops.listCompanies>["companies"][number];

/** Every company of the installation: what needs the person there, and whether the rest moves. */
export function CompaniesPage(): ReactNode {
  const navigate = useNavigate();
  const { me } = useHere();
  const rows = useRowKeys(".company-cards button");
  const list = useList(ops.listCompanies, "companies", { archived: true, health: true }, 200);
  return (
    <Page
      title="Companies"
      heading
      actions={
        me?.role === "board" && (
          <AskFor
            text="New company"
            title="Create a company"
            says={texts.created}
            fields={[{ name: "name", label: "Name" }]}
            operation={ops.createCompany}
            input={(values) => ({ name: values["name"] ?? "" })}
            done="The company is created."
            onDone={({ id }) => void navigate({ to: "/", search: { company: id } })}
          />
        )
      }
    >
      <div className="work">
        <div className="work-inner wide" ref={rows}>
          <LoadedList of={list}>
            {({ companies }) => (
              <ul className="company-cards">
                {companies.map((company) => (
                  <CompanyCard key={company.id} of={company} />
                ))}
              </ul>
            )}
          </LoadedList>
        </div>
      </div>
    </Page>
  );
}

function CompanyCard({ of }: { of: Listed }): ReactNode {
  const navigate = useNavigate();
  const { company } = useHere();
  const { health, attention = 0 } = of;
  const isArchived = of.state === "archived";
  const said = isArchived
    ? texts.archived
    : health === undefined
      ? ""
      : `${health.moving} moving, ${health.scheduled} scheduled, ${health.waitingForYou} waiting for you, ${health.stuck} stuck`;
  return (
    <li className="box">
      <header>
        <h2>
          <Line text={of.name} />
        </h2>
        {of.id === company.id && <span className="tag">shown now</span>}
        {of.state !== "active" && <span className="tag hold">{of.state}</span>}
        {attention > 0 && !isArchived && (
          <span className="end">
            <span className="tag call">
              {attention} {attention === 1 ? "needs" : "need"} you
            </span>
          </span>
        )}
      </header>
      <div className="pad form">
        {health !== undefined && !isArchived && (
          <Meter
            label={said}
            parts={[
              { value: health.moving, tone: "run" },
              { value: health.scheduled, tone: "soft" },
              { value: health.waitingForYou, tone: "call" },
              { value: health.stuck, tone: "stop" },
            ]}
          />
        )}
        {said !== "" && <p className="lab">{said}</p>}
        <div className="buttons">
          <Button onClick={() => void navigate({ to: "/", search: { company: of.id } })}>Open</Button>
        </div>
      </div>
    </li>
  );
}
