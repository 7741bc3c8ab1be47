import { type ReactNode, Suspense, useEffect, useState } from "react";
import type { Refused } from "../data/calling.ts";
import type { Reading } from "../data/reading.ts";
import { Icon } from "./icons.tsx";
import { later } from "./later.ts";

const HintLink = later(async () => (await import("./hint-link.tsx")).HintLink);

/** A refusal in the server's words, with the place where its hint can be followed. The form above it keeps its input. */
export function Refusal({ of, children }: { of: Refused | undefined; children?: ReactNode }): ReactNode {
  if (of === undefined) return null;
  return (
    <div className="refusal" role="alert">
      <Icon name="stop" />
      <div>
        <p className="said">{of.message}</p>
        {of.hint !== "" && <p>{of.hint}</p>}
        <Suspense>{of.hint !== "" && <HintLink hint={of.hint} />}</Suspense>
        {children}
      </div>
    </div>
  );
}

/** The reason why the page is empty, and the one next step. */
export function Empty({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className="empty">
      <p className="said">{title}</p>
      {children}
    </div>
  );
}

/** Placeholders for the rows that load. They appear only if loading takes longer than a moment. */
export function Skeleton({ rows = 6, height = 56 }: { rows?: number; height?: number }): ReactNode {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200);
    return () => clearTimeout(timer);
  }, []);
  if (!isLate) return <div className="skeleton" aria-busy="true" />;
  return (
    <div className="skeleton" aria-busy="true" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <i key={at} style={{ height: height - 8 }} />
      ))}
    </div>
  );
}

/** The data, or the reason why it is missing. Every view has these states. */
export function Loaded<O>({
  of,
  rows,
  height,
  children,
}: {
  of: Reading<O>;
  rows?: number;
  height?: number;
  children: (data: O) => ReactNode;
}): ReactNode {
  if (of.data !== undefined) return children(of.data);
  if (of.refused !== undefined)
    return (
      <div className="inner">
        <Refusal of={of.refused} />
      </div>
    );
  return (
    <div className="inner">
      <Skeleton {...(rows !== undefined && { rows })} {...(height !== undefined && { height })} />
    </div>
  );
}
