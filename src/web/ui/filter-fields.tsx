import { type ReactNode, useState } from "react";
import { Button } from "./buttons.tsx";
import { useIsNarrow } from "./narrow.ts";

/** The filters of a list, in its toolbar. On a narrow screen they are behind a button that says how many are set. */
export function FilterFields({
  first,
  values,
  children,
}: {
  /** The field that is always there. */
  first: ReactNode;
  /** What each of the others is set to. Empty: it lets everything through. */
  values: readonly (string | undefined)[];
  children: ReactNode;
}): ReactNode {
  const isNarrow = useIsNarrow();
  const [isOpen, setOpen] = useState(false);
  const set = values.filter((value) => value !== undefined && value !== "").length;
  return (
    <>
      {isNarrow && (
        <Button className="filters-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {set === 0 ? "Filters" : `Filters: ${set}`}
        </Button>
      )}
      {first}
      {(isOpen || !isNarrow) && children}
    </>
  );
}
