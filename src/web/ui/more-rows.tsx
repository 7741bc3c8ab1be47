import { type ReactNode, useState } from "react";
import { type Paged, type Reading, useRows } from "../data/reading.ts";
import { Button } from "./buttons.tsx";
import { Loaded } from "./states.tsx";

export interface Listing<O> extends Reading<O> {
  /** The number of rows to ask for. */
  readonly rows: number;
  readonly grow: () => void;
  /** A button that shows more rows, as long as there are more. */
  readonly more: ReactNode;
}

/** A list from its beginning. The button for more stays until everything is shown. */
export function useList<I extends object, O extends Paged>(
  operation: Parameters<typeof useRows<I, O>>[0],
  list: Parameters<typeof useRows<I, O>>[1],
  input: I | null,
  first = 100,
): Listing<O> {
  const [rows, setRows] = useState(first);
  const reading = useRows(operation, list, input, rows);
  const hasMore = reading.data !== undefined && reading.data.nextCursor !== null;
  const grow = (): void => setRows(rows + 300);
  return {
    ...reading,
    rows,
    grow,
    more: hasMore && <MoreRows isBusy={reading.isOld} onMore={grow} />,
  };
}

/** Shows a list as soon as it is loaded, and below it the button for more rows. */
export function LoadedList<O>({
  of,
  ...loaded
}: Omit<Parameters<typeof Loaded<O>>[0], "of"> & { of: Listing<O> }): ReactNode {
  return (
    <>
      <Loaded of={of} {...loaded} />
      {of.more}
    </>
  );
}

export function MoreRows({ isBusy = false, onMore }: { isBusy?: boolean; onMore: () => void }): ReactNode {
  return (
    <div className="more-rows">
      <Button disabled={isBusy} onClick={onMore}>
        Show more
      </Button>
    </div>
  );
}
