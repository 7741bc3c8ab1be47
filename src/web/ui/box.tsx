import type { ReactNode } from "react";

/** A part of a page with a title. `end` stands at the end of the line with the title. */
export function Box({
  title,
  label,
  end,
  children,
}: {
  title: ReactNode;
  /** The name of the part for screen readers, if it is a landmark of the page. */
  label?: string;
  end?: ReactNode;
  children: ReactNode;
}): ReactNode {
  return (
    <section className="box" aria-label={label}>
      <header>
        <h2>{title}</h2>
        {end && <span className="end">{end}</span>}
      </header>
      {children}
    </section>
  );
}

/** The lines of a box, or what it says while it has none. */
export function Lines<T>({
  of,
  none,
  children,
}: {
  of: readonly T[];
  none: ReactNode;
  children: (one: T) => ReactNode;
}): ReactNode {
  if (of.length > 0) return <ul className="lines">{of.map(children)}</ul>;
  return typeof none === "string" ? <p className="none">{none}</p> : <div className="pad">{none}</div>;
}
