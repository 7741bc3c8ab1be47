import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { useHere } from "../../data/company.ts";
import { BatchBar, type Pickable, usePicked } from "../../ui/batch-bar.tsx";
import { Button } from "../../ui/buttons.tsx";
import { isInField, useRowKeys } from "../../ui/move-focus.ts";
import { useKeys } from "../../ui/keys.ts";
import { placeOf } from "../../ui/places.ts";
import { useStable } from "../../ui/stable.ts";
import { AttentionItem } from "./attention-item.tsx";
import type { Item } from "./item.ts";
import { type SteadyRow, useSteadyRows } from "./steady.ts";
import * as texts from "./texts.ts";

/** The list of items that need a person. At first, the first item is open. Others open with → or a click. */
export function AttentionList({
  items,
  rows: asked,
  more,
}: {
  items: readonly Item[];
  /** The number of rows that the person wants to see. */
  rows: number;
  /** A button that shows more rows. */
  more: ReactNode;
}): ReactNode {
  const navigate = useNavigate();
  const list = useRowKeys("[data-item]");
  const { rows, fresh, release } = useSteadyRows(items, list, asked);
  const [open, setOpen] = useOpenRow(rows);
  const { me } = useHere();
  const requests = me?.role === "board" ? items.flatMap(requestIn) : [];
  const picked = usePicked(requests);
  const requestOf = (item: Item): Pickable | undefined => requests.find(({ id }) => id === item.subject.id);
  const pick = useStable((item: Item): void => {
    const request = requestOf(item);
    if (request !== undefined) picked.toggle(request);
  });
  const focused = (): SteadyRow | undefined => {
    const key = document.activeElement?.closest<HTMLElement>("[data-item]")?.dataset["item"];
    return rows.find((row) => row.key === key && row.settledAt === null);
  };
  const toggle =
    (want: boolean) =>
    (event: KeyboardEvent): false | void => {
      const row = focused();
      if (row === undefined || isInField(event)) return false;
      flushSync(() => setOpen(want ? row.key : null));
      // A closed card can't keep the focus, so its row gets it.
      document.activeElement?.closest<HTMLElement>("[data-item]")?.focus();
    };
  useKeys({
    ArrowRight: toggle(true),
    ArrowLeft: toggle(false),
    " ": (event) => {
      const row = focused();
      const request = row && requestOf(row.item);
      // If a button has the focus, the space bar presses it.
      const isOnRow = event.target instanceof HTMLElement && event.target.dataset["item"] !== undefined;
      return request === undefined || !isOnRow ? false : picked.toggle(request);
    },
    Enter: (event) => {
      const isOnRow = event.target instanceof HTMLElement && event.target.dataset["item"] !== undefined;
      const row = focused();
      const to = row && placeOf(row.item.subject);
      if (!isOnRow || to === undefined) return false;
      return void navigate({ to });
    },
  });
  return (
    <div ref={list}>
      {rows.length > 0 && <h2 className="vh">Waiting for you</h2>}
      {fresh > 0 && (
        <div className="fresh">
          <Button
            look="solid"
            icon="up"
            onClick={() => {
              list.current?.closest(".scroll")?.scrollTo({ top: 0 });
              release();
            }}
          >
            {texts.freshItems(fresh)}
          </Button>
        </div>
      )}
      <ul className="attention">
        {rows.map(({ key, item, settledAt }) => {
          const request = requestOf(item);
          return (
            <AttentionItem
              key={key}
              item={item}
              itemKey={key}
              isSettled={settledAt !== null}
              isOpen={key === open}
              isPicked={request !== undefined && picked.ids.includes(request.id)}
              unpickable={request && picked.because(request)}
              onPick={request && pick}
              onOpen={setOpen}
            />
          );
        })}
      </ul>
      <BatchBar of={picked} />
      {more}
    </div>
  );
}

/** The request that an item is about, if it waits for a decision. */
function requestIn({ kind, subject, facts }: Item): Pickable[] {
  return kind === "approval" && facts["status"] === "pending" && subject.id !== null
    ? [{ id: subject.id, type: String(facts["type"]) }]
    : [];
}

/** The open row is chosen once, by its identity. If another item ranks higher meanwhile, it does not replace the open one. */
function useOpenRow(rows: readonly SteadyRow[]): [string | null, (key: string | null) => void] {
  const first = rows.find(({ settledAt }) => settledAt === null)?.key;
  const [open, setOpen] = useState<string | null>(first ?? null);
  const wasEmpty = useRef(first === undefined);
  useEffect(() => {
    if (wasEmpty.current && first !== undefined) setOpen(first);
    wasEmpty.current = first === undefined;
  }, [first]);
  return [open, setOpen];
}
