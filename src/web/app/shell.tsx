import { Outlet, useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, Suspense, useEffect, useMemo, useState } from "react";
import { ops } from "virtual:operations";
import { actAs } from "../data/calling.ts";
import {
  type Here,
  HereContext,
  inAddress,
  lastCompany,
  rememberHere,
  type ShownCompany,
} from "../data/company.ts";
import { followCompany } from "../data/live.ts";
import { keepReading, readCompany, useConnection, useLive, useRead, useRows } from "../data/reading.ts";
import { keepVerifying, useVerification, verifyAll } from "../data/verification.ts";
import { tellCutText } from "../ui/cut-text.ts";
import { figure } from "../ui/figures.tsx";
import { useKeys } from "../ui/keys.ts";
import { later } from "../ui/later.ts";
import { NameCards } from "../ui/name-cards.tsx";
import type { Verb } from "../ui/verbs.ts";
import { ShellContext } from "../ui/page.tsx";
import { clockTime } from "../ui/time.tsx";
import { toast, Toasts } from "../ui/toast.tsx";
import { Palette } from "./palette.tsx";
import { aboutHere, askAccess, askWhy, useQuestion } from "./questions.ts";
import { Sidebar } from "./sidebar.tsx";
import * as texts from "./texts.ts";

const instead = () => import("./no-company.tsx");
const UnknownCompany = later(async () => (await instead()).UnknownCompany);
const NoCompany = later(async () => (await instead()).NoCompany);
const KeyHelp = later(async () => (await import("./key-help.tsx")).KeyHelp);
const Answers = later(async () => (await import("./answers.tsx")).Answers);

/** Around every page: the sidebar, the state of the connection, the palette and the keys that work everywhere. */
export function Shell(): ReactNode {
  // Reads only this part of the address, so a filter or a selection of a page does not render the shell again.
  const wanted: string | undefined = useSearch({ strict: false, select: ({ company: name }) => name });
  const list = useRead(ops.listCompanies, { limit: 1000 });
  const me = useRead(ops.viewMe, {});
  const companies = list.data?.companies ?? none;
  const isNamed = ({ id, slug }: ShownCompany): boolean => id === wanted || slug === wanted;
  const listed = companies.find(isNamed);
  // The list leaves out archived companies, and it may be older than a new company.
  const isSought = wanted !== undefined && list.data !== undefined && listed === undefined;
  const every = useRows(ops.listCompanies, "companies", isSought ? { archived: true } : null, Infinity);
  const found = listed ?? every.data?.companies.find(isNamed);
  const isUnknown = isSought && found === undefined;
  // If the address names an unknown company, no other company is shown instead.
  const company = isUnknown
    ? undefined
    : (found ?? companies.find(({ id }) => id === lastCompany()) ?? companies[0]);
  // Before the first read of a page, because the reads of its children come first.
  if (company !== undefined) {
    readCompany(company.id);
    followCompany(company.id);
  }
  actAs(me.data?.role === "member" ? me.data.positions[0]?.id : undefined);
  const isLost = useConnection() === "lost";
  const bad = useVerification()?.problems[0];
  const cantDecide = isLost ? texts.notWhileLost : me.data?.role === "viewer" ? texts.viewersRead : undefined;
  const here = useMemo(
    (): Here | null => (company === undefined ? null : { company, companies, me: me.data, cantDecide }),
    [company, list.data, me.data, cantDecide],
  );
  useEffect(() => {
    if (here !== null) rememberHere(here);
  }, [here]);
  const navigate = useNavigate();
  // With several companies, a copied link must lead to this one.
  const isToName = companies.length > 1 && (wanted === undefined || wanted === company?.id);
  const name = company !== undefined && isToName ? inAddress(company, companies) : wanted;
  useEffect(() => {
    if (name !== wanted)
      void navigate({ to: ".", search: (now: object) => ({ ...now, company: name }), replace: true });
  }, [name, wanted]);
  const [menu, setMenu] = useState(false);
  const [finds, setFinds] = useState(false);
  const [helps, setHelps] = useState(false);
  const go = (to: string) => () => {
    setMenu(false);
    void navigate({ to });
  };
  // Writes to the agent at hand, else to the root agent. A page with a message field gets the key first.
  const write = (): void => {
    const about = aboutHere();
    go(`/mail/${about?.kind === "agent" ? about.id : (company?.rootAgentId ?? "")}`)();
  };
  useKeys({
    "Mod+k": () => setFinds((is) => !is),
    "?": () => setHelps(true),
    "/": () => {
      const field = document.querySelector<HTMLInputElement>("main input[type=search]");
      if (field === null) setFinds(true);
      else field.focus();
    },
    "g h": go("/"),
    "g m": go("/mail"),
    "g a": go("/approvals"),
    "g o": go("/org"),
    "g u": go("/outcomes"),
    "g k": go("/knowledge"),
    "g c": go("/costs"),
    "g l": go("/activity"),
    h: go("/hire"),
    m: write,
    w: askWhy,
    e: askAccess,
  });
  const isBoard = me.data?.role === "board";
  useEffect(() => (isBoard ? keepVerifying() : undefined), [isBoard]);
  const isMember = me.data?.role === "member";
  useEffect(() => (isMember ? keepReading() : undefined), [isMember]);
  useEffect(tellCutText, []);
  const asked = useQuestion();
  const verbs: readonly Verb[] = [
    { text: "Hire an agent", hotkey: "H", run: go("/hire") },
    { text: "Write a message", hotkey: "M", run: write },
    { text: "Approve requests", hotkey: "G A", run: go("/approvals") },
    { text: "Why is this not moving?", hotkey: "W", run: () => void askWhy() },
    { text: "Explain access", hotkey: "E", run: askAccess },
    { text: "All companies", isPage: true, run: go("/companies") },
    { text: "Sessions", isPage: true, run: go("/sessions") },
    { text: "Reorganizations", isPage: true, run: go("/reorganizations") },
    {
      text: "Verify the record",
      because: isBoard ? undefined : texts.onlyBoardVerifies,
      run: () =>
        void verifyAll()
          .then(() => toast(texts.recordChecked))
          .catch(() => undefined),
    },
    { text: "All keys", hotkey: "?", run: () => setHelps(true) },
  ];
  const shell = useMemo(() => ({ openMenu: () => setMenu(true), company: company?.name ?? "" }), [company]);
  return (
    <ShellContext value={shell}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <div className={`app ${menu ? "with-menu" : ""}`}>
        {here !== null && (
          <HereContext value={here}>
            <Sidebar
              onFind={() => setFinds(true)}
              onHelp={() => setHelps(true)}
              onGo={() => setMenu(false)}
            />
          </HereContext>
        )}
        {menu && (
          <button type="button" className="veil" aria-label="Close the menu" onClick={() => setMenu(false)} />
        )}
        <main className="panel" id="main" tabIndex={-1}>
          {isLost && <Lost />}
          {bad !== undefined && (
            <div className="lost broken" role="alert">
              {texts.chainIsBroken(bad.seq)} {bad.advice}
            </div>
          )}
          {isUnknown ? (
            <Suspense>
              {every.data !== undefined && <UnknownCompany name={wanted} companies={companies} />}
            </Suspense>
          ) : here === null ? (
            <Suspense>
              {(list.refused !== undefined || list.data !== undefined) && (
                <NoCompany refused={list.refused} />
              )}
            </Suspense>
          ) : (
            <HereContext value={here}>
              <Outlet />
              <Palette isOpen={finds} verbs={verbs} onClose={() => setFinds(false)} />
              <Suspense>{asked !== null && <Answers />}</Suspense>
              <NameCards />
            </HereContext>
          )}
        </main>
        <Suspense>{helps && <KeyHelp isOpen onClose={() => setHelps(false)} />}</Suspense>
        <Toasts />
      </div>
    </ShellContext>
  );
}

const none: readonly ShownCompany[] = [];

function Lost(): ReactNode {
  const { since, seq } = useLive();
  return (
    <div className="lost" role="status">
      {texts.lostSince(clockTime(since ?? Date.now()), figure(seq))}
    </div>
  );
}
