import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useDo } from "../data/doing.ts";
import type { Answer, PageOperation } from "../data/operations.ts";
import { useAll, useRead, useRows } from "../data/reading.ts";
import { Button } from "../ui/buttons.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { SelectField } from "../ui/select-field.tsx";
import { Loaded, Refusal } from "../ui/states.tsx";
import { StatusMark } from "../ui/status.tsx";
import { Why } from "../ui/why.tsx";
import { Line, Said } from "../ui/words.tsx";
import { accessLevels, ask, type Question, useQuestion } from "./questions.ts";
import * as texts from "./later-texts.ts";
import "../ui/agent-panel.css";

/** The answer to a question, over any page. */
export function Answers(): ReactNode {
  const question = useQuestion();
  const close = (): void => ask(null);
  return (
    <Dialog
      title={question?.kind === "access" ? texts.accessTitle : texts.whyTitle}
      isOpen={question !== null}
      onClose={close}
      wide
    >
      {question?.kind === "why" && <WhyAnswer id={question.id} />}
      {question?.kind === "access" && <Access of={question} />}
    </Dialog>
  );
}

const marks = { moving: "work", scheduled: "wait", waiting: "pending", stuck: "stop" } as const;

function WhyAnswer({ id }: { id: string }): ReactNode {
  const answer = useRead(ops.whyMany, { ids: [id] });
  return (
    <Loaded of={answer} rows={2}>
      {({ answers: [first] }) =>
        first === undefined ? (
          <p>{texts.whyNothing}</p>
        ) : (
          <div className="answer" onClick={(event) => closeAfterLink(event.target)}>
            <p className="said">
              <StatusMark mark={marks[first.state]} /> {texts.whyStates[first.state]}
            </p>
            <Why of={first} isWhole />
          </div>
        )
      }
    </Loaded>
  );
}

/** A link in an answer leads to another page, so the answer closes. */
function closeAfterLink(target: EventTarget): void {
  if (target instanceof Element && target.closest("a") !== null) ask(null);
}

function Access({ of }: { of: Extract<Question, { kind: "access" }> }): ReactNode {
  const { company } = useHere();
  const roster = useAll(ops.listRoster, "agents", { companyId: company.id });
  const [agent, setAgent] = useState(of.agent ?? "");
  const [resource, setResource] = useState(of.resource ?? "");
  const [level, setLevel] = useState(of.level);
  const who = agent === "" ? company.rootAgentId : agent;
  const held = useRows(ops.listAgentGrants, "grants", { id: who }, Infinity).data;
  const known = [
    ...new Set([
      ...(held?.grants ?? []).map((grant) => grant.resource),
      ...(held?.structural ?? []).map((right) => right.resource),
      "org:hire",
      "mail:board",
    ]),
  ];
  const answer = useRead(
    ops.explainAccess,
    resource === ""
      ? null
      : { companyId: company.id, agent: who, resource, ...(level !== undefined && { level }) },
    { keep: true },
  );
  return (
    <div className="answer form">
      <div className="two">
        <SelectField
          label="Agent"
          value={who}
          options={roster.map(({ id, name, role }) => ({ value: id, text: `${name}, ${role}` }))}
          onChange={setAgent}
        />
        <SelectField
          label="Right"
          value={level ?? ""}
          options={[
            { value: "", text: "the lowest" },
            ...accessLevels.map((each) => ({ value: each, text: each })),
          ]}
          onChange={(chosen) => setLevel(accessLevels.find((each) => each === chosen))}
        />
      </div>
      <label className="field">
        <span>On</span>
        <input
          className="input"
          list="known-resources"
          placeholder="kb:<file id>, mcp:<server>, org:hire…"
          value={resource}
          onChange={({ target }) => setResource(target.value.trim())}
        />
        <datalist id="known-resources">
          {known.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </label>
      {resource !== "" && (
        <Loaded of={answer} rows={2}>
          {({ allowed, because, chain, fix }) => (
            <div role="status" onClick={(event) => closeAfterLink(event.target)}>
              <p className="said">
                <StatusMark mark={allowed ? "done" : "stop"} label={allowed ? "allowed" : "not allowed"} />{" "}
                <Said text={because} most={1000} />
              </p>
              <ol className="why-path">
                {chain.map((link) => (
                  <li key={link.grant}>
                    <Line text={`${link.from} gave ${link.to} ${link.level}`} />
                    {link.broken !== null && (
                      <span className="broken">
                        {" "}
                        <Line text={link.broken} />
                      </span>
                    )}
                  </li>
                ))}
              </ol>
              {fix.length > 0 && <p className="lab">{texts.accessFixes}</p>}
              <ul className="why-path">
                {fix.map((each) => (
                  <li key={each.says}>
                    <Line text={each.says} /> <FixCall of={each} />
                  </li>
                ))}
              </ul>
            </div>
          )}
        </Loaded>
      )}
    </div>
  );
}

type Fix = Answer<typeof ops.explainAccess>["fix"][number];

/** The call that would change the answer. The board can make all of them, even those that a manager could make. */
function FixCall({ of: { operation: name, input } }: { of: Fix }): ReactNode {
  const known = Object.values(ops).find((each) => each.name === name);
  const text = texts.fixWords[name];
  const { me } = useHere();
  return known === undefined || text === undefined || me?.role !== "board" ? null : (
    <KnownFix text={text} known={known} input={input} />
  );
}

function KnownFix({
  text,
  known: { name, method, path, body },
  input,
}: {
  text: string;
  known: Pick<PageOperation, "name" | "method" | "path" | "body">;
  input: Fix["input"];
}): ReactNode {
  const { cantDecide } = useHere();
  const operation: PageOperation<Fix["input"], unknown> = { name, method, path, ...(body && { body }) };
  const doing = useDo(operation);
  return (
    <>
      <Button because={cantDecide} disabled={doing.isBusy} onClick={() => void doing.run(input)}>
        {text}
      </Button>
      <Refusal of={doing.refused} />
    </>
  );
}
