import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { inAddress, useHere } from "../data/company.ts";
import type { Answer } from "../data/operations.ts";
import { useLive, useRead } from "../data/reading.ts";
import { useVerification } from "../data/verification.ts";
import { figure } from "../ui/figures.tsx";
import { Icon, Mark } from "../ui/icons.tsx";
import { Menu } from "../ui/popover.tsx";
import { StatusMark } from "../ui/status.tsx";
import { clockTime, Elapsed } from "../ui/time.tsx";
import { Line } from "../ui/words.tsx";
import { navItems, type NavItem, settingsItem } from "./nav.ts";
import * as texts from "./texts.ts";
import { setTextSize, setTheme, textSize, textSizes, theme, themes } from "./theme.ts";

export function Sidebar({
  onFind,
  onHelp,
  onGo,
}: {
  onFind: () => void;
  onHelp: () => void;
  onGo: () => void;
}): ReactNode {
  const { company, companies, me } = useHere();
  const navigate = useNavigate();
  const pathname = useLocation({ select: (place) => place.pathname });
  const counts = useRead(ops.viewCounts, me?.role === "member" ? null : { companyId: company.id }).data;
  const groups = [undefined, "Company", "Record"] as const;
  return (
    <aside className="side" aria-label="Sidebar">
      <Menu
        className="company"
        label={`Company: ${company.name}`}
        text={
          <>
            <Mark />
            <span className="cut">
              <Line text={company.name} />
            </span>
            <Icon name="sort" />
          </>
        }
        items={[
          ...companies.map((each) => ({
            text: each.name,
            isChosen: each.id === company.id,
            onClick: () => void navigate({ to: "/", search: { company: inAddress(each, companies) } }),
          })),
          { text: "All companies", onClick: () => void navigate({ to: "/companies" }) },
        ]}
      />
      <button type="button" className="find" title={`Key: ${isMac ? "⌘K" : "Ctrl K"}`} onClick={onFind}>
        <Icon name="find" />
        Find or do anything
      </button>
      <nav className="nav" aria-label="Main">
        {groups.map((group) => {
          const items = navItems.filter((item) => item.group === group);
          return (
            items.length > 0 && (
              <div key={group ?? "first"} className="group-of-links">
                {group && <h2>{group}</h2>}
                {items.map((item) => (
                  <NavLink key={item.to} item={item} pathname={pathname} counts={counts} onGo={onGo} />
                ))}
              </div>
            )
          );
        })}
      </nav>
      {pathname !== "/" && counts !== undefined && counts.working.length > 0 && (
        <section className="livebox nav" aria-label="At work now">
          <h2>At work now</h2>
          {counts.working.map(({ agent, session, since }) => (
            <Link key={session} to={`/sessions/${session}`} onClick={onGo}>
              <StatusMark mark="work" />
              <span className="cut">
                <Line text={agent.name} />
              </span>
              <span className="t">
                <Elapsed since={since} />
              </span>
            </Link>
          ))}
        </section>
      )}
      <Foot onHelp={onHelp} onGo={onGo} isSettings={pathname.startsWith("/settings")} />
    </aside>
  );
}

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

function NavLink({
  item,
  pathname,
  counts,
  onGo,
}: {
  item: NavItem;
  pathname: string;
  counts: Answer<typeof ops.viewCounts> | undefined;
  onGo: () => void;
}): ReactNode {
  const isHere = [item.to, ...(item.also ?? [])].some(
    (place) => pathname === place || (place !== "/" && pathname.startsWith(`${place}/`)),
  );
  const count = countOf(item, counts);
  const isCall = item.count === "attention";
  return (
    <Link to={item.to} aria-current={isHere ? "page" : undefined} onClick={onGo}>
      <Icon name={item.icon} />
      {item.text}
      {count !== undefined && count > 0 && (
        <span
          className={`n ${isCall ? "call" : ""}`}
          aria-label={isCall ? `${count} need you` : undefined}
          role={isCall ? "status" : undefined}
        >
          {figure(count)}
        </span>
      )}
    </Link>
  );
}

function countOf({ count }: NavItem, counts: Answer<typeof ops.viewCounts> | undefined): number | undefined {
  if (counts === undefined || count === undefined) return undefined;
  if (count === "agents") return counts.agents.employed;
  if (count === "outcomes") return counts.outcomes.open + counts.outcomes.submitted;
  return counts[count];
}

const states = { live: "Live", starting: "Connecting", lost: "No connection", refused: "Not live" } as const;

function Foot({
  onHelp,
  onGo,
  isSettings,
}: {
  onHelp: () => void;
  onGo: () => void;
  isSettings: boolean;
}): ReactNode {
  const live = useLive();
  const { me } = useHere();
  const verified = useVerification();
  return (
    <div className="foot">
      <StatusMark mark={live.state === "live" ? "live" : live.state === "lost" ? "stop" : "idle"} />
      <span>{me?.role === "member" ? texts.readsAgain : states[live.state]}</span>
      <span className="seq" title="The newest entry of the ledger that you see">
        {live.seq > 0 && `#${figure(live.seq)}`}
      </span>
      {verified !== undefined && (
        <StatusMark
          mark={verified.problems.length === 0 ? "done" : "failed"}
          label={
            verified.problems.length === 0
              ? texts.verifiedAt(clockTime(verified.at))
              : texts.chainIsBroken(verified.problems[0]?.seq ?? null)
          }
        />
      )}
      <Menu
        className="b ghost sq"
        label="Theme, text size and keys"
        icon="theme"
        items={[
          ...themes.map((each) => ({
            text: { system: "Theme of the system", light: "Light theme", dark: "Dark theme" }[each],
            isChosen: theme() === each,
            onClick: () => setTheme(each),
          })),
          ...textSizes.map((size) => ({
            text: `Text of ${size} px`,
            isChosen: textSize() === size,
            onClick: () => setTextSize(size),
          })),
          { text: "All keys", onClick: onHelp },
        ]}
      />
      <Link
        className="b ghost sq"
        to={settingsItem.to}
        aria-label={settingsItem.text}
        title={settingsItem.text}
        aria-current={isSettings ? "page" : undefined}
        onClick={onGo}
      >
        <Icon name={settingsItem.icon} />
      </Link>
    </div>
  );
}
