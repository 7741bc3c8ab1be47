import { memo, type ReactNode, useId, useState } from "react";
import { flushSync } from "react-dom";
import { Icon } from "../ui/icons.tsx";
import { useModal } from "../ui/modal.ts";
import { useStable } from "../ui/stable.ts";
import { type Verb, verbsNow } from "../ui/verbs.ts";
import { Line } from "../ui/words.tsx";
import { type PaletteRow, useEntries } from "./palette-entries.ts";

/** One box for three things: going anywhere, actions on this page, and questions such as "why kit" or "can wren read voice". */
export function Palette({
  isOpen,
  verbs,
  onClose,
}: {
  isOpen: boolean;
  /** The actions that every page offers. */
  verbs: readonly Verb[];
  onClose: () => void;
}): ReactNode {
  return (
    <dialog {...useModal(isOpen, onClose)} className="palette" aria-label="Find or do anything">
      {isOpen && <Box verbs={verbs} onClose={onClose} />}
    </dialog>
  );
}

function Box({ verbs, onClose }: { verbs: readonly Verb[]; onClose: () => void }): ReactNode {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  // Those that were there when it opened: a list that changes under the person would put another entry first.
  const [all] = useState(() => [...verbsNow(), ...verbs]);
  const entries = useEntries(words.trim(), all);
  const chosen = Math.min(at, entries.length - 1);
  const open = useStable((entry: PaletteRow | undefined): void => {
    if (entry === undefined || entry.because !== undefined) return;
    // Closed before the action runs, which then finds the focus where it was before.
    flushSync(onClose);
    entry.run();
  });
  return (
    <>
      <div className="ask-box">
        <Icon name="find" />
        <input
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={entries.length === 0 ? undefined : `${id}-${chosen}`}
          aria-label="Find or do anything"
          placeholder="Search, or type a command such as: why kit"
          value={words}
          onChange={({ target }) => {
            setWords(target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, entries.length - 1));
            else if (event.key === "ArrowUp") setAt(Math.max(0, chosen - 1));
            else if (event.key === "Enter") open(entries[chosen]);
            else return;
            event.preventDefault();
          }}
        />
      </div>
      <ul id={id} role="listbox" aria-label="Results">
        {entries.map((entry, index) => (
          <Option
            key={entry.key}
            id={`${id}-${index}`}
            entry={entry}
            index={index}
            isChosen={index === chosen}
            onOpen={open}
            onPoint={setAt}
          />
        ))}
      </ul>
      {entries.length === 0 && <p className="none">No results.</p>}
    </>
  );
}

/** An arrow key renders only the row that is left and the row that is chosen. */
const Option = memo(function Option({
  id,
  entry,
  index,
  isChosen,
  onOpen,
  onPoint,
}: {
  id: string;
  entry: PaletteRow;
  index: number;
  isChosen: boolean;
  onOpen: (entry: PaletteRow) => void;
  onPoint: (index: number) => void;
}): ReactNode {
  return (
    <li
      id={id}
      role="option"
      aria-selected={isChosen}
      aria-disabled={entry.because === undefined ? undefined : true}
      onClick={() => onOpen(entry)}
      onPointerMove={() => onPoint(index)}
    >
      <Icon name={entry.icon} />
      <span className="cut">
        <Line text={entry.text} />
      </span>
      <span className="detail cut">
        <Line text={entry.because ?? entry.detail} />
        {entry.hotkey !== undefined && <kbd aria-hidden="true">{entry.hotkey}</kbd>}
      </span>
    </li>
  );
});
