import { type ReactNode, useRef } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import type { Answer } from "../../data/operations.ts";
import { Button } from "../../ui/buttons.tsx";
import { useEdited } from "../../ui/draft.ts";
import type { Edited } from "../../ui/edited.ts";
import { Meanwhile } from "../../ui/meanwhile.tsx";
import { Refusal } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { TextDiff } from "./text-diff.tsx";
import * as texts from "./texts.ts";
import { WholeText } from "./whole-text.tsx";

type FileText = Answer<typeof ops.readFile>;

/** The text with the version on which it is based: together they are one field of the draft. */
interface FileEdit {
  readonly file: Pick<FileText, "content" | "version" | "hash">;
}

export const useFileEdit = (id: string, of: FileText | undefined): Edited<FileEdit> =>
  useEdited<FileEdit>(`file.${id}`, {
    file: { content: of?.content ?? "", version: of?.version ?? 0, hash: of?.hash ?? "" },
  });

/** Writes a new version. If another version was saved meanwhile, both texts are shown and the person decides. */
export function Editor({ file, onDone }: { file: FileText; onDone: () => void }): ReactNode {
  const { cantDecide } = useHere();
  const edit = useFileEdit(file.id, file);
  const { content } = edit.values.file;
  const { version, hash } = edit.base.file;
  const write = useDo(ops.writeFile);
  const field = useRef<HTMLTextAreaElement>(null);
  const save = async (): Promise<void> => {
    const done = await write.run({ id: file.id, content, version, hash });
    if (done === undefined) return;
    edit.drop();
    toast(`Version ${done.version} is saved.`);
    onDone();
  };
  return (
    <div className="form">
      <Meanwhile
        of={edit}
        says={texts.meanwhile(file.version)}
        onChoose={() => {
          write.forget();
          field.current?.focus();
        }}
      >
        <TextDiff before={file.content} after={content} />
        <details>
          <summary>{texts.newerText(file.version)}</summary>
          <WholeText key={file.version} text={file.content} />
        </details>
      </Meanwhile>
      <label className="field">
        <span>Text, as Markdown</span>
        <textarea
          ref={field}
          className="input mono"
          rows={20}
          autoFocus
          value={content}
          onChange={({ target }) => edit.set({ file: { ...edit.values.file, content: target.value } })}
        />
      </label>
      <Refusal of={write.refused} />
      <div className="buttons">
        <Button look="solid" disabled={write.isBusy} because={cantDecide} onClick={() => void save()}>
          Save as version {version + 1}
        </Button>
        <Button
          look="ghost"
          onClick={() => {
            edit.drop();
            onDone();
          }}
        >
          Discard
        </Button>
      </div>
    </div>
  );
}
