import { useNavigate, useSearch } from "@tanstack/react-router";
import { type MouseEvent, type ReactNode, Suspense, useDeferredValue, useMemo } from "react";
import { type BesideThing, PanelFrameContext } from "./beside-context.ts";
import { useKeys } from "./keys.ts";
import { later } from "./later.ts";
import { placeOf } from "./places.ts";
import "./beside.css";

export interface Choosing<K extends string = string> {
  readonly chosen: BesideThing<K> | undefined;
  readonly choose: (thing: BesideThing<K> | undefined) => void;
  /** A click opens a thing in the panel. Without room for the panel, and with Enter, its page opens. */
  readonly click: (thing: BesideThing, event: MouseEvent) => void;
}

/** The thing that is open in the panel: one of these kinds. It is in the address, and Escape closes it. */
export function useBeside<K extends string>(...kinds: readonly K[]): Choosing<K> {
  const navigate = useNavigate();
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  const [chosen] = kinds.flatMap((kind) => {
    const id = search[kind];
    return id === undefined || id === "" ? [] : [{ kind, id }];
  });
  const choose = (thing: BesideThing | undefined): void =>
    void navigate({
      to: ".",
      search: (now: object) => ({
        ...now,
        ...Object.fromEntries(kinds.map((kind) => [kind, kind === thing?.kind ? thing.id : undefined])),
      }),
      replace: true,
    });
  const click = (thing: BesideThing, event: MouseEvent): void => {
    const isOurs = kinds.some((kind) => kind === thing.kind);
    // If a key presses a link, the click has no position.
    if (!isOurs || event.detail === 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    const to = placeOf(thing);
    if (to !== undefined && matchMedia("(max-width: 1180px)").matches) void navigate({ to });
    else choose(thing);
  };
  useKeys({ Escape: () => (chosen === undefined ? false : choose(undefined)) });
  return { chosen, choose, click };
}

const panels = {
  agent: later(async () => (await import("./agent-now.tsx")).AgentNow),
  outcome: later(async () => (await import("./outcome-panel.tsx")).OutcomePanel),
  approval: later(async () => (await import("./request-panel.tsx")).RequestPanel),
  session: later(async () => (await import("./session-panel.tsx")).SessionPanel),
};

interface Beside {
  readonly of: {
    readonly chosen: BesideThing<keyof typeof panels> | undefined;
    readonly choose: (none: undefined) => void;
  };
  /** Selects the element that gets the focus when the panel closes. Default: the row or name of the thing. */
  readonly back?: string | undefined;
  /** Further actions of the page around it. */
  readonly more?: ReactNode;
}

/**
 * The panel of the chosen thing, if there is one. Its code is loaded when a thing of its kind is first opened. The row is
 * marked first, then the panel is rendered: so a click is answered at once, however much the panel shows.
 */
export function BesidePanel({ of: { chosen, choose }, back, more }: Beside): ReactNode {
  // The same thing must stay the same object. Otherwise it would be rendered again and again.
  const shown = useDeferredValue(useMemo(() => chosen, [chosen?.kind, chosen?.id]));
  if (shown === undefined) return null;
  const { kind, id } = shown;
  const Panel = panels[kind];
  const thing = `"${kind} ${CSS.escape(id)}"`;
  return (
    <PanelFrameContext
      value={{
        back: back ?? `[data-beside=${thing}], [data-card=${thing}]`,
        onClose: () => choose(undefined),
        more,
      }}
    >
      <Suspense>
        <Panel key={id} id={id} />
      </Suspense>
    </PanelFrameContext>
  );
}

/** A list with the panel of the chosen thing. */
export function WithPanel({ children, ...beside }: Beside & { readonly children: ReactNode }): ReactNode {
  const isClosed = useDeferredValue(beside.of.chosen === undefined);
  return (
    <div className={`with-panel ${isClosed ? "closed" : ""}`}>
      {children}
      <BesidePanel {...beside} />
    </div>
  );
}
