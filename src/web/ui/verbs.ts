import { useEffect, useRef } from "react";

/** What the person can do with what is shown: the palette lists it, with its key. The page that was opened last comes first. */
export interface Verb {
  readonly text: string;
  readonly hotkey?: string;
  readonly run: () => void;
  /** It only opens a page. */
  readonly isPage?: boolean;
  /** Why it can't be done now. */
  readonly because?: string | undefined;
}

const layers: { readonly current: readonly Verb[] }[] = [];

export function useVerbs(verbs: readonly Verb[]): void {
  const ref = useRef(verbs);
  ref.current = verbs;
  useEffect(() => {
    layers.push(ref);
    return () => void layers.splice(layers.indexOf(ref), 1);
  }, []);
}

export const verbsNow = (): readonly Verb[] => layers.toReversed().flatMap(({ current }) => current);
