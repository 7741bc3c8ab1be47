import type { ReactNode } from "react";
import { Button } from "./buttons.tsx";
import type { Edited } from "./edited.ts";

/** Says that the typed value was changed elsewhere meanwhile, and lets the person choose. Nothing is lost before. */
export function Meanwhile<T extends object>({
  of,
  says,
  children,
  onChoose,
}: {
  of: Edited<T>;
  says: string;
  children?: ReactNode;
  onChoose?: () => void;
}): ReactNode {
  if (of.behind.length === 0) return null;
  const choose = (choice: () => void) => (): void => {
    onChoose?.();
    choice();
  };
  return (
    <section className="box meanwhile" aria-label="Changed meanwhile">
      <div className="pad form">
        <p role="status">{says}</p>
        {children}
        <div className="buttons">
          <Button onClick={choose(of.keepMine)}>Keep mine</Button>
          <Button onClick={choose(of.takeTheirs)}>Take theirs</Button>
        </div>
      </div>
    </section>
  );
}

/** The reason why saving is off until the person has chosen. */
export const chooseFirst = "This text was changed elsewhere meanwhile. First keep yours or take theirs.";
