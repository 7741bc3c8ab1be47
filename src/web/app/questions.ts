import { useSyncExternalStore } from "react";

/** A question that the person asked with a key or in the palette. The shell shows the answer over any page. */
export type Question =
  | { readonly kind: "why"; readonly id: string }
  | {
      readonly kind: "access";
      readonly agent?: string;
      readonly resource?: string;
      readonly level?: AccessLevel;
    };

/** The levels of all kinds of resources. */
export const accessLevels = ["read", "write", "drive", "send", "use", "push"] as const;
export type AccessLevel = (typeof accessLevels)[number];

const whether = new RegExp(`^can\\s+(.+?)\\s+(${accessLevels.join("|")})\\s+(.+)$`, "i");

/** The question in typed words, if they are one: "why kit", "can wren drive newsletter". `about` is what it asks about. */
export function questionIn(
  words: string,
):
  | { readonly kind: "why"; readonly about: string }
  | { readonly kind: "access"; readonly who: string; readonly level: AccessLevel; readonly about: string }
  | undefined {
  const [, whyOf] = /^why\s+(.+)$/i.exec(words) ?? [];
  if (whyOf !== undefined) return { kind: "why", about: whyOf };
  const [, who, named, about] = whether.exec(words) ?? [];
  const level = accessLevels.find((each) => each === named?.toLowerCase());
  return who === undefined || level === undefined || about === undefined
    ? undefined
    : { kind: "access", who, level, about };
}

let asked: Question | null = null;
const watchers = new Set<() => void>();

export function ask(question: Question | null): void {
  asked = question;
  for (const watcher of watchers) watcher();
}

export function useQuestion(): Question | null {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => asked,
  );
}

interface About {
  readonly kind: string;
  readonly id: string;
}

const kinds: Readonly<Record<string, string>> = { agents: "agent", outcomes: "outcome", knowledge: "file" };

/** The thing that a question is about: that of the focused row, else the open panel, else the page. */
export function aboutHere(): About | undefined {
  const active = document.activeElement;
  const marked = active?.closest<HTMLElement>("[data-about]")?.dataset["about"]?.split(" ");
  if (marked?.[0] !== undefined && (marked[1] ?? "") !== "") return { kind: marked[0], id: marked[1] ?? "" };
  const row = active?.closest("a, li, tr, [role=row]");
  const link = row instanceof HTMLAnchorElement ? row : row?.querySelector("a");
  return aboutPath(link?.pathname ?? "") ?? aboutPanel() ?? aboutPath(location.pathname);
}

/** The thing in the open panel. */
function aboutPanel(): About | undefined {
  const search = new URLSearchParams(location.search);
  const kind = ["agent", "outcome"].find((each) => (search.get(each) ?? "") !== "");
  return kind === undefined ? undefined : { kind, id: search.get(kind) ?? "" };
}

function aboutPath(path: string): About | undefined {
  const [, noun = "", id = ""] = /^\/(\w+)\/([0-9a-f-]{36})/.exec(path) ?? [];
  const kind = kinds[noun];
  return kind === undefined ? undefined : { kind, id };
}

/** The key W asks why the thing at hand does or does not move. */
export function askWhy(): false | void {
  const about = aboutHere();
  if (about === undefined || (about.kind !== "agent" && about.kind !== "outcome")) return false;
  ask({ kind: "why", id: about.id });
}

/** The key E asks whether an agent may use something, and why. */
export function askAccess(): void {
  const about = aboutHere();
  const resource =
    about?.kind === "file" ? `kb:${about.id}` : about?.kind === "outcome" ? `outcome:${about.id}` : undefined;
  ask({
    kind: "access",
    ...(about?.kind === "agent" && { agent: about.id }),
    ...(resource !== undefined && { resource }),
  });
}
