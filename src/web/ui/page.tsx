import { Link } from "@tanstack/react-router";
import { createContext, Fragment, type ReactNode, use, useEffect } from "react";
import { shown } from "../../contract/visible-text.ts";
import { Button } from "./buttons.tsx";
import { Icon } from "./icons.tsx";

/** What the shell gives to every page. */
export const ShellContext = createContext<{ readonly openMenu: () => void; readonly company: string }>({
  openMenu: () => undefined,
  company: "",
});

export interface Crumb {
  readonly text: string;
  readonly to: string;
}

/**
 * The raised sheet of a page: a bar with the path and the actions, and the content. `title` is the last crumb and the tab's
 * title. A page without its own heading passes `heading`, and the crumb becomes the heading.
 */
export function Page({
  title,
  crumbs = [],
  actions,
  heading = false,
  quoted = false,
  children,
}: {
  title: string;
  crumbs?: readonly Crumb[];
  actions?: ReactNode;
  heading?: boolean;
  /** True if the title contains an agent's words. The tab then only names the first crumb, which is ours. */
  quoted?: boolean;
  children: ReactNode;
}): ReactNode {
  const { openMenu, company } = use(ShellContext);
  const tab = quoted ? (crumbs[0]?.text ?? "") : title;
  useEffect(() => {
    document.title = [tab, shown(company), "Agency"].filter((part) => part !== "").join(" · ");
  }, [tab, company]);
  const Last = heading ? "h1" : "b";
  return (
    <>
      <div className="bar">
        <Button look="ghost" icon="menu" aria-label="Menu" className="menu-btn" onClick={openMenu} />
        <nav className="crumbs" aria-label="Where you are">
          {crumbs.map(({ text, to }) => (
            <Fragment key={to}>
              <Link to={to}>
                <bdi>{shown(text)}</bdi>
              </Link>
              <Icon name="right" />
            </Fragment>
          ))}
          <Last className="cut">
            <bdi>{shown(title).slice(0, 200)}</bdi>
          </Last>
        </nav>
        <div className="right">{actions}</div>
      </div>
      {children}
    </>
  );
}
