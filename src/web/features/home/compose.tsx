import { Link } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useRef } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import { useRead } from "../../data/reading.ts";
import { Button } from "../../ui/buttons.tsx";
import { useDraft } from "../../ui/draft.ts";
import { GrowingText } from "../../ui/growing-text.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Refusal } from "../../ui/states.tsx";
import { Tile } from "../../ui/tile.tsx";
import { toast } from "../../ui/toast.tsx";
import { Line } from "../../ui/words.tsx";
import * as texts from "./texts.ts";

/** A form that sets a goal for the root agent. */
export function Compose({ isFirst }: { isFirst: boolean }): ReactNode {
  const { company, cantDecide } = useHere();
  const root = useRead(ops.viewAgent, { id: company.rootAgentId }).data;
  const [text, setText] = useDraft(`goal.${company.id}`);
  const give = useDo(ops.createGoal);
  const input = useRef<HTMLTextAreaElement>(null);
  useKeys({ m: () => input.current?.focus() });
  const name = root?.name ?? "";
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const goal = text.trim();
    if (goal === "" || cantDecide !== undefined) return;
    const made = await give.run({ companyId: company.id, ...goalOf(goal) });
    if (made === undefined) return;
    setText("");
    toast(texts.goalGiven(name));
  };
  return (
    <form className="compose" onSubmit={(event) => void submit(event)}>
      {isFirst && (
        <div className="first-goals">
          {root?.adapterType === "rehearsal" && (
            <p>
              {texts.rehearses}{" "}
              <Link className="linked" to={`/agents/${company.rootAgentId}/setup`}>
                {texts.connectModel}
              </Link>
            </p>
          )}
          <p>{texts.firstRun(name)}</p>
          {texts.firstGoals.map((goal) => (
            <button key={goal} type="button" className="chip" onClick={() => setText(goal)}>
              {goal}
            </button>
          ))}
        </div>
      )}
      <Refusal of={give.refused} />
      <div className="box">
        <span className="to">
          <Tile id={company.rootAgentId} name={name} size="xs" />
          <Line text={name} />
        </span>
        <GrowingText
          ref={input}
          aria-label={`A goal for ${name}`}
          title="Key: M"
          placeholder={texts.sayWhat}
          value={text}
          onChange={setText}
        />
        <span className="end">
          <Button
            look="solid"
            icon="send"
            type="submit"
            aria-label="Send"
            because={cantDecide}
            disabled={give.isBusy}
          />
        </span>
      </div>
    </form>
  );
}

const mostInTitle = 300;

/** A long text, or one of several lines, becomes the description. The beginning of its first line is the title. */
function goalOf(text: string): { title: string; description?: string } {
  const [first = ""] = text.split(/[\n\r\u2028\u2029]/);
  const line = first.replaceAll(/\s+/g, " ").trim();
  const title = line.length <= mostInTitle ? line : `${line.slice(0, mostInTitle - 1).toWellFormed()}…`;
  return title === text ? { title } : { title, description: text };
}
