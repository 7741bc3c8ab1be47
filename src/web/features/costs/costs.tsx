import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import type { Answer } from "../../data/operations.ts";
import { useRead } from "../../data/reading.ts";
import { Choice } from "../../ui/buttons.tsx";
import { counted, money, roundMoney, tokens } from "../../ui/figures.tsx";
import { LoadedList, useList } from "../../ui/more-rows.tsx";
import { useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { Empty } from "../../ui/states.tsx";
import { useNow } from "../../ui/time.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { BudgetCell } from "../../ui/budget-cell.tsx";
import { measured, outcomeLimit } from "../../ui/budget-texts.ts";
import { Name } from "../../ui/words.tsx";
import { DayChart } from "./day-chart.tsx";
import { daysIn } from "./series.ts";
import * as texts from "./texts.ts";
import "../../ui/work.css";
import "./costs.css";

type Costs = Answer<typeof ops.listCosts>;
const monthWords = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
const wordsOf = (month: string): string => monthWords.format(new Date(`${month}-01T00:00:00Z`));

/** Shows where the money goes, and whether it will last. */
export function CostsPage(): ReactNode {
  const { company } = useHere();
  const navigate = useNavigate();
  const search: { month?: string; by?: string; of?: string } = useSearch({ strict: false });
  const by = search.by === "outcome" ? "outcome" : "agent";
  const companyId = company.id;
  const costs = useList(ops.listCosts, "costs", {
    companyId,
    by,
    days: true,
    ...(search.month && { month: search.month }),
    ...(search.of && { agent: search.of }),
  });
  const present = new Date(useNow(60));
  const budgets = useRead(ops.listBudgets, { companyId }).data?.budgets ?? [];
  const change = (part: { month?: string; by?: string; of?: string }): void =>
    void navigate({ to: "/costs", search: { ...search, ...part }, replace: true });
  return (
    <Page title="Costs">
      <div className="toolbar">
        <select
          className="input"
          aria-label="Month"
          value={costs.data?.month ?? ""}
          onChange={({ target }) => change({ month: target.value })}
        >
          {[...new Set([costs.data?.month ?? "", ...(costs.data?.months ?? []).map(({ month }) => month)])]
            .filter((month) => month !== "")
            .map((month) => (
              <option key={month} value={month}>
                {wordsOf(month)}
              </option>
            ))}
        </select>
        <Choice
          label="By"
          value={by}
          options={[
            { value: "agent", text: "By agent" },
            { value: "outcome", text: "By outcome" },
          ]}
          onChange={(value) => change({ by: value === "agent" ? "" : value })}
        />
        {search.of !== undefined && search.of !== "" && (
          <button type="button" className="more" onClick={() => change({ of: "" })}>
            Show the whole company
          </button>
        )}
      </div>
      <div className="work">
        <div className="work-inner wide">
          <LoadedList of={costs}>
            {(data) => (
              <>
                <Month costs={data} />
                {data.total.costUsd === 0 ? (
                  <Empty title={texts.nothingSpent}>
                    <p>{texts.nothingSpentHint}</p>
                  </Empty>
                ) : (
                  <DayChart
                    days={data.days ?? []}
                    month={data.month}
                    today={
                      data.month === present.toISOString().slice(0, 7) ? present.getUTCDate() : undefined
                    }
                    limit={search.of ? null : limitOf(data)}
                  />
                )}
                <CostTable costs={data} budgets={budgets} isPart={Boolean(search.of)} />
              </>
            )}
          </LoadedList>
        </div>
      </div>
    </Page>
  );
}

const limitOf = (costs: Costs): number | null =>
  costs.budget.find(({ measure }) => measure === "usd")?.limit ?? null;

function Month({ costs }: { costs: Costs }): ReactNode {
  const present = new Date(useNow(60));
  const limit = limitOf(costs);
  const isNow = costs.month === present.toISOString().slice(0, 7);
  const length = daysIn(costs.month);
  const spent = costs.total.costUsd;
  const atEnd = (spent / Math.max(1, present.getUTCDate())) * length;
  return (
    <header className="sentence">
      <h1>{texts.spentOf(money(spent), limit === null ? null : roundMoney(limit), wordsOf(costs.month))}</h1>
      <p className="sub">
        <span>
          {counted(costs.total.sessions, "session")}, {tokens(costs.total.inputTokens)} tokens read,{" "}
          {tokens(costs.total.outputTokens)} written
        </span>
        {isNow && spent > 0 && <span>{texts.pace(roundMoney(atEnd))}</span>}
      </p>
    </header>
  );
}

/** +$1.20 or −$0.40. */
const changeOf = (usd: number): string =>
  Math.abs(usd) < 0.005 ? texts.sameAsBefore : `${usd > 0 ? "+" : "−"}${money(Math.abs(usd))}`;

const nothing = { costUsd: 0 } as const;

function CostTable({
  costs,
  budgets,
  isPart,
}: {
  costs: Costs;
  /** True for only the agents below one agent. */
  isPart: boolean;
  budgets: Answer<typeof ops.listBudgets>["budgets"];
}): ReactNode {
  const isAgents = costs.by === "agent";
  const lines = new Map(
    budgets.map(({ of, budget }) => [of.id, budget.find(({ measure }) => measure === "usd")]),
  );
  // An agent with a budget is listed before it has spent any of it.
  const spent = new Set(costs.costs.map(({ id }) => id));
  const unspent = budgets.flatMap(({ of }) =>
    isAgents &&
    !isPart &&
    costs.nextCursor === null &&
    of.kind === "agent" &&
    of.id !== null &&
    of.title !== null &&
    !spent.has(of.id)
      ? [{ id: of.id, name: of.title, own: nothing, total: nothing, lastMonthUsd: 0, budget: [] }]
      : [],
  );
  const rows = [...costs.costs, ...unspent];
  const ref = useRowKeys("th a.name");
  if (rows.length === 0) return null;
  return (
    <div ref={ref} className="box cost-table" tabIndex={0} role="region" aria-label="Costs">
      <table>
        <thead>
          <tr>
            <th scope="col">{isAgents ? "Agent" : "Outcome"}</th>
            <th scope="col" className="less">
              Own
            </th>
            <th scope="col">With all below</th>
            <th scope="col" className="less">
              {texts.againstLast}
            </th>
            <th scope="col">Budget</th>
            <th scope="col" className="less">
              Left
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ id, name, own, total, lastMonthUsd, budget = [] }) => {
            const line = lines.get(id);
            return (
              <tr key={id}>
                <th scope="row">
                  {isAgents ? (
                    <AgentName of={{ id, name }} />
                  ) : (
                    <Name of={{ kind: "outcome", id, title: name }} />
                  )}
                </th>
                <td className="less">{money(own.costUsd)}</td>
                <td>
                  {isAgents ? (
                    <Link to="/costs" search={{ of: id }} className="linked">
                      {money(total.costUsd)}
                    </Link>
                  ) : (
                    money(total.costUsd)
                  )}
                </td>
                <td className="less" title={texts.monthBefore(money(lastMonthUsd))}>
                  {changeOf(total.costUsd - lastMonthUsd)}
                </td>
                <td>
                  {isAgents ? (
                    <BudgetCell
                      kind="agent"
                      id={id}
                      name={name}
                      limit={line?.limit ?? null}
                      left={line?.left ?? null}
                    />
                  ) : (
                    budget.map((of) => <OutcomeBudget key={of.measure} id={id} name={name} of={of} />)
                  )}
                </td>
                <td className="less">
                  {isAgents
                    ? line?.left != null && roundMoney(line.left)
                    : budget.map(({ measure, left }) => <div key={measure}>{measured(measure, left)}</div>)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

type OutcomeLine = NonNullable<Costs["costs"][number]["budget"]>[number];

/** What an outcome may use over all months. Only goals have a budget of their own, which can be changed here. */
function OutcomeBudget({ id, name, of }: { id: string; name: string; of: OutcomeLine }): ReactNode {
  const { measure, limit, left, own } = of;
  return (
    <div>
      {own ? (
        <BudgetCell kind="goal" id={id} name={name} measure={measure} limit={limit} left={left} />
      ) : (
        <span title={outcomeLimit(measured(measure, limit))}>{measured(measure, limit)}</span>
      )}
    </div>
  );
}
