import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { memo, type ReactNode, useCallback, useDeferredValue } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import type { Answer } from "../../data/operations.ts";
import { useAll, useRead } from "../../data/reading.ts";
import { type Choosing, useBeside, WithPanel } from "../../ui/beside.tsx";
import { Choice } from "../../ui/buttons.tsx";
import { counted } from "../../ui/figures.tsx";
import { FilterFields, FilterSelect, FindField } from "../../ui/filter-fields.tsx";
import { LoadedList, useList } from "../../ui/more-rows.tsx";
import { useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { inParts, isHeld, mostReasons, useReasons } from "../../ui/reasons.ts";
import { Loaded } from "../../ui/states.tsx";
import { outcomeStatusWords, standingOf, unowned } from "../../ui/standing.ts";
import { StatusMark } from "../../ui/status.tsx";
import { Age } from "../../ui/time.tsx";
import { WhyLine } from "../../ui/why.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line } from "../../ui/words.tsx";
import { NoMatch } from "./no-match.tsx";
import { OutcomeMap } from "./outcome-map.tsx";
import * as texts from "./texts.ts";
import { OutcomeTree } from "./tree.tsx";
import "../../ui/work.css";
import "./outcomes.css";

interface Filters {
  readonly view?: string;
  readonly q?: string;
  readonly owner?: string;
  readonly status?: string;
  readonly kind?: string;
}

const statuses = ["live", "open", "submitted", "completed", "closed", "all"] as const;
const views = ["tree", "map", "table"] as const;
const kinds = ["perpetual", "mandate", "work", "integration", "inbox"] as const;

/** Shows the work of the company, and why some of it does not move. */
export function OutcomesPage(): ReactNode {
  const navigate = useNavigate();
  const filters: Filters = useSearch({ strict: false });
  const change = useCallback(
    (part: Filters): void =>
      void navigate({ to: "/outcomes", search: (now: object) => ({ ...now, ...part }), replace: true }),
    [navigate],
  );
  // The filters answer at once. Thousands of outcomes follow as soon as no key waits.
  const { view = "", q = "", owner = "", status = "", kind = "" } = useDeferredValue(filters);
  return (
    <Page title="Outcomes" heading>
      <FilterBar filters={filters} change={change} />
      {view === "table" ? (
        <OutcomeTable q={q} owner={owner} status={status} kind={kind} />
      ) : (
        <Forest isMap={view === "map"} q={q} owner={owner} status={status} kind={kind} />
      )}
    </Page>
  );
}

function FilterBar({ filters, change }: { filters: Filters; change: (part: Filters) => void }): ReactNode {
  return (
    <div className="toolbar" role="search">
      <Choice
        label="View"
        value={views.find((view) => view === filters.view) ?? "tree"}
        options={[
          { value: "tree", text: "Tree", icon: "outline" },
          { value: "map", text: "Map", icon: "map" },
          { value: "table", text: "Table", icon: "menu" },
        ]}
        onChange={(view) => change({ view: view === "tree" ? "" : view })}
      />
      <FilterFields
        first={<FindField label="Find by title" value={filters.q ?? ""} onChange={(q) => change({ q })} />}
        values={[filters.status, filters.kind, filters.owner]}
      >
        <FilterSelect
          label="Status"
          value={filters.status}
          options={statuses.map((each) => [
            each,
            each === "live" ? "Not ended" : each === "all" ? "All" : outcomeStatusWords[each],
          ])}
          onChange={(status) => change({ status })}
        />
        <FilterSelect
          label="Kind"
          value={filters.kind}
          options={[
            ["", "Every kind"],
            ...kinds.map((each) => [each, texts.outcomeKindWords[each]] as const),
          ]}
          onChange={(kind) => change({ kind })}
        />
        <OwnerFilter value={filters.owner} change={change} />
      </FilterFields>
    </div>
  );
}

/** It has an option for every agent, so it is not rendered again with each letter in the find field. */
const OwnerFilter = memo(function OwnerFilter({
  value,
  change,
}: {
  value: string | undefined;
  change: (part: Filters) => void;
}): ReactNode {
  const { company } = useHere();
  const roster = useAll(ops.listRoster, "agents", { companyId: company.id });
  return (
    <FilterSelect
      label="Owner"
      value={value}
      options={[
        ["", "Every owner"],
        ...roster.map(({ id, name, role }) => [id, `${name}, ${role}`] as const),
      ]}
      onChange={(owner) => change({ owner })}
    />
  );
});

/** The kinds of outcomes that exist before a company gets any work. */
const beforeWork: ReadonlySet<string> = new Set(["perpetual", "mandate"]);

/** The filters, empty where they do not filter. */
type Searched = Readonly<Record<"q" | "owner" | "status" | "kind", string>>;

const Forest = memo(function Forest({
  isMap,
  q,
  owner,
  status,
  kind,
}: Searched & { isMap: boolean }): ReactNode {
  const { company } = useHere();
  const View = isMap ? OutcomeMap : OutcomeTree;
  const isLive = status === "" || status === "open" || status === "submitted";
  const graph = useRead(
    ops.viewGraph,
    { companyId: company.id, live: isLive, limit: 20_000 },
    { keep: true },
  );
  const root = useRead(ops.viewAgent, { id: company.rootAgentId }).data?.name ?? "the root agent";
  const words = q.trim().toLowerCase();
  const matches = useCallback(
    (node: { title: string; status: string; kind: string; responsible: { id: string } | null }) =>
      (words === "" || node.title.toLowerCase().includes(words)) &&
      (owner === "" || node.responsible?.id === owner) &&
      (status === "" || status === "all" || node.status === status) &&
      (kind === "" || node.kind === kind),
    [words, owner, status, kind],
  );
  return (
    <Loaded of={graph} height={34} rows={14}>
      {(data) =>
        data.outcomes.length === 0 ? (
          <NoMatch />
        ) : (
          <>
            {data.outcomes.every(({ kind: each }) => beforeWork.has(each)) && (
              <p className="first-outcome">
                {texts.noOutcomes}{" "}
                <Link className="linked" to="/">
                  {texts.noOutcomesHint(root)}
                </Link>
              </p>
            )}
            {data.truncated && <p className="first-outcome">{texts.graphIsCut}</p>}
            <View graph={data} matches={matches} />
          </>
        )
      }
    </Loaded>
  );
});

const OutcomeTable = memo(function OutcomeTable({ q, owner, status: wanted, kind }: Searched): ReactNode {
  const { company } = useHere();
  const status = statuses.find((each) => each === wanted) ?? "live";
  const list = useList(ops.listOutcomes, "outcomes", {
    companyId: company.id,
    ...(status === "live" ? { live: true } : status !== "all" && { status }),
    ...(q.trim() !== "" && { text: q.trim() }),
    ...(owner !== "" && { owner }),
    kind: kinds.find((each) => each === kind),
  });
  const ref = useRowKeys("a.row-link");
  const choosing = useBeside("outcome");
  return (
    <WithPanel of={choosing} back={`a.row-link[href*="${choosing.chosen?.id ?? ""}"]`}>
      <div className="work" ref={ref}>
        <LoadedList of={list} height={34} rows={14}>
          {({ outcomes, totals }) =>
            outcomes.length === 0 ? (
              <NoMatch view="table" />
            ) : (
              <>
                <div className="grid-head outcome-columns" aria-hidden="true">
                  <span>
                    {[
                      counted(totals.open, "open outcome"),
                      ...(totals.blocked > 0 ? [`${totals.blocked} blocked`] : []),
                      ...(totals.submitted > 0 ? [`${totals.submitted} waiting for verification`] : []),
                    ].join(", ")}
                  </span>
                  <span>Owner</span>
                  <span className="r">Age</span>
                  <span>{texts.whyNotMoving}</span>
                  <span>Kind</span>
                  <span className="r">Changed</span>
                </div>
                {inParts(outcomes, mostReasons).map((part) => (
                  <TableRows key={part[0]?.id} of={part} choosing={choosing} />
                ))}
              </>
            )
          }
        </LoadedList>
      </div>
    </WithPanel>
  );
});

function TableRows({
  of: outcomes,
  choosing,
}: {
  of: Readonly<Answer<typeof ops.listOutcomes>["outcomes"]>;
  choosing: Choosing<"outcome">;
}): ReactNode {
  const reasons = useReasons(outcomes);
  return outcomes.map((one) => {
    const reason = reasons.get(one.id);
    const isBlocked = one.blocked !== null;
    const { mark, label } = standingOf(one.status, reason?.state, isBlocked);
    return (
      <div
        key={one.id}
        data-about={`outcome ${one.id}`}
        className={`grid-row outcome-columns ${one.id === choosing.chosen?.id ? "sel" : ""}`}
        onClick={(event) => choosing.click({ kind: "outcome", id: one.id }, event)}
      >
        <span className="what">
          <StatusMark mark={mark} label={label} />
          <Link
            to={`/outcomes/${one.id}`}
            className="t cut row-link"
            onClick={(event) => choosing.click({ kind: "outcome", id: one.id }, event)}
          >
            <Line text={one.title} />
          </Link>
        </span>
        <span className="second cut">
          {one.responsible === null ? unowned : <AgentName of={one.responsible} isLink={false} />}
        </span>
        <span className="second r age">
          <Age since={one.createdAt} />
        </span>
        <span className="second reason cut">
          {reason !== undefined && isHeld(reason.state, isBlocked) && (
            <WhyLine of={reason} title={one.title} />
          )}
        </span>
        <span className="second cut">{texts.outcomeKindWords[one.kind]}</span>
        <span className="second r">
          <Age since={one.updatedAt} />
        </span>
      </div>
    );
  });
}
