import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { AgentOptions } from "../../ui/agent-options.tsx";
import { brainIn } from "../../ui/brain-form.tsx";
import { Button } from "../../ui/buttons.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FieldDiff } from "../../ui/field-diff.tsx";
import { Loaded } from "../../ui/states.tsx";
import type { HireDraft } from "./hire-draft.ts";
import * as texts from "./texts.ts";

type Copied = Pick<HireDraft, "adapterType" | "adapterConfig" | "model" | "effort" | "prompt">;

/** Copies the brain and the prompt of an agent that works well, after showing what that changes. */
export function CopyFrom({
  agents,
  draft,
  onCopy,
}: {
  agents: readonly { readonly id: string; readonly name: string; readonly role: string }[];
  draft: HireDraft;
  onCopy: (part: Copied) => void;
}): ReactNode {
  const [chosen, setChosen] = useState<string | null>(null);
  const read = useRead(ops.viewConfiguration, chosen === null ? null : { id: chosen });
  const name = agents.find(({ id }) => id === chosen)?.name ?? "";
  return (
    <>
      <select
        className="input"
        aria-label="Copy brain and prompt from"
        value=""
        onChange={({ target }) => setChosen(target.value)}
      >
        <option value="">Copy from…</option>
        <AgentOptions of={agents} />
      </select>
      <Dialog title={texts.copyTitle(name)} isOpen={chosen !== null} onClose={() => setChosen(null)} wide>
        <Loaded of={read} rows={3}>
          {({ configuration }) => {
            const copied = brainIn(configuration);
            return (
              <>
                <div className="diff">
                  {keys
                    .filter((key) => JSON.stringify(draft[key]) !== JSON.stringify(copied[key]))
                    .map((key) => (
                      <FieldDiff key={key} field={key} before={draft[key]} after={copied[key]} />
                    ))}
                </div>
                <div className="buttons">
                  <Button
                    look="solid"
                    onClick={() => {
                      onCopy(copied);
                      setChosen(null);
                    }}
                  >
                    Copy
                  </Button>
                </div>
              </>
            );
          }}
        </Loaded>
      </Dialog>
    </>
  );
}

const keys = ["adapterType", "adapterConfig", "model", "effort", "prompt"] as const;
