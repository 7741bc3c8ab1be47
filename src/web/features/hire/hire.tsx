import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { ops } from "virtual:operations";
import { mostInName } from "../../../contract/visible-text.ts";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import type { Answer } from "../../data/operations.ts";
import { useAll, useRead } from "../../data/reading.ts";
import { AgentOptions } from "../../ui/agent-options.tsx";
import { Box } from "../../ui/box.tsx";
import { BrainForm, efforts } from "../../ui/brain-form.tsx";
import { Button } from "../../ui/buttons.tsx";
import { money } from "../../ui/figures.tsx";
import { Page } from "../../ui/page.tsx";
import { Refusal } from "../../ui/states.tsx";
import { Name } from "../../ui/words.tsx";
import { typedNumber } from "../../ui/typed-number.ts";
import { CopyFrom } from "./copy-from.tsx";
import { type HireDraft, useHireDraft } from "./hire-draft.ts";
import { fieldOf, type HireField, partOf, type HirePart } from "./refused-part.ts";
import { Rights } from "./rights.tsx";
import { HireSummary } from "./summary.tsx";
import * as texts from "./texts.ts";
import "../../ui/work.css";
import "./hire.css";

type Hired = Answer<typeof ops.hireAgent>;

/** Asks once for everything about the new agent: name, purpose, brain, rights, budget. */
export function HirePage(): ReactNode {
  const { company, cantDecide: because } = useHere();
  const { boss: asked }: { boss?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const [draft, change, forget] = useHireDraft(company.id);
  const [hired, setHired] = useState<Hired>();
  const hire = useDo(ops.hireAgent);
  const roster = useAll(ops.listRoster, "agents", { companyId: company.id });
  const bossId = roster.find(({ id }) => id === asked)?.id ?? company.rootAgentId;
  const boss = useRead(ops.viewAgent, { id: bossId }).data;
  const type = draft.adapterType === "" ? company.settings.defaultAdapterType : draft.adapterType;
  const bossName = boss?.name ?? "its manager";
  const submit = async (): Promise<void> => {
    if (because !== undefined) return;
    const output = await hire.run({ companyId: company.id, reportsTo: bossId, ...asHire(draft) });
    if (output === undefined) return;
    forget();
    setHired(output);
  };
  const refusedPart = partOf(hire.refused);
  const field = fieldOf(hire.refused);
  const page = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (hire.refused === undefined) return;
    page.current?.querySelector(".refusal")?.scrollIntoView({ block: "center" });
    page.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus({ preventScroll: true });
  }, [hire.refused]);
  /** A refusal by the server, shown at its cause: a field, or else the part of the form. */
  const refusal = (part: HirePart): ReactNode =>
    field === undefined && part === refusedPart ? <Refusal of={hire.refused} /> : null;
  const fieldRefusal = (name: HireField): ReactNode =>
    name === field ? <Refusal of={hire.refused} /> : null;
  const invalid = (name: HireField) => name === field && { "aria-invalid": true };
  const text = (
    name: keyof HireDraft & ("name" | "role" | "title"),
    label: string,
    hint?: string,
  ): ReactNode => (
    <div>
      <label className="field">
        <span>{label}</span>
        <input
          className="input"
          required={name === "name" || name === "role"}
          maxLength={mostInName}
          value={draft[name]}
          {...invalid(name)}
          onChange={({ target }) => change({ [name]: target.value })}
        />
        {hint !== undefined && <small>{hint}</small>}
      </label>
      {fieldRefusal(name)}
    </div>
  );
  const long = (name: "mandate" | "capabilities" | "prompt", label: string, hint: string): ReactNode => (
    <div>
      <label className="field">
        <span>{label}</span>
        <textarea
          className="input"
          rows={name === "prompt" ? 5 : 3}
          value={draft[name]}
          {...invalid(name)}
          onChange={({ target }) => change({ [name]: target.value })}
        />
        <small>{hint}</small>
      </label>
      {fieldRefusal(name)}
    </div>
  );
  if (hired !== undefined)
    return (
      <Page title="Hire" heading>
        <Result hired={hired} onAgain={() => setHired(undefined)} />
      </Page>
    );
  return (
    <Page title="Hire" heading>
      <div className="side-by-side hire-page" ref={page}>
        <div className="work">
          <form
            id="hire"
            className="work-inner form"
            aria-label="A new agent"
            onSubmit={(event) => {
              event.preventDefault();
              void submit();
            }}
          >
            <Box title="Who">
              <div className="pad form">
                <div className="two">
                  {text("name", "Name")}
                  {text("role", "Role", "Role, such as Release engineer.")}
                  {text("title", "Title", "Optional.")}
                  <label className="field">
                    <span>Reports to</span>
                    <select
                      className="input"
                      value={bossId}
                      onChange={({ target }) =>
                        void navigate({ to: "/hire", search: { boss: target.value }, replace: true })
                      }
                    >
                      <AgentOptions of={roster} />
                    </select>
                  </label>
                </div>
                {refusal("who")}
              </div>
            </Box>
            <Box title="What for">
              <div className="pad form">
                {long("mandate", "Mandate", "The agent's responsibility, and how to measure its success.")}
                {long("capabilities", "Capabilities", "Description of the agent's skills, for colleagues.")}
                {long("prompt", "Prompt", "How it should work.")}
                {refusal("purpose")}
              </div>
            </Box>
            <Box title="Brain" end={<CopyFrom agents={roster} draft={draft} onCopy={change} />}>
              <div className="pad form">
                <BrainForm value={{ ...draft, adapterType: type }} onChange={change} />
                {refusal("brain")}
              </div>
            </Box>
            <Rights
              boss={bossId}
              bossName={bossName}
              chosen={draft.grants}
              onChange={(grants) => change({ grants })}
            />
            {refusal("rights")}
            <Box title="Budget">
              <div className="pad form">
                <label className="field">
                  <span>US dollars a month</span>
                  <input
                    className="input"
                    inputMode="decimal"
                    value={draft.usd}
                    {...invalid("usd")}
                    onChange={({ target }) => change({ usd: target.value })}
                  />
                  <small>{budgetSays(boss, bossName, Number(draft.usd) || 0)}</small>
                </label>
                {fieldRefusal("usd")}
                {refusal("budget")}
              </div>
            </Box>
            {refusal("whole")}
          </form>
        </div>
        <aside aria-label="Summary">
          <HireSummary draft={draft} boss={boss} type={type} />
        </aside>
        <div className="hire-send">
          <p className="lab">
            {company.settings.requireBoardApprovalForNewAgents ? texts.boardDecides : texts.startsAtOnce}
          </p>
          <Button look="solid" big type="submit" form="hire" disabled={hire.isBusy} because={because}>
            Hire
          </Button>
          <Button look="ghost" onClick={forget}>
            Clear the form
          </Button>
        </div>
      </div>
    </Page>
  );
}

function budgetSays(boss: Answer<typeof ops.viewAgent> | undefined, name: string, given: number): string {
  const line = boss?.budget?.find(({ measure }) => measure === "usd");
  if (line?.left == null) return texts.noBudget(name);
  if (given <= 0) return texts.managerLeft(name, money(line.left));
  return given > line.left
    ? texts.tooMuch(name, money(line.left))
    : texts.keeps(name, money(line.left - given), money(line.left));
}

function asHire(draft: HireDraft) {
  const { name, role, title, mandate, capabilities, prompt, adapterType, adapterConfig, model, usd } = draft;
  const effort = efforts.find((each) => each === draft.effort);
  const budgetUsd = typedNumber(usd);
  const grants = Object.entries(draft.grants).map(([resource, level]) => ({
    resource,
    level: levels.find((each) => each === level),
  }));
  return {
    name,
    role,
    ...(title !== "" && { title }),
    ...(mandate !== "" && { mandate }),
    ...(capabilities !== "" && { capabilities }),
    ...(prompt !== "" && { prompt }),
    ...(adapterType !== "" && { adapterType }),
    ...(Object.keys(adapterConfig).length > 0 && { adapterConfig: { ...adapterConfig } }),
    ...(model !== "" && { model }),
    ...(effort !== undefined && { effort }),
    ...(budgetUsd !== null && { budget: { usd: budgetUsd } }),
    ...(grants.length > 0 && { grants }),
  };
}

const levels = ["none", "read", "write", "send", "use", "push"] as const;

function Result({ hired, onAgain }: { hired: Hired; onAgain: () => void }): ReactNode {
  const { agent, approval } = hired;
  return (
    <div className="work">
      <div className="work-inner">
        <header className="sentence" role="status">
          <h1>{approval === null ? <bdi>{texts.readyTitle(agent.name)}</bdi> : texts.pendingTitle}</h1>
          <p className="sub">
            <bdi>
              {approval === null
                ? texts.readySays(agent.name, agent.boss?.name ?? "the board")
                : texts.pendingSays(agent.name)}
            </bdi>
          </p>
        </header>
        <div className="buttons">
          {approval !== null && (
            <Link to={`/approvals/${approval.id}`} className="b solid">
              Open the request
            </Link>
          )}
          <span className="b">
            <Name
              of={{ kind: "agent", id: agent.id, title: agent.name }}
              tile={approval ? "pending" : "agent"}
            />
          </span>
          <Button look="ghost" onClick={onAgain}>
            Hire another
          </Button>
        </div>
      </div>
    </div>
  );
}
