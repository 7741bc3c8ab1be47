import { type FormEvent, type ReactNode, useRef } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import { useAll } from "../../data/reading.ts";
import { Button } from "../../ui/buttons.tsx";
import { useDraft } from "../../ui/draft.ts";
import { Icon, type IconName } from "../../ui/icons.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Refusal } from "../../ui/states.tsx";
import { Tile } from "../../ui/tile.tsx";
import { When } from "../../ui/time.tsx";
import { Line, Said } from "../../ui/words.tsx";
import type { Request } from "../../ui/request.ts";
import { stepSubject, stepWords } from "../../ui/request-texts.ts";
import * as texts from "./texts.ts";

const icons: Readonly<Record<string, IconName>> = {
  created: "stamp",
  revised: "edit",
  approved: "check",
  rejected: "cross",
  cancelled: "undo",
  expired: "clock",
};

/** Everything that happened to the request and everything said about it, in one thread. */
export function Thread({ request }: { request: Request }): ReactNode {
  const { cantDecide, me } = useHere();
  const steps = useAll(ops.approvalTimeline, "timeline", { id: request.id });
  const [text, setText] = useDraft(`comment.${request.id}`);
  const comment = useDo(ops.commentOnApproval);
  const field = useRef<HTMLTextAreaElement>(null);
  useKeys({ c: () => field.current?.focus() });
  const submit = async (event?: FormEvent): Promise<void> => {
    event?.preventDefault();
    if (text.trim() === "") return;
    if ((await comment.run({ id: request.id, body: text })) !== undefined) setText("");
  };
  const canComment =
    request.abilities.some(({ name, yours }) => yours && name === "approval.comment") &&
    me?.role !== "viewer";
  return (
    <section className="block" aria-labelledby="conversation">
      <header>
        <h2 id="conversation">Conversation</h2>
        <span className="note">everything here stays on record</span>
      </header>
      <ol className="thread">
        {steps.map(({ kind, by, at, note, selfDecided }, index) => {
          const who = by.person ?? by.agent;
          return (
            <li key={`${at} ${index}`}>
              {note !== null && who !== undefined ? (
                <Tile id={who.id} name={who.name} kind={by.person ? "person" : "agent"} />
              ) : (
                <span className="dot">
                  <Icon name={icons[kind] ?? "pulse"} />
                </span>
              )}
              <div className="ev">
                <b>
                  <Line text={stepSubject(kind, who?.name)} />
                </b>{" "}
                {stepWords[kind]} <When at={at} />
                {selfDecided && <span className="tag hold">decided on their own request</span>}
                {note !== null && (
                  <div className="bubble">
                    <Said text={note} most={2000} />
                  </div>
                )}
              </div>
            </li>
          );
        })}
      </ol>
      {canComment && (
        <form className="reply" onSubmit={(event) => void submit(event)}>
          <textarea
            ref={field}
            className="input"
            rows={1}
            aria-label="Comment"
            placeholder={texts.commentPlaceholder}
            maxLength={20_000}
            value={text}
            onChange={({ target }) => setText(target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit();
            }}
          />
          <Button type="submit" disabled={comment.isBusy || text.trim() === ""} because={cantDecide}>
            Comment
          </Button>
          <Refusal of={comment.refused} />
        </form>
      )}
    </section>
  );
}
