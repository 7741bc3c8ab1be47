import { type FormEvent, type ReactNode, useRef, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import { useAll, useRead } from "../../data/reading.ts";
import { AgentOptions } from "../../ui/agent-options.tsx";
import { Button } from "../../ui/buttons.tsx";
import { useDraftFields } from "../../ui/draft.ts";
import { useFileChoice } from "../../ui/file-choice.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Refusal } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { Line } from "../../ui/words.tsx";
import { withoutIds } from "../../ui/without-ids.ts";
import { isMine } from "./message.ts";
import * as texts from "./texts.ts";

interface Letter {
  readonly text: string;
  /** The delivery time, as the field has it. Empty means now. */
  readonly at: string;
  readonly file: string;
}

/** Writes to an agent: now or later, with an optional file, and as the answer to a message. The draft survives a reload. */
export function MailBox({
  agent,
  message,
  onTo,
  onNew,
}: {
  agent: string | undefined;
  /** The chosen message. If the agent wrote it, the new message answers it. */
  message: string | undefined;
  onTo: (agent: string) => void;
  /** Called when the person writes without answering, or the answer is sent. */
  onNew: () => void;
}): ReactNode {
  const { company, cantDecide, me } = useHere();
  const companyId = company.id;
  const roster = useAll(ops.listRoster, "agents", { companyId });
  const [{ text = "", at = "", file = "" }, change, drop] = useDraftFields<Letter>(`mail.${agent ?? ""}`);
  const files = useFileChoice(file);
  const [hasMore, setMore] = useState(at !== "" || file !== "");
  const now = useDo(ops.sendMessage);
  const later = useDo(ops.sendDeferredMessage);
  const field = useRef<HTMLTextAreaElement>(null);
  useKeys({ m: () => field.current?.focus() });
  const chosen = useRead(ops.viewMessage, message === undefined ? null : { id: message }).data;
  const answered =
    agent !== undefined && chosen?.from.id === agent && !isMine(chosen, me) ? chosen : undefined;
  const name = roster.find(({ id }) => id === agent)?.name ?? "the agent";
  const because = cantDecide ?? (agent === undefined ? "Choose who gets it first." : undefined);
  const submit = async (event?: FormEvent): Promise<void> => {
    event?.preventDefault();
    if (agent === undefined || because !== undefined || text.trim() === "") return;
    const letter = {
      companyId,
      to: agent,
      body: text,
      ...(file !== "" && { files: [file] }),
      ...(answered && { inReplyTo: answered.id }),
    };
    const sent =
      at === ""
        ? await now.run(letter)
        : await later.run({ ...letter, deliverAt: new Date(at).toISOString() });
    if (sent === undefined) return;
    onNew();
    drop();
    toast(at === "" ? texts.sentTo(name) : texts.scheduledFor(name));
  };
  return (
    <form className="mail-box" onSubmit={(event) => void submit(event)}>
      <Refusal of={now.refused ?? later.refused} />
      <div className="mail-to">
        <select
          className="input"
          aria-label="To"
          value={agent ?? ""}
          onChange={({ target }) => onTo(target.value)}
        >
          <option value="" disabled>
            To…
          </option>
          <AgentOptions of={roster} />
        </select>
        <Button look="ghost" aria-expanded={hasMore} onClick={() => setMore(!hasMore)}>
          Later or with a file
        </Button>
      </div>
      {hasMore && (
        <div className="mail-more">
          <label className="field">
            <span>Deliver at</span>
            <input
              className="input"
              type="datetime-local"
              value={at}
              onChange={({ target }) => change({ at: target.value })}
            />
          </label>
          <div className="field">
            <span>Attach a file</span>
            {files.find}
            <select
              aria-label="Attach a file"
              className="input"
              value={file}
              onChange={({ target }) => change({ file: target.value })}
            >
              <option value="">None</option>
              {files.options.map(({ id, text: described }) => (
                <option key={id} value={id}>
                  {described}
                </option>
              ))}
            </select>
          </div>
        </div>
      )}
      {answered !== undefined && (
        <div className="mail-answers">
          <span className="cut">
            {texts.youAnswer} <Line text={`“${withoutIds(answered.body ?? texts.longMessage)}”`} />
          </span>
          <Button
            look="ghost"
            icon="cross"
            aria-label={texts.writeNew}
            title={texts.writeNew}
            onClick={onNew}
          />
        </div>
      )}
      <div className="mail-write">
        <textarea
          ref={field}
          className="input"
          rows={2}
          aria-label="Message"
          placeholder="Write a message. Ctrl ↵ sends it."
          maxLength={200_000}
          value={text}
          onChange={({ target }) => change({ text: target.value })}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit();
          }}
        />
        <Button
          look="solid"
          type="submit"
          icon="send"
          aria-label="Send"
          because={because}
          disabled={now.isBusy || later.isBusy}
        />
      </div>
    </form>
  );
}
