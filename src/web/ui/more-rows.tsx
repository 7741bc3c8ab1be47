import { type ReactNode, useState } from "react";
import { Button } from "./buttons.tsx";

const most = 1000;

/** How many rows of a list are read, and the button that reads more of them. */
export function useMoreRows(first = 100): {
  readonly rows: number;
  readonly more: (nextCursor: string | null) => ReactNode;
} {
  const [rows, setRows] = useState(first);
  return {
    rows,
    more: (nextCursor) =>
      nextCursor !== null &&
      rows < most && (
        <div className="more-rows">
          <Button onClick={() => setRows(Math.min(most, rows + 300))}>Show more</Button>
        </div>
      ),
  };
}
