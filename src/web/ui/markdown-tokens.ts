import { useEffect, useState } from "react";
import { shown } from "../../contract/visible-text.ts";
import { trustedScript } from "../data/trusted.ts";
import workerUrl from "./markdown-worker.ts?worker&url";

/** A token of Markdown as the worker sends it. */
export interface MarkdownToken {
  readonly type: string;
  readonly tag: string;
  readonly nesting: number;
  readonly hidden: boolean;
  readonly content: string;
  readonly href: string | undefined;
  readonly children: readonly MarkdownToken[];
}

export interface ToParse {
  readonly text: string;
}

export interface Parsed {
  /** Undefined if the text can't be read as Markdown. */
  readonly tokens: readonly MarkdownToken[] | undefined;
}

/** `reading`: nothing is shown for a moment. `plain`: the text is shown as it is, for good or until its tokens arrive. */
export type MarkdownState = readonly MarkdownToken[] | "reading" | "plain";

const mostCharacters = 200_000;
const showPlainAfter = 200;
const giveUpAfter = 5000;

/** The worker reads one text at a time. If a text takes too long, it is given up, and the next gets a new worker. */
let worker: Worker | undefined;
let last = Promise.resolve();
const known = new Map<string, MarkdownState>();

export function useMarkdown(text: string): MarkdownState {
  const [, setVersion] = useState(0);
  const [isLate, setLate] = useState(false);
  const found = text.length > mostCharacters ? "plain" : known.get(text);
  useEffect(() => {
    if (found !== undefined) return;
    let isHere = true;
    const timer = setTimeout(() => setLate(true), showPlainAfter);
    void parse(text).then(() => {
      if (isHere) setVersion((version) => version + 1);
    });
    return () => {
      isHere = false;
      clearTimeout(timer);
      setLate(false);
    };
  }, [text, found]);
  return found ?? (isLate ? "plain" : "reading");
}

function parse(text: string): Promise<void> {
  last = last.then(async () => {
    if (known.has(text)) return;
    const tokens = await tokensOf(text);
    if (known.size >= 200) known.delete(known.keys().next().value ?? "");
    known.set(text, tokens ?? "plain");
  });
  return last;
}

function tokensOf(text: string): Promise<Parsed["tokens"]> {
  const busy = (worker ??= new Worker(trustedScript(workerUrl), { type: "module" }));
  const end = new AbortController();
  return new Promise<Parsed["tokens"]>((resolve) => {
    const giveUp = (): void => {
      busy.terminate();
      worker = undefined;
      resolve(undefined);
    };
    const timer = setTimeout(giveUp, giveUpAfter);
    end.signal.addEventListener("abort", () => clearTimeout(timer));
    busy.addEventListener("message", ({ data }: MessageEvent<Parsed>) => resolve(data.tokens), end);
    busy.addEventListener("error", giveUp, end);
    busy.postMessage({ text: shown(text) } satisfies ToParse);
  }).finally(() => end.abort());
}
