import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";
import { ops } from "virtual:operations";
import { removedSentences } from "../../../contract/phrases.ts";
import { useHere } from "../../data/company.ts";
import { useRead } from "../../data/reading.ts";
import { Box, Lines } from "../../ui/box.tsx";
import { useCut } from "../../ui/cut.tsx";
import { counted, money } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Markdown } from "../../ui/markdown.tsx";
import type { OneOutcome } from "../../ui/one-outcome.ts";
import { OutcomeActions } from "../../ui/outcome-actions.tsx";
import { Page } from "../../ui/page.tsx";
import { inParts, isHeld, mostReasons, useReasons } from "../../ui/reasons.ts";
import { DoneIn } from "../../ui/session-link.tsx";
import { Loaded } from "../../ui/states.tsx";
import { standingOf, unowned } from "../../ui/standing.ts";
import { StatusMark } from "../../ui/status.tsx";
import { fullTime, When } from "../../ui/time.tsx";
import { WhyBox } from "../../ui/why-box.tsx";
import { WhyLine } from "../../ui/why.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { BudgetCell } from "../../ui/budget-cell.tsx";
import type { Measure } from "../../../contract/budgets.ts";
import * as budgets from "../../ui/budget-texts.ts";
import { Line, Name, Said } from "../../ui/words.tsx";
import { historyWords } from "./history-words.ts";
import * as texts from "./texts.ts";
import "../../ui/work.css";
import "./outcomes.css";

/** One outcome: its state and the reason, what it serves, how it is verified, and what was done for it. */
export function OutcomePage(): ReactNode {
  const { id = "" }: { id?: string } = useParams({ strict: false });
  const navigate = useNavigate();
  const outcome = useRead(ops.viewOutcome, { id });
  useKeys({ Escape: () => void navigate({ to: "/outcomes" }) });
  return (
    <Page title={outcome.data?.title ?? "Outcome"} crumbs={[{ text: "Outcomes", to: "/outcomes" }]} quoted>
      <Loaded of={outcome}>{(data) => <Whole outcome={data} />}</Loaded>
    </Page>
  );
}

function Whole({ outcome }: { outcome: OneOutcome }): ReactNode {
  const isLive = outcome.status === "open" || outcome.status === "submitted";
  const why = useRead(ops.why, isLive ? { id: outcome.id } : null).data;
  const { mark, label } = standingOf(outcome.status, why?.state, outcome.blocked !== null);
  return (
    <div className="work">
      <div className="work-inner">
        <header className="sentence">
          <h1>
            <Line text={outcome.title} />
          </h1>
          <div className="sub">
            <StatusMark mark={mark} />
            <span>{label}</span>
            <span>{texts.outcomeKindWords[outcome.kind]}</span>
            {outcome.responsible === null ? <span>{unowned}</span> : <AgentName of={outcome.responsible} />}
            {outcome.delegatedBy && (
              <span>
                delegated by{" "}
                <Name of={{ kind: "agent", id: outcome.delegatedBy.id, title: outcome.delegatedBy.name }} />
              </span>
            )}
            {outcome.important && <span className="tag call">important</span>}
            {outcome.urgent && <span className="tag hold">urgent</span>}
            <span>
              created <When at={outcome.createdAt} said />
            </span>
          </div>
        </header>
        <OutcomeActions outcome={outcome} />
        {why !== undefined && <WhyBox why={why} />}
        <Chains id={outcome.id} />
        {outcome.description !== "" && (
          <Box title="Description">
            <div className="pad">
              <Markdown text={outcome.description} />
            </div>
          </Box>
        )}
        <Box title="How it is verified">
          {outcome.acceptance === null ? (
            <p className="none">There are no criteria.</p>
          ) : (
            <blockquote className="pad said-text">
              <Said text={outcome.acceptance} most={4000} />
            </blockquote>
          )}
        </Box>
        <GoalBudget outcome={outcome} />
        <Neighbours title="Below it" none="Nothing is below it yet." list={outcome.children} />
        {outcome.dependsOn.length > 0 && <Neighbours title="Waits for" none="" list={outcome.dependsOn} />}
        <Result outcome={outcome} />
        <Record outcome={outcome} />
      </div>
    </div>
  );
}

/** The chain of purposes: from the company's purpose down to this outcome. */
function Chains({ id }: { id: string }): ReactNode {
  const data = useRead(ops.viewAncestors, { id }).data;
  const chains = useCut(data?.chains ?? [], 5);
  if (data === undefined || data.chains.every((chain) => chain.length === 0)) return null;
  const known = new Map(data.ancestors.map((one) => [one.id, one]));
  return (
    <Box title="What it serves">
      {chains.first.map((chain) => (
        <div key={chain.join()} className="chains">
          {chain.toReversed().map((parent, at) => (
            <Fragment key={parent}>
              {at > 0 && <Icon name="right" />}
              <Name of={{ kind: "outcome", id: parent, title: known.get(parent)?.title ?? null }} />
            </Fragment>
          ))}
        </div>
      ))}
      {chains.more !== null && <div className="chains">{chains.more}</div>}
      {data.truncated && chains.more === null && <p className="quiet">{texts.moreChains}</p>}
    </Box>
  );
}

/** What all work on a goal may use over all months, and what is left. Only the board gives a budget, and only to goals. */
function GoalBudget({ outcome }: { outcome: OneOutcome }): ReactNode {
  const { company } = useHere();
  const { id, title, status, kind, delegated, delegatedBy, budget } = outcome;
  const cost = useRead(ops.viewTimeline, { id }).data?.cost ?? null;
  const isGoal = kind === "work" && delegated && delegatedBy === null;
  const limits: { readonly [of in Measure]?: number | undefined } = budget ?? {};
  if (!isGoal || (status !== "open" && status !== "submitted" && budget === null)) return null;
  const most = company.settings.maxOutcomeUsd;
  const used = cost && { ...cost, tokens: cost.inputTokens + cost.outputTokens };
  return (
    <Box title="Budget" label="Budget">
      <ul className="lines">
        {goalMeasures.map((measure) => {
          const limit = limits[measure] ?? null;
          if (limit === null && measure !== "usd") return null;
          const spent = used?.[measure];
          const left = limit === null || spent === undefined ? null : Math.max(0, limit - spent);
          return (
            <li key={measure}>
              <span>{budgets.measureWords[measure]}</span>
              <span className="end">
                {spent !== undefined && <span>{budgets.spent(budgets.measured(measure, spent))}</span>}
                {left !== null && <span>{budgets.left(budgets.measured(measure, left))}</span>}
                <BudgetCell
                  kind="goal"
                  id={id}
                  name={title}
                  measure={measure}
                  limit={limit}
                  left={null}
                  {...(measure === "usd" &&
                    most !== null && { unlimited: budgets.outcomeLimit(money(most)) })}
                />
              </span>
            </li>
          );
        })}
      </ul>
    </Box>
  );
}

const goalMeasures: readonly Measure[] = ["usd", "tokens", "sessions"];

function Neighbours({
  title,
  none,
  list,
}: {
  title: string;
  none: string;
  list: OneOutcome["children"];
}): ReactNode {
  return (
    <Box title={title} end={list.length > 0 && list.length}>
      <Lines of={inParts(list, mostReasons)} none={none}>
        {(part) => <NeighbourRows key={part[0]?.id} of={part} />}
      </Lines>
    </Box>
  );
}

function NeighbourRows({ of: list }: { of: Readonly<OneOutcome["children"]> }): ReactNode {
  const reasons = useReasons(list);
  return list.map(({ id, title, status }) => {
    const reason = reasons.get(id);
    const { mark, label } = standingOf(status ?? "open", reason?.state);
    return (
      <li key={id}>
        <StatusMark mark={mark} label={label} />
        <Name of={{ kind: "outcome", id, title }} />
        {reason !== undefined && isHeld(reason.state, false) && (
          <span className="second">
            <WhyLine of={reason} title={title ?? ""} />
          </span>
        )}
      </li>
    );
  });
}

function Result({ outcome }: { outcome: OneOutcome }): ReactNode {
  const { company } = useHere();
  const hasFiles = outcome.deliverables.length > 0;
  const repos = useRead(ops.listRepos, hasFiles ? { companyId: company.id } : null).data?.repos ?? [];
  const branches = new Map(
    repos.flatMap(({ name, published }) =>
      published.map(({ file: of, branch }) => [of, { repo: name, branch }] as const),
    ),
  );
  const file = useRead(ops.readFile, outcome.result === null ? null : { id: outcome.result });
  if (outcome.result === null && !hasFiles) return null;
  return (
    <section className="box">
      <header>
        <h2>Result</h2>
        {outcome.result !== null && (
          <Link className="end linked" to={`/knowledge/${outcome.result}`}>
            Open the file
          </Link>
        )}
      </header>
      {file.data !== undefined && (
        <div className="pad">
          <Markdown text={file.data.content} />
        </div>
      )}
      {file.refused !== undefined && <p className="none">{file.refused.message}</p>}
      {hasFiles && (
        <ul className="lines">
          {outcome.deliverables.map(({ id, description, version, accepted, by }) => (
            <li key={`${id} ${version}`}>
              <Icon name="file" />
              <Name of={{ kind: "file", id, title: description }} />
              <span className="end">
                {branches.has(id) && (
                  <Link className="linked" to="/settings/repos" search={branches.get(id) ?? {}}>
                    the changes
                  </Link>
                )}
                version {version}
                {by !== null && (
                  <>
                    {" by "}
                    <Line text={by.name} />
                  </>
                )}
                {accepted && <span className="tag run">accepted</span>}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Record({ outcome }: { outcome: OneOutcome }): ReactNode {
  const timeline = useRead(ops.viewTimeline, { id: outcome.id }).data;
  const cost = timeline?.cost ?? null;
  return (
    <Box title="History" end={cost !== null && `${counted(cost.sessions, "session")}, ${money(cost.usd)}`}>
      <ul className="lines">
        {outcome.history.map(({ at, action, by, who, why, changes }, index) => {
          const { says, quote = why } = historyWords(action, changes, fullTime);
          return (
            <li key={`${at} ${index}`}>
              <span>
                <b>
                  <Line text={who} />
                </b>{" "}
                <Line text={says} />
                {quote !== null && (
                  <>
                    : <Said text={quote} />
                  </>
                )}
              </span>
              <span className="end">
                <DoneIn session={by.sessionId} at={at} />
              </span>
            </li>
          );
        })}
      </ul>
      {removedSentences(timeline?.removed ?? []).map((says) => (
        <p key={says} className="quiet">
          {says}
        </p>
      ))}
    </Box>
  );
}
