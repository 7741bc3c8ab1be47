import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Icon, type IconName } from "./icons.tsx";

type Look = "" | "solid" | "ghost" | "danger" | "ghost danger";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: Look;
  readonly icon?: IconName;
  /** The key for the same action. It is shown in the tooltip, and in the button while its row or card has the focus. */
  readonly hotkey?: string;
  readonly big?: boolean;
  /** The reason why the button can't be used now. The button can still be reached, and shows the reason. */
  readonly because?: string | undefined;
}

export function Button({
  look = "",
  icon,
  hotkey,
  big,
  because,
  children,
  className = "",
  ...rest
}: ButtonProps): ReactNode {
  const isSquare = children === undefined;
  return (
    <button
      type="button"
      {...rest}
      aria-disabled={because === undefined ? undefined : true}
      title={because ?? rest.title ?? (hotkey && `Key: ${hotkey}`)}
      aria-keyshortcuts={
        hotkey === undefined || !/^[\w ]+$/.test(hotkey) ? undefined : hotkey.replace(" ", "+")
      }
      onClick={because === undefined ? rest.onClick : (event) => event.preventDefault()}
      className={`b ${look} ${big ? "lg" : ""} ${isSquare ? "sq" : ""} ${className}`}
    >
      {icon && <Icon name={icon} />}
      {children}
      {hotkey && <kbd aria-hidden="true">{hotkey}</kbd>}
    </button>
  );
}

/** A choice of one value, as a row of buttons. */
export function Choice<T extends string>({
  label,
  options,
  value,
  onChange,
}: {
  label: string;
  options: readonly { readonly value: T; readonly text: string; readonly icon?: IconName }[];
  value: T;
  onChange: (value: T) => void;
}): ReactNode {
  return (
    <div className="seg" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.icon && <Icon name={option.icon} />}
          {option.text}
        </button>
      ))}
    </div>
  );
}
