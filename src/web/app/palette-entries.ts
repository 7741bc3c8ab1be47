import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import type { Answer } from "../data/operations.ts";
import { useRead } from "../data/reading.ts";
import type { IconName } from "../ui/icons.tsx";
import { placeOf } from "../ui/places.ts";
import { useRested } from "../ui/rested.ts";
import type { Verb } from "../ui/verbs.ts";
import { knownThings, type Thing, hasWords } from "./known-things.ts";
import { navItems, settingsItem } from "./nav.ts";
import { type AccessLevel, ask, questionIn } from "./questions.ts";
import { keepRecent, recent } from "./recent.ts";

/** A row of the palette. */
export interface PaletteRow {
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

/** The resource of each kind of thing, and the levels that agents can have on it. */
const rights: Readonly<Record<string, readonly [scheme: string, ...levels: AccessLevel[]]>> = {
  file: ["kb", "read", "write"],
  outcome: ["outcome", "read", "write", "drive"],
  agent: ["mail", "send"],
};

const kindsFound = ["agent", "outcome", "file", "session", "message", "approval", "person"] as const;
const mostOfKind = 8;
const none = [] as const;

/** In milliseconds. While a person types, the browser's own results are enough, and the server is asked at the first pause. */
const pause = 80;

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
  const fits = hasWords(q);
  const here = new Map<string, Thing[]>(kindsFound.map((kind) => [kind, []]));
  for (const one of known) {
    const ofKind = here.get(one.kind);
    if (ofKind !== undefined && ofKind.length < mostOfKind && fits(one.title)) ofKind.push(one);
  }
  return kindsFound.flatMap((kind) => {
    const ofKind = here.get(kind) ?? [];
    const there = (found?.groups ?? [])
      .filter((group) => group.kind === kind)
      .flatMap((group) => group.found)
      .filter(
        (one) => !ofKind.some(({ id }) => id === one.id) && (!isOld || fits(`${one.title} ${one.detail}`)),
      );
    return [...ofKind, ...there].slice(0, mostOfKind);
  });
}

/** Without typed text, the last opened things, then actions, pages and things. A question shows only its answers. */
export function useEntries(q: string, verbs: readonly Verb[]): readonly PaletteRow[] {
  const { company } = useHere();
  const navigate = useNavigate();
  const question = useMemo(() => questionIn(q), [q]);
  const wanted = question?.about ?? q;
  const rested = useRested(wanted, pause);
  const search = (text: string) => (text === "" ? null : { companyId: company.id, q: text });
  // Enter opens the first entry, so the entries must not belong to an earlier letter.
  const asked = useRead(ops.search, search(rested), { keep: question === undefined });
  const isOld = asked.isOld || rested !== wanted;
  const found = isOld && question !== undefined ? undefined : asked.data;
  const who = question?.kind === "access" ? question.who : "";
  const agents = useRead(ops.search, search(useRested(who, pause))).data;
  const named = useNamed(question?.kind === "access" ? question.level : undefined);
  const known = useMemo(() => (q === "" ? none : knownThings(company.id)), [company.id, q === ""]);
  return useMemo(() => {
    const things = q === "" ? none : bothOf(question === undefined ? known : none, found, wanted, isOld);
    const go = (to: string) => () => void navigate({ to });
    if (question?.kind === "why")
      return things
        .filter(({ kind }) => kind === "agent" || kind === "outcome")
        .map(({ id, title, detail }): PaletteRow => ({
          key: id,
          text: `Why: ${title}`,
          detail,
          icon: "path",
          run: () => ask({ kind: "why", id }),
        }));
    if (question?.kind === "access") {
      const agent = agents?.groups.find(({ kind }) => kind === "agent")?.found[0];
      if (agent === undefined) return none;
      const { level } = question;
      const fits = hasWords(wanted);
      const all = [
        ...things.flatMap(({ kind, id, title, detail }) => {
          const [scheme, ...levels] = rights[kind] ?? [""];
          return levels.includes(level) ? [{ resource: `${scheme}:${id}`, title, detail }] : [];
        }),
        ...named.filter(({ title }) => fits(title)),
      ];
      return all.map(({ resource, title, detail }): PaletteRow => ({
        key: resource,
        text: `Can ${agent.title} ${level} “${title}”?`,
        detail,
        icon: "key",
        run: () => ask({ kind: "access", agent: agent.id, resource, level }),
      }));
    }
    const matches = ({ text }: { readonly text: string }): boolean =>
      text.toLowerCase().includes(q.toLowerCase());
    return [
      ...(q === "" ? recent(company.id) : []).map(({ text, to }): PaletteRow => ({
        key: `recent ${to}`,
        text,
        detail: "Recent",
        icon: "clock",
        run: go(to),
      })),
      ...verbs.filter(matches).map(({ text, hotkey, because, run, isPage }): PaletteRow => ({
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
        .map(({ to, text, icon }): PaletteRow => ({ key: to, text, detail: "Page", icon, run: go(to) })),
      ...things.map((one): PaletteRow => {
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
  }, [q, question, wanted, found, isOld, agents, named, known, verbs, company.id, navigate]);
}

interface Named {
  readonly resource: string;
  readonly title: string;
  readonly detail: string;
}

const toHire: readonly Named[] = [
  { resource: "org:hire", title: "org:hire", detail: "hire agents" },
  { resource: "org:consult", title: "org:consult", detail: "consult agents" },
];
const toBoard: readonly Named[] = [{ resource: "mail:board", title: "board", detail: "mail route" }];

/** The resources without a page that agents can have this level on: servers, repositories, the board. */
function useNamed(level: AccessLevel | undefined): readonly Named[] {
  const companyId = useHere().company.id;
  const isOfRepo = level === "push" || level === "read";
  const servers = useRead(ops.listMcpServers, level === "use" ? { companyId } : null).data?.servers;
  const repos = useRead(ops.listRepos, isOfRepo ? { companyId } : null).data?.repos;
  return useMemo(() => {
    if (level === "send") return toBoard;
    const of = (scheme: string, detail: string, names: readonly { readonly name: string }[] = none) =>
      names.map(({ name }): Named => ({ resource: `${scheme}:${name}`, title: name, detail }));
    if (level === "use") return [...of("mcp", "MCP server", servers), ...toHire];
    return isOfRepo ? of("repo", "repository", repos) : none;
  }, [level, servers, repos]);
}
