import { type ReactNode, useId, useRef, useState } from "react";
import { Icon, type IconName } from "./icons.tsx";

/** A button with content that floats below it. The browser closes it with Escape and with a click elsewhere. */
export function Popover({
  label,
  className = "",
  text,
  icon,
  children,
}: {
  label?: string;
  className?: string;
  text?: ReactNode;
  icon?: IconName;
  /** Rendered only while the popover is open. */
  children: (close: () => void) => ReactNode;
}): ReactNode {
  const id = useId().replace(/[^\w-]/g, "");
  const ref = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className={className}
        aria-label={label}
        title={label}
        aria-expanded={isOpen}
        popoverTarget={id}
        style={{ anchorName: `--${id}` }}
      >
        {icon && <Icon name={icon} />}
        {text}
      </button>
      <div
        ref={ref}
        id={id}
        popover="auto"
        className="pop floating"
        style={{ positionAnchor: `--${id}` }}
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        {isOpen && children(() => ref.current?.hidePopover())}
      </div>
    </>
  );
}

export interface MenuItem {
  readonly text: string;
  readonly icon?: IconName;
  readonly onClick: () => void;
  readonly danger?: boolean;
  readonly isChosen?: boolean;
}

export function Menu({
  items,
  ...button
}: {
  label?: string;
  className?: string;
  text?: ReactNode;
  icon?: IconName;
  items: readonly MenuItem[];
}): ReactNode {
  return (
    <Popover {...button}>
      {(close) => (
        <ul className="menu">
          {items.map(({ text, icon, onClick, danger, isChosen }) => (
            <li key={text}>
              <button
                type="button"
                className={danger ? "danger" : ""}
                aria-current={isChosen ? "true" : undefined}
                onClick={() => {
                  close();
                  onClick();
                }}
              >
                {icon && <Icon name={icon} />}
                <bdi>{text}</bdi>
                {isChosen && <Icon name="check" className="end" />}
              </button>
            </li>
          ))}
        </ul>
      )}
    </Popover>
  );
}
