import { useNavigate, useSearch } from "@tanstack/react-router";
import { Fragment, memo, type ReactNode, useRef, useState } from "react";
import { ops } from "virtual:operations";
import { removedSentences } from "../../../contract/phrases.ts";
import { shown } from "../../../contract/visible-text.ts";
import { useHere } from "../../data/company.ts";
import type { Answer } from "../../data/operations.ts";
import { useAll, useRead } from "../../data/reading.ts";
import { everyAgent } from "../../data/roster.ts";
import { figure } from "../../ui/figures.tsx";
import { FilterFields, FilterSelect, FilterTime } from "../../ui/filter-fields.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useList } from "../../ui/more-rows.tsx";
import { useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { runsOf } from "../../ui/runs.ts";
import { useStable } from "../../ui/stable.ts";
import { Empty, Loaded } from "../../ui/states.tsx";
import { Tile } from "../../ui/tile.tsx";
import { When } from "../../ui/time.tsx";
import { Sentence } from "../../ui/sentence.tsx";
import { longSpan } from "./spans.ts";
import * as texts from "./texts.ts";
import { TimeStrip } from "./time-strip.tsx";
import { Verify } from "./verify.tsx";
import "../../ui/work.css";
import "./activity.css";

interface Filters {
  readonly actor?: string;
  readonly operation?: string;
  readonly subject?: string;
  readonly from?: string;
  readonly to?: string;
  readonly refused?: string;
  /** The numbers of the open entries. */
  readonly open?: string;
}
type Told = Answer<typeof ops.listEvents>["events"][number];

/** Proves what happened: newest first, as sentences, each with its entry of the ledger. */
export function ActivityPage(): ReactNode {
  const { company } = useHere();
  const navigate = useNavigate();
  const filters: Filters = useSearch({ strict: false });
  const [from, to] = [timeOf(filters.from), timeOf(filters.to)];
  const events = useList(ops.listEvents, "events", {
    companyId: company.id,
    order: "newest",
    ...(filters.actor && { actor: filters.actor }),
    ...(filters.operation && { operation: filters.operation }),
    ...(filters.subject && { subject: filters.subject }),
    ...(from !== undefined && { from: new Date(from).toISOString() }),
    ...(to !== undefined && { to: new Date(to).toISOString() }),
    ...(filters.refused !== "all" && { refused: filters.refused === "only" }),
  });
  const change = useStable(
    (part: Filters): void =>
      void navigate({ to: "/activity", search: { ...filters, ...part }, replace: true }),
  );
  return (
    <Page title="Activity" heading actions={<Verify />}>
      <FilterBar filters={filters} change={change} />
      <Loaded of={events} height={38} rows={14}>
        {(data) => (
          <>
            <TimeStrip
              times={data.events.map(({ at }) => Date.parse(at))}
              from={from}
              to={to}
              onChoose={(range) =>
                change({
                  from: range === null ? "" : inField(range.from),
                  to: range === null ? "" : inField(range.to + 1000),
                })
              }
            />
            <Events
              key={JSON.stringify({ ...filters, open: "" })}
              events={data.events}
              end={events.more}
              open={filters.open ?? ""}
              onOpen={(open) => change({ open })}
            />
            {removedSentences(data.removed).map((says) => (
              <p key={says} className="quiet">
                {says}
              </p>
            ))}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Undefined for an invalid time in the address, too. */
const timeOf = (field = ""): number | undefined => {
  const time = Date.parse(field);
  return Number.isNaN(time) ? undefined : time;
};

/** A time in the form of a field for local time. */
function inField(time: number): string {
  const at = new Date(time);
  const two = (part: number): string => String(part).padStart(2, "0");
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${date}T${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":")}`;
}

/** Memoized: it has an option for every agent, and new entries must not render them all again. */
const FilterBar = memo(function FilterBar({
  filters,
  change,
}: {
  filters: Filters;
  change: (part: Filters) => void;
}): ReactNode {
  const { company } = useHere();
  const roster = useAll(ops.listRoster, "agents", everyAgent(company.id));
  const people = useRead(ops.listPeople, {}).data?.people ?? [];
  return (
    <div className="toolbar" role="search">
      <FilterFields
        first={
          <FilterSelect
            label="Who"
            value={filters.actor}
            options={[
              ["", "Everyone"],
              ["board", "The board"],
              ...people.map(({ id, name }) => [id, name] as const),
              ["system", "The system"],
              ...roster.map(({ id, name, role }) => [id, `${name}, ${role}`] as const),
            ]}
            onChange={(actor) => change({ actor })}
          />
        }
        values={[filters.operation, filters.refused, filters.from, filters.to]}
      >
        <FilterSelect
          label="What"
          value={filters.operation}
          options={[["", "Everything"], ...Object.entries(texts.nounWords)]}
          onChange={(operation) => change({ operation })}
        />
        <FilterSelect
          label="Refusals"
          value={filters.refused}
          options={[
            ["", "Without refusals"],
            ["all", "With refusals"],
            ["only", "Only refusals"],
          ]}
          onChange={(refused) => change({ refused })}
        />
        <FilterTime label="From" value={filters.from} onChange={(from) => change({ from })} />
        <FilterTime label="To" value={filters.to} onChange={(to) => change({ to })} />
      </FilterFields>
      {filters.subject !== undefined && filters.subject !== "" && (
        <button type="button" className="more" onClick={() => change({ subject: "" })}>
          About everything
        </button>
      )}
    </div>
  );
});

/** New entries wait behind a button while the reader is further down. Several of the same kind in a row become one line. */
function Events({
  events,
  end,
  open,
  onOpen,
}: {
  events: readonly Told[];
  end: ReactNode;
  open: string;
  onOpen: (open: string) => void;
}): ReactNode {
  const ref = useRowKeys(".event > button");
  const [held, setHeld] = useState<readonly Told[]>();
  const numbers = open.split(",").filter((each) => each !== "");
  const isOpen = ({ seq }: Told): boolean => numbers.includes(String(seq));
  const visible = held ?? events;
  const newest = visible[0]?.seq ?? 0;
  const fresh = events.filter(({ seq }) => seq > newest).length;
  const top = useRef<HTMLDivElement>(null);
  if (visible.length === 0)
    return (
      <div className="work-inner">
        <Empty title={texts.noActivity}>
          <p>{texts.noActivityHint}</p>
        </Empty>
      </div>
    );
  return (
    <div
      className="work"
      ref={ref}
      onScroll={({ currentTarget }) => {
        if (currentTarget.scrollTop > 40) setHeld((known) => known ?? events);
        else setHeld(undefined);
      }}
    >
      <div ref={top} />
      {fresh > 0 && held !== undefined && (
        <button
          type="button"
          className="b solid new-events"
          onClick={() => {
            setHeld(undefined);
            top.current?.scrollIntoView();
          }}
        >
          {fresh} new
        </button>
      )}
      <ul>
        {runsOf(visible, kindOf).map((run, at, all) => (
          <Fragment key={run[0].seq}>
            <Gap before={all[at - 1]?.at(-1)?.at} after={run[0].at} />
            <EventRun
              run={run}
              isOpen={run.some(isOpen)}
              onToggle={() => {
                const others = numbers.filter((each) => run.every(({ seq }) => String(seq) !== each));
                // A run grows at its front, so its last entry identifies it.
                onOpen([...others, ...(run.some(isOpen) ? [] : [run.at(-1)?.seq])].join(","));
              }}
            />
          </Fragment>
        ))}
      </ul>
      {end}
    </div>
  );
}

const kindOf = ({ operation, actor }: Told): string =>
  [operation, actor.kind, actor.agentId, actor.personId].join(" ");

const longGap = 60 * 60_000;

/** Newest first. If two entries are more than an hour apart, the list says so, because a jump in time is easy to miss. */
function Gap({ before, after }: { before: string | undefined; after: string }): ReactNode {
  const gap = before === undefined ? 0 : Date.parse(before) - Date.parse(after);
  return gap < longGap ? null : <li className="event-gap lab">{texts.gap(longSpan(gap))}</li>;
}

function EventRun({
  run,
  isOpen,
  onToggle,
}: {
  run: readonly [Told, ...Told[]];
  isOpen: boolean;
  onToggle: () => void;
}): ReactNode {
  const [first] = run;
  const who = first.by.person ?? first.by.agent;
  const isRefused = "refused" in first.data || first.operation.endsWith("refused");
  const label = run.length > 1 ? texts.showEntries(run.length) : texts.showEntry(figure(first.seq));
  return (
    <li>
      <div
        className="event"
        onClick={({ target }) => {
          if (target instanceof Element && target.closest("a, button") === null) onToggle();
        }}
      >
        {who === undefined ? (
          <Tile id="system" name="Agency" size="xs" kind="system" />
        ) : (
          <Tile id={who.id} name={who.name} size="xs" kind={first.by.person ? "person" : "agent"} />
        )}
        <span className="cut">
          {isRefused && <span className="tag stop">refused</span>} <Sentence of={first} />
        </span>
        {run.length > 1 && <span className="tag">{run.length} times</span>}
        <span className="quiet num">
          <When at={first.at} />
        </span>
        <button
          type="button"
          className={`twist ${isOpen ? "" : "folded"}`}
          aria-expanded={isOpen}
          aria-label={label}
          title={label}
          onClick={onToggle}
        >
          <Icon name="down" />
        </button>
      </div>
      {isOpen &&
        run.map((event) => (
          <div key={event.seq} className="event-detail">
            <p>
              #{figure(event.seq)}, <When at={event.at} />, <code>{event.operation}</code>
              {run.length > 1 && (
                <>
                  : <Sentence of={event} />
                </>
              )}
            </p>
            <pre className="code-box" tabIndex={0}>
              <bdi>
                {beginningOf(shown(JSON.stringify(event.data, null, 1)))}
                {"\n"}hash {event.hash}
              </bdi>
            </pre>
          </div>
        ))}
    </li>
  );
}

const mostOfData = 20_000;

const beginningOf = (text: string): string =>
  text.length > mostOfData ? `${text.slice(0, mostOfData)}…\n${texts.dataIsCut(figure(text.length))}` : text;
