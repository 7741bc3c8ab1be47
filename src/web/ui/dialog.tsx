import { type ReactNode, useId } from "react";
import { Button } from "./buttons.tsx";
import { useModal } from "./modal.ts";

/** The browser's own dialog: it holds the focus, and Escape closes it. */
export function Dialog({
  title,
  isOpen,
  onClose,
  children,
  foot,
  wide = false,
}: {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
  foot?: ReactNode;
  wide?: boolean;
}): ReactNode {
  const id = useId();
  const modal = useModal(isOpen, onClose, (dialog) =>
    dialog
      .querySelector<HTMLElement>(`.content :is(input:not([type="checkbox"]), select, textarea):enabled`)
      ?.focus(),
  );
  return (
    <dialog {...modal} className={`dialog ${wide ? "wide" : ""}`} aria-labelledby={id}>
      {isOpen && (
        <div className="within">
          <header>
            <h2 id={id}>{title}</h2>
            <Button look="ghost" icon="cross" aria-label="Close" onClick={onClose} />
          </header>
          <div className="content">{children}</div>
          {foot && <footer>{foot}</footer>}
        </div>
      )}
    </dialog>
  );
}
