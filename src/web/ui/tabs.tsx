import { Link } from "@tanstack/react-router";
import { type ReactNode, useLayoutEffect, useRef } from "react";

/** The parts of a page. On a narrow screen the row scrolls sideways to the open part. */
export function Tabs({
  label,
  className = "tab-row",
  tabs,
}: {
  label: string;
  className?: string;
  tabs: readonly { readonly to: string; readonly text: string; readonly isOpen: boolean }[];
}): ReactNode {
  const nav = useRef<HTMLElement>(null);
  const open = tabs.findIndex(({ isOpen }) => isOpen);
  useLayoutEffect(() => {
    nav.current?.children[open]?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [open]);
  return (
    <nav ref={nav} className={className} aria-label={label}>
      {tabs.map(({ to, text, isOpen }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: true, includeSearch: false }}
          aria-current={isOpen ? "page" : undefined}
        >
          {text}
        </Link>
      ))}
    </nav>
  );
}
