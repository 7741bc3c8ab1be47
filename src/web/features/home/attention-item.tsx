import { memo, type ReactNode, useLayoutEffect, useRef } from "react";
import { useDraftText } from "../../ui/draft.ts";
import { Line } from "../../ui/words.tsx";
import type { Item } from "./item.ts";
import { AttentionCard } from "./attention-card.tsx";
import { ItemLine, type Pick } from "./attention-row.tsx";
import { Settled } from "./settled.tsx";

/** The thing that the keys W and E ask about: the subject if it can move, else the requester. */
function aboutOf({ subject, by }: Item): string | undefined {
  const about = [subject, by].find((each) => each?.kind === "agent" || each?.kind === "outcome");
  return about?.id == null ? undefined : `${about.kind} ${about.id}`;
}

/**
 * One item in all its states: a row, an open card, settled. The element stays the same, and with it the focus. It is rendered
 * again only if something about it changes.
 */
export const AttentionItem = memo(function AttentionItem({
  item,
  itemKey,
  isOpen,
  isSettled,
  isPicked,
  unpickable,
  onPick,
  onOpen,
}: {
  item: Item;
  itemKey: string;
  isOpen: boolean;
  isSettled: boolean;
  isPicked: boolean;
  /** Why it can't be picked with the others. */
  unpickable: string | undefined;
  /** Undefined: it is not decided with others. */
  onPick: ((item: Item) => void) | undefined;
  /** Null: none is open. */
  onOpen: (key: string | null) => void;
}): ReactNode {
  const pick: Pick | undefined = onPick && {
    isChosen: isPicked,
    because: unpickable,
    toggle: () => onPick(item),
  };
  const ref = useRef<HTMLLIElement>(null);
  const hasFocus = useRef(false);
  const note = useDraftText(`note.${item.subject.id ?? ""}`);
  // A field that disappeared had the focus. The item takes it back.
  useLayoutEffect(() => {
    if (hasFocus.current && document.activeElement === document.body) ref.current?.focus();
  });
  const isCard = isOpen && !isSettled;
  return (
    <li
      ref={ref}
      className={`${isSettled ? "row leaving" : isCard ? "card" : "row"} ${pick?.isChosen === true ? "chosen" : ""}`}
      data-item={itemKey}
      data-about={aboutOf(item)}
      tabIndex={0}
      role={isSettled ? "status" : undefined}
      onFocus={() => (hasFocus.current = true)}
      onBlur={() => (hasFocus.current = false)}
      onClick={isCard || isSettled ? undefined : () => onOpen(itemKey)}
    >
      {isSettled ? (
        <>
          <Settled item={item} />
          {note !== "" && (
            <p className="unsent">
              Your note was not sent: <Line text={note} />
            </p>
          )}
        </>
      ) : isCard ? (
        <>
          <div className="row" onClick={() => onOpen(null)}>
            <ItemLine item={item} pick={pick} />
          </div>
          <AttentionCard item={item} />
        </>
      ) : (
        <ItemLine item={item} pick={pick} />
      )}
    </li>
  );
});
