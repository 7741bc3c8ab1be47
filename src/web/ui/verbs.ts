import { useLayoutEffect, useRef } from "react";

/** An action on what is shown. The palette lists it, with its key. The actions of the page that was opened last come first. */
export interface Verb {
  readonly text: string;
  readonly hotkey?: string;
  readonly run: () => void;
  /** True if it only opens a page. */
  readonly isPage?: boolean;
  /** The reason why it can't be done now. */
  readonly because?: string | undefined;
}

const layers: { readonly current: readonly Verb[] }[] = [];

export function useVerbs(verbs: readonly Verb[]): void {
  const ref = useRef(verbs);
  ref.current = verbs;
  useLayoutEffect(() => {
    layers.push(ref);
    return () => void layers.splice(layers.indexOf(ref), 1);
  }, []);
}

export const verbsNow = (): readonly Verb[] => layers.toReversed().flatMap(({ current }) => current);
