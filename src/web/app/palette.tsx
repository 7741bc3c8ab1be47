import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useId, useMemo, useState } from "react";
import { flushSync } from "react-dom";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import type { Answer } from "../data/operations.ts";
import { useRead } from "../data/reading.ts";
import { Icon, type IconName } from "../ui/icons.tsx";
import { useModal } from "../ui/modal.ts";
import { placeOf } from "../ui/places.ts";
import { type Verb, verbsNow } from "../ui/verbs.ts";
import { Line } from "../ui/words.tsx";
import { hasWords, knownThings, type Thing } from "./known-things.ts";
import { navItems, settingsItem } from "./nav.ts";
import { ask } from "./questions.ts";
import { keepRecent, recent } from "./recent.ts";

interface Entry {
  readonly key: string;
  readonly text: string;
  readonly detail: string;
  readonly icon: IconName;
  readonly hotkey?: string | undefined;
  readonly because?: string | undefined;
  readonly run: () => void;
}

const icons: Readonly<Record<string, IconName>> = {
  agent: "org",
  outcome: "target",
  file: "book",
  message: "mail",
  approval: "stamp",
  person: "gear",
  session: "pulse",
};

const schemes: Readonly<Record<string, string>> = { file: "kb", outcome: "outcome", agent: "mail" };

/** One box for three things: going anywhere, actions on this page, and questions such as "why kit" or "can wren read voice". */
export function Palette({
  isOpen,
  verbs,
  onClose,
}: {
  isOpen: boolean;
  /** The actions that every page offers. */
  verbs: readonly Verb[];
  onClose: () => void;
}): ReactNode {
  return (
    <dialog {...useModal(isOpen, onClose)} className="palette" aria-label="Find or do anything">
      {isOpen && <Box verbs={[...verbsNow(), ...verbs]} onClose={onClose} />}
    </dialog>
  );
}

function Box({ verbs, onClose }: { verbs: readonly Verb[]; onClose: () => void }): ReactNode {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const entries = useEntries(words.trim(), verbs);
  const chosen = Math.min(at, entries.length - 1);
  const open = (entry: Entry | undefined): void => {
    if (entry === undefined || entry.because !== undefined) return;
    // Closed before the action runs, which then finds the focus where it was before.
    flushSync(onClose);
    entry.run();
  };
  return (
    <>
      <div className="ask-box">
        <Icon name="find" />
        <input
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={entries.length === 0 ? undefined : `${id}-${chosen}`}
          aria-label="Find or do anything"
          placeholder="Search, or type a command such as: why kit"
          value={words}
          onChange={({ target }) => {
            setWords(target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, entries.length - 1));
            else if (event.key === "ArrowUp") setAt(Math.max(0, chosen - 1));
            else if (event.key === "Enter") open(entries[chosen]);
            else return;
            event.preventDefault();
          }}
        />
      </div>
      <ul id={id} role="listbox" aria-label="Results">
        {entries.map((entry, index) => (
          <li
            key={entry.key}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            aria-disabled={entry.because === undefined ? undefined : true}
            onClick={() => open(entry)}
            onPointerMove={() => setAt(index)}
          >
            <Icon name={entry.icon} />
            <span className="cut">
              <Line text={entry.text} />
            </span>
            <span className="detail cut">
              <Line text={entry.because ?? entry.detail} />
              {entry.hotkey !== undefined && <kbd aria-hidden="true">{entry.hotkey}</kbd>}
            </span>
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p className="none">No results.</p>}
    </>
  );
}

const kindsFound = ["agent", "outcome", "file", "session", "message", "approval", "person"] as const;
const mostOfKind = 8;

/**
 * Results from this browser appear at once; those of the server join them. Both are ordered by kind, so no entry jumps over
 * another.
 */
function bothOf(
  known: readonly Thing[],
  found: Answer<typeof ops.search> | undefined,
  q: string,
  isOld: boolean,
): readonly Thing[] {
  const fits = ({ title, detail }: Thing): boolean => hasWords(`${title} ${detail}`, q);
  return kindsFound.flatMap((kind) => {
    const here = known.filter((one) => one.kind === kind && hasWords(one.title, q)).slice(0, mostOfKind);
    const there = (found?.groups ?? [])
      .filter((group) => group.kind === kind)
      .flatMap((group) => group.found)
      .filter((one) => !here.some(({ id }) => id === one.id) && (!isOld || fits(one)));
    return [...here, ...there].slice(0, mostOfKind);
  });
}

/** Without typed text, the last opened things, then actions, pages and things. A question shows only its answers. */
function useEntries(q: string, verbs: readonly Verb[]): readonly Entry[] {
  const { company } = useHere();
  const navigate = useNavigate();
  const [, whyOf = ""] = /^why\s+(.+)$/i.exec(q) ?? [];
  const [, who = "", level = "", what = ""] =
    /^can\s+(.+?)\s+(read|write|send|use|push)\s+(.+)$/i.exec(q) ?? [];
  const isQuestion = whyOf !== "" || what !== "";
  const wanted = whyOf !== "" ? whyOf : what !== "" ? what : q;
  const find = (text: string) => (text === "" ? null : { companyId: company.id, q: text });
  // Enter opens the first entry, so the entries must not belong to an earlier letter.
  const { data: found, isOld } = useRead(ops.search, find(wanted), { keep: !isQuestion });
  const agents = useRead(ops.search, find(who)).data;
  const known = useMemo(() => knownThings(company.id), [company.id]);
  const things = q === "" ? [] : bothOf(isQuestion ? [] : known, found, wanted, isOld);
  const go = (to: string) => () => void navigate({ to });
  const matches = ({ text }: { readonly text: string }): boolean =>
    text.toLowerCase().includes(q.toLowerCase());
  if (isQuestion) {
    const agent = agents?.groups.find(({ kind }) => kind === "agent")?.found[0];
    return things.flatMap((one): Entry[] => {
      if (whyOf !== "" && (one.kind === "agent" || one.kind === "outcome"))
        return [
          {
            key: one.id,
            text: `Why: ${one.title}`,
            detail: one.detail,
            icon: "path",
            run: () => ask({ kind: "why", id: one.id }),
          },
        ];
      const scheme = schemes[one.kind];
      if (what === "" || agent === undefined || scheme === undefined) return [];
      return [
        {
          key: one.id,
          text: `Can ${agent.title} ${level.toLowerCase()} “${one.title}”?`,
          detail: one.detail,
          icon: "key",
          run: () =>
            ask({
              kind: "access",
              agent: agent.id,
              resource: `${scheme}:${one.id}`,
              level: level.toLowerCase(),
            }),
        },
      ];
    });
  }
  return [
    ...(q === "" ? recent(company.id) : []).map(({ text, to }): Entry => ({
      key: `recent ${to}`,
      text,
      detail: "Recent",
      icon: "clock",
      run: go(to),
    })),
    ...verbs.filter(matches).map(({ text, hotkey, because, run, isPage }): Entry => ({
      key: `do ${text}`,
      text,
      detail: isPage === true ? "Page" : "Do",
      icon: "right",
      hotkey,
      because,
      run,
    })),
    ...[...navItems, settingsItem]
      .filter(matches)
      .map(({ to, text, icon }): Entry => ({ key: to, text, detail: "Page", icon, run: go(to) })),
    ...things.map((one): Entry => {
      const to = placeOf(one) ?? "/";
      return {
        key: `${one.kind} ${one.id}`,
        text: one.title,
        detail: one.detail,
        icon: icons[one.kind] ?? "find",
        run: () => {
          keepRecent(company.id, { text: one.title, to });
          go(to)();
        },
      };
    }),
  ];
}
