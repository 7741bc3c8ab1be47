import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useCallback, useDeferredValue, useMemo, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useRead } from "../../data/reading.ts";
import { useBeside, WithPanel } from "../../ui/beside.tsx";
import { Button, Choice } from "../../ui/buttons.tsx";
import { FindField } from "../../ui/filter-fields.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Page } from "../../ui/page.tsx";
import { focusedAgent, isEmployed, usePausing } from "../../ui/pausing.tsx";
import { useStable } from "../../ui/stable.ts";
import { Empty, Loaded, Refusal } from "../../ui/states.tsx";
import { useVerbs } from "../../ui/verbs.ts";
import { OrgMap } from "./map.tsx";
import { Outline } from "./outline.tsx";
import { AppliedBar, PlanSheet } from "./plan-sheet.tsx";
import {
  isFound,
  managersOf,
  type Position,
  stateOfAgent,
  type Standing,
  standings,
  treeOf,
} from "./position.ts";
import { ReorganizeDialog } from "./reorganize-dialog.tsx";
import { placesOf, useReorganizing } from "./reorganizing.ts";
import * as texts from "./texts.ts";
import "./organization.css";
import "../../ui/agent-panel.css";
import "../../ui/work.css";

/** With more agents than this, the outline is shown first. */
const mostOnMap = 60;

const none: readonly Position[] = [];

/** Everything that the page shows is in the address. `at` is reserved for points in the past. */
interface Shown {
  readonly view?: string | undefined;
  readonly state?: string | undefined;
  /** Words in the names and roles of agents. */
  readonly q?: string | undefined;
  readonly at?: string | undefined;
  /** Slugs of agents whose reports are hidden in the outline. */
  readonly folded?: string | undefined;
}

/** Shows who reports to which manager, and what each agent does. */
export function Organization(): ReactNode {
  const { company, me, cantDecide } = useHere();
  const navigate = useNavigate();
  const search: Shown = useSearch({ strict: false });
  const org = useRead(ops.viewOrg, { companyId: company.id });
  const people = useRead(ops.listPeople, me?.role === "board" ? {} : null).data?.people ?? [];
  const [asked, setAsked] = useState<string | null>(null);
  const brains =
    useRead(ops.listBrains, asked === null ? null : { companyId: company.id }).data?.brains ?? [];
  const reorganizing = useReorganizing(company.id);
  const pausing = usePausing();
  const show = (part: Partial<Shown>): void =>
    void navigate({ to: "/org", search: (now: object) => ({ ...now, ...part }), replace: true });
  const beside = useBeside("agent");
  const shown = beside.chosen?.id;
  const agents = org.data?.agents ?? none;
  const places = useMemo(() => placesOf(reorganizing.plan, agents), [reorganizing.plan, agents]);
  const isNarrow = matchMedia("(max-width: 760px)").matches;
  const first = agents.length > mostOnMap || isNarrow ? "outline" : "map";
  const view = search.view === "map" || search.view === "outline" ? search.view : first;
  const canMove = cantDecide === undefined;
  const ask = (): false | void => {
    const focused = focusedAgent();
    const id = agents.find((agent) => agent.id === focused)?.id ?? shown;
    if (id === undefined || !canMove) return false;
    setAsked(id);
  };
  useKeys({
    "Shift+M": ask,
    ".": ask,
    p: () => {
      const focused = focusedAgent();
      const agent = agents.find(({ id }) => id === focused);
      return agent === undefined || !isEmployed(agent) || !canMove ? false : pausing.toggle(agent);
    },
  });
  const chosen = agents.find(({ id }) => id === shown);
  useVerbs(
    chosen === undefined
      ? []
      : [
          {
            text: `Move or reorganize ${chosen.name}`,
            hotkey: "Shift M",
            because: cantDecide,
            run: () => setAsked(chosen.id),
          },
        ],
  );
  const board = people.filter(({ role }) => role === "board").map(({ name }) => name);
  const folded = useMemo(() => {
    const slugs = new Set(search.folded?.split(","));
    return new Set(agents.filter(({ slug }) => slugs.has(slug)).map(({ id }) => id));
  }, [search.folded, agents]);
  const words = (search.q ?? "").trim().toLowerCase();
  // The filters answer at once. A thousand agents are dimmed as soon as no key waits.
  const sought = useDeferredValue(words);
  const state = useDeferredValue(search.state);
  const isDim = useCallback(
    (agent: Position): boolean =>
      (state !== undefined && stateOfAgent(agent) !== state) || !isFound(agent, sought),
    [state, sought],
  );
  /** Chooses the next match of the typed words, and unfolds the rows that hide it. */
  const findNext = (typed: string): void => {
    const words = typed.trim().toLowerCase();
    const found = words === "" ? [] : treeOf(agents, new Set()).filter(({ agent }) => isFound(agent, words));
    const at = found.findIndex(({ agent }) => agent.id === shown);
    const next = found[(at + 1) % found.length]?.agent;
    if (next === undefined) return;
    const above = new Set(managersOf(agents, next));
    const still = agents.filter(({ id }) => folded.has(id) && !above.has(id)).map(({ slug }) => slug);
    void navigate({
      to: "/org",
      search: (now: object) => ({ ...now, agent: next.id, folded: still.join(",") || undefined }),
      replace: true,
    });
  };
  const menu = useCallback((id: string): void => setAsked(id), []);
  const open = useStable((id: string): void => void navigate({ to: `/agents/${id}` }));
  // A narrow screen has no room for the panel, so a tap opens the page.
  const select = useStable((id: string): void =>
    isNarrow ? open(id) : beside.choose({ kind: "agent", id }),
  );
  const move = useStable((agent: string, to: string): void =>
    reorganizing.propose({ kind: "move_report", agent, to }),
  );
  const fold = useStable((next: ReadonlySet<string>): void =>
    show({
      folded:
        agents
          .filter(({ id }) => next.has(id))
          .map(({ slug }) => slug)
          .join(",") || undefined,
    }),
  );
  const shared = {
    agents,
    selected: shown,
    isDim,
    onSelect: select,
    onOpen: open,
    onMenu: canMove ? menu : undefined,
    people: board.length === 0 ? texts.whoGoverns : board.join(", "),
  };
  return (
    <Page
      title="Organization"
      heading
      actions={
        <>
          <Link to="/reorganizations" className="b ghost">
            <Icon name="undo" />
            <span className="hide-s">Reorganizations</span>
            <span className="vh only-s">Reorganizations</span>
          </Link>
          <Link to="/hire" className="b solid" title="Key: H">
            <Icon name="hire" />
            Hire
          </Link>
        </>
      }
    >
      <Loaded of={org} rows={16} height={33}>
        {({ stopped }) => (
          <WithPanel
            of={beside}
            more={
              canMove && (
                <Button
                  look="ghost"
                  icon="more"
                  aria-label="Reorganize"
                  title={texts.menuHint}
                  onClick={() => setAsked(beside.chosen?.id ?? null)}
                />
              )
            }
          >
            <div className="mapwrap">
              <div className="tools">
                <Choice
                  label="View"
                  value={view}
                  options={[
                    { value: "outline", text: "Outline", icon: "outline" },
                    { value: "map", text: "Map", icon: "map" },
                  ]}
                  onChange={(next) => show({ view: next })}
                />
                <Filters
                  agents={agents}
                  chosen={search.state}
                  onChoose={(state) => show({ state: search.state === state ? undefined : state })}
                />
                <FindField
                  className="find-agent"
                  label={texts.findAgent}
                  title={texts.findHint}
                  value={search.q ?? ""}
                  onChange={(q) => show({ q: q === "" ? undefined : q })}
                  onKeyDown={(event) => {
                    if (event.key === "Enter") findNext(event.currentTarget.value);
                    if (event.key !== "Escape") return;
                    // Escape leaves the field. The next Escape closes the panel.
                    event.preventDefault();
                    event.currentTarget.blur();
                  }}
                />
              </div>
              <Refusal of={pausing.refused} />
              {stopped !== null && <p className="lost">{stopped}</p>}
              {search.at !== undefined && <p className="lost">{texts.readOnlyPast}</p>}
              <AppliedBar of={reorganizing} />
              {agents.length === 1 && (
                <div className="alone">
                  <Empty title={texts.worksAlone(agents[0]?.name ?? "")}>
                    <div className="buttons">
                      <Link className="b solid" to="/">
                        {texts.giveGoal(agents[0]?.name ?? "")}
                      </Link>
                      <Link className="b" to="/hire">
                        {texts.hireLabel}
                      </Link>
                    </div>
                  </Empty>
                </div>
              )}
              {view === "map" ? (
                <OrgMap {...shared} plan={places} canMove={canMove} onMove={move} />
              ) : (
                <Outline {...shared} folded={folded} onFold={fold} />
              )}
              <PlanSheet of={reorganizing} agents={agents} />
            </div>
          </WithPanel>
        )}
      </Loaded>
      {pausing.dialog}
      <ReorganizeDialog
        key={asked}
        agent={agents.find(({ id }) => id === asked) ?? null}
        agents={agents}
        brains={brains.map(({ type }) => type)}
        onPropose={reorganizing.propose}
        onClose={() => setAsked(null)}
      />
    </Page>
  );
}

function Filters({
  agents,
  chosen,
  onChoose,
}: {
  agents: readonly Position[];
  chosen: string | undefined;
  onChoose: (state: Standing) => void;
}): ReactNode {
  const counts = useMemo(() => {
    const all = new Map<Standing, number>();
    for (const agent of agents) all.set(stateOfAgent(agent), (all.get(stateOfAgent(agent)) ?? 0) + 1);
    return all;
  }, [agents]);
  return (
    <div className="filters" role="group" aria-label="States">
      {standings.map((state) => {
        const count = counts.get(state) ?? 0;
        return (
          count > 0 && (
            <button
              key={state}
              type="button"
              className={`chip ${state}`}
              aria-pressed={chosen === state}
              onClick={() => onChoose(state)}
            >
              <b>{count}</b> {texts.stateWords[state]}
            </button>
          )
        );
      })}
    </div>
  );
}
