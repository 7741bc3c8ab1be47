import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import type { Answer } from "../../data/operations.ts";
import { Button } from "../../ui/buttons.tsx";
import { useDraft } from "../../ui/draft.ts";
import { Refusal } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { TextDiff } from "./text-diff.tsx";
import * as texts from "./texts.ts";

/** Writes a new version. If another one was saved meanwhile, both texts are shown and the person decides. */
export function Editor({
  file,
  onDone,
}: {
  file: Answer<typeof ops.readFile>;
  onDone: () => void;
}): ReactNode {
  const { cantDecide } = useHere();
  const [base, setBase] = useState(file);
  const [kept, setText] = useDraft(`file.${file.id}`);
  const text = kept === "" ? base.content : kept;
  const write = useDo(ops.writeFile);
  const isBehind = file.version !== base.version;
  const save = async (): Promise<void> => {
    const done = await write.run({ id: file.id, content: text, version: base.version, hash: base.hash });
    if (done === undefined) return;
    setText("");
    toast(`Version ${done.version} is saved.`);
    onDone();
  };
  return (
    <div className="form">
      {isBehind && (
        <section className="box">
          <div className="pad form">
            <p role="status">{texts.meanwhile(file.version)}</p>
            <TextDiff before={file.content} after={text} />
            <div className="buttons">
              <Button
                onClick={() => {
                  write.forget();
                  setBase(file);
                }}
              >
                Keep my text as the next version
              </Button>
            </div>
          </div>
        </section>
      )}
      <label className="field">
        <span>Text, as Markdown</span>
        <textarea
          className="input mono"
          rows={20}
          autoFocus
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <Refusal of={write.refused} />
      <div className="buttons">
        <Button look="solid" disabled={write.isBusy} because={cantDecide} onClick={() => void save()}>
          Save as version {base.version + 1}
        </Button>
        <Button
          look="ghost"
          onClick={() => {
            setText("");
            onDone();
          }}
        >
          Discard
        </Button>
      </div>
    </div>
  );
}
