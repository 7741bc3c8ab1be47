import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { ops } from "virtual:operations";
import { isPressing } from "../../../contract/pressing.ts";
import { useHere } from "../../data/company.ts";
import { useRead } from "../../data/reading.ts";
import { BesideContext } from "../../ui/beside-context.ts";
import { BesidePanel, useBeside } from "../../ui/beside.tsx";
import { Meter } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useList } from "../../ui/more-rows.tsx";
import { Page } from "../../ui/page.tsx";
import { Loaded } from "../../ui/states.tsx";
import { When } from "../../ui/time.tsx";
import { AttentionList } from "./attention-list.tsx";
import { Compose } from "./compose.tsx";
import { GoodToKnow } from "./good-to-know.tsx";
import type { Item } from "./item.ts";
import { Rail } from "./rail.tsx";
import { firstItems } from "./reads.ts";
import * as texts from "./texts.ts";
import "./home.css";

/** First shows what needs the person, then whether the rest moves. */
export function Home(): ReactNode {
  const { company, me } = useHere();
  // A member works from a position: goals and figures of the company are the board's.
  const isMember = me?.role === "member";
  const counts = useRead(ops.viewCounts, isMember ? null : { companyId: company.id }).data;
  const attention = useList(ops.viewAttention, "items", { companyId: company.id }, firstItems);
  const isFirst = counts?.outcomes.all === 1;
  const beside = useBeside("agent", "outcome");
  return (
    <Page
      title="Home"
      actions={
        <Link to="/hire" className="b ghost" title="Key: H">
          <Icon name="hire" />
          <span className="hide-s">Hire</span>
          <span className="vh only-s">Hire</span>
        </Link>
      }
    >
      <BesideContext value={beside.click}>
        <div
          className={`home ${beside.chosen !== undefined ? "with-beside" : isMember ? "without-rail" : ""}`}
        >
          <div className="main">
            <div className="scroll">
              <Loaded of={attention}>
                {({ items, pressing, health, next, notes }) => (
                  <div className="inner">
                    <header className="hero">
                      <h1>{texts.needYou(pressing)}</h1>
                      <p>
                        {isFirst && pressing === 0 ? texts.noGoalYet : texts.holdUp(health, pressing)}
                        {pressing === 0 && next !== null && (
                          <>
                            {" "}
                            {texts.nextDate} <When at={next} />.
                          </>
                        )}
                      </p>
                    </header>
                    {!isFirst && <HealthBar {...health} />}
                    <Waiting items={items} rows={attention.rows} more={attention.more} />
                    <GoodToKnow notes={notes} />
                  </div>
                )}
              </Loaded>
            </div>
            {!isMember && <Compose isFirst={isFirst} />}
          </div>
          {beside.chosen === undefined ? (
            !isMember && <Rail />
          ) : (
            <BesideContext value={undefined}>
              <BesidePanel of={beside} />
            </BesideContext>
          )}
        </div>
      </BesideContext>
    </Page>
  );
}

function Waiting({
  items,
  rows,
  more,
}: {
  items: readonly Item[];
  rows: number;
  more: ReactNode;
}): ReactNode {
  const waiting = useMemo(() => items.filter(isPressing), [items]);
  return <AttentionList items={waiting} rows={rows} more={more} />;
}

function HealthBar(health: Readonly<Record<keyof typeof texts.health, number>>): ReactNode {
  const parts = [
    { key: "moving", tone: "run" },
    { key: "scheduled", tone: "soft" },
    { key: "waitingForYou", tone: "call" },
    { key: "stuck", tone: "stop" },
  ] as const;
  const said = parts.map(({ key }) => `${health[key]} ${texts.health[key]}`).join(", ");
  return (
    <section className="health" aria-label="State of all open outcomes">
      <Meter label={said} parts={parts.map(({ key, tone }) => ({ value: health[key], tone }))} />
      <ul>
        {parts.map(({ key, tone }) => (
          <li key={key}>
            <span className={`sw ${health[key] === 0 ? "none" : tone}`} />
            <b>{health[key]}</b> {texts.health[key]}
          </li>
        ))}
      </ul>
    </section>
  );
}
