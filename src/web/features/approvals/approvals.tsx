import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { memo, type MouseEvent, type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import type { Reading } from "../../data/reading.ts";
import { BatchBar, usePicked } from "../../ui/batch-bar.tsx";
import { useBeside, WithPanel } from "../../ui/beside.tsx";
import { Choice } from "../../ui/buttons.tsx";
import { counted } from "../../ui/figures.tsx";
import { FindField } from "../../ui/filter-fields.tsx";
import { Expiry, Holding, type HoldsUp } from "../../ui/holding.tsx";
import { useKeys } from "../../ui/keys.ts";
import { MoreRows, useList } from "../../ui/more-rows.tsx";
import { isInField, useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { useStable } from "../../ui/stable.ts";
import { StatusMark } from "../../ui/status.tsx";
import { Age } from "../../ui/time.tsx";
import { hireIn } from "../../ui/requested.ts";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line } from "../../ui/words.tsx";
import { requestMarks } from "../../ui/request-marks.ts";
import { statusWords } from "../../ui/request-texts.ts";
import * as texts from "./texts.ts";
import { type Listed, useWaiting } from "./waiting.ts";
import "./approvals.css";

const filters = ["pending", "revision_requested", "approved", "rejected", "all"] as const;

/** Every request that people decide. Several of one type are selected with Space and approved together. */
export function Approvals(): ReactNode {
  const { company, me } = useHere();
  const navigate = useNavigate();
  const search: { status?: string; q?: string } = useSearch({ strict: false });
  const q = search.q?.trim() ?? "";
  const status = filters.find((each) => each === search.status) ?? "pending";
  const isPending = status === "pending";
  const others = useList(
    ops.listApprovals,
    "approvals",
    isPending
      ? null
      : { companyId: company.id, ...(status !== "all" && { status }), ...(q !== "" && { text: q }) },
  );
  const pending = useWaiting(isPending, q);
  const [most, setMost] = useState(100);
  const list: Reading<{ approvals: readonly Listed[]; count: number }> = isPending
    ? {
        ...pending,
        data: pending.requests && {
          approvals: pending.requests.slice(0, most),
          count: pending.requests.length,
        },
      }
    : others;
  const hasMore = isPending && (pending.requests?.length ?? 0) > most;
  const change = (part: typeof search, replace = false): void =>
    void navigate({ to: "/approvals", search: (now: object) => ({ ...now, ...part }), replace });
  const rows = useRowKeys("a.row");
  const beside = useBeside("approval");
  const canChoose = me?.role === "board";
  const waiting = (list.data?.approvals ?? []).filter((each) => each.status === "pending");
  const picked = usePicked(canChoose ? waiting : []);
  const toggle = useStable(picked.toggle);
  const click = useStable((id: string, event: MouseEvent) => beside.click({ kind: "approval", id }, event));
  useKeys({
    " ": (event) => {
      const id = document.activeElement?.closest<HTMLElement>("[data-request]")?.dataset["request"];
      const row = waiting.find((each) => each.id === id);
      return row === undefined || isInField(event) || !canChoose ? false : picked.toggle(row);
    },
  });
  return (
    <Page title="Approvals" heading>
      <WithPanel of={beside}>
        <div className="scroll">
          <div className="inner" ref={rows}>
            <div className="list-filters" role="search">
              <Choice
                label="Status"
                value={status}
                options={filters.map((value) => ({ value, text: statusWords[value] }))}
                onChange={(value) => change({ status: value })}
              />
              <FindField
                label="Find by name or role"
                value={search.q ?? ""}
                onChange={(sought) => change({ q: sought }, true)}
              />
            </div>
            <Loaded of={list}>
              {({ approvals, count }) =>
                approvals.length === 0 ? (
                  <Empty title={q === "" ? texts.noneOf(status) : texts.noRequestFound}>
                    <p>{q === "" ? texts.noneHint : texts.noRequestFoundHint}</p>
                  </Empty>
                ) : (
                  <>
                    <p className="lab list-count">{counted(count, "request")}</p>
                    <ul className="requests">
                      {approvals.map((each) => (
                        <RequestRow
                          key={each.id}
                          of={each}
                          holdsUp={pending.holdsUp(each.id)}
                          isBeside={each.id === beside.chosen?.id}
                          onClick={click}
                          isChosen={picked.ids.includes(each.id)}
                          because={picked.because(each)}
                          onToggle={canChoose && each.status === "pending" ? toggle : undefined}
                        />
                      ))}
                    </ul>
                    {isPending ? hasMore && <MoreRows onMore={() => setMost(most + 300)} /> : others.more}
                  </>
                )
              }
            </Loaded>
          </div>
        </div>
      </WithPanel>
      <BatchBar of={picked} />
    </Page>
  );
}

/** A row of the list. It is rendered again only if something about its request changes. */
const RequestRow = memo(function RequestRow({
  of,
  holdsUp,
  isChosen,
  isBeside,
  because,
  onToggle,
  onClick,
}: {
  of: Listed;
  holdsUp: HoldsUp | undefined;
  isChosen: boolean;
  /** The reason why it can't be selected with the others. */
  because: string | undefined;
  onToggle: ((one: Listed) => void) | undefined;
  isBeside: boolean;
  onClick: (id: string, event: MouseEvent) => void;
}): ReactNode {
  const { id, status, requestedBy, updatedAt, revision, expiresAt } = of;
  const title = hireIn(of) ?? of.title;
  return (
    <li data-request={id} className={`${isChosen ? "chosen" : ""} ${isBeside ? "sel" : ""}`}>
      {onToggle !== undefined && (
        <input
          type="checkbox"
          aria-label={`Select: ${title.slice(0, 120)}`}
          title={because ?? "Select, Space"}
          checked={isChosen}
          disabled={because !== undefined}
          tabIndex={-1}
          onChange={() => onToggle(of)}
        />
      )}
      <Link
        className="row"
        data-beside={`approval ${id}`}
        to={`/approvals/${id}`}
        onClick={(event) => onClick(id, event)}
      >
        <StatusMark mark={requestMarks[status] ?? "idle"} label={statusWords[status]} />
        <div className="min-w-0">
          <div className="title cut">
            <Line text={title} />
          </div>
          <div className="meta">
            {requestedBy === null ? "The board" : <AgentName of={requestedBy} isLink={false} />}
            {revision > 1 && (
              <>
                <span className="sep">·</span>
                <span>revision {revision}</span>
              </>
            )}
          </div>
        </div>
        <div className="end">
          {holdsUp !== undefined && <Holding of={holdsUp} />}
          {expiresAt !== null && (status === "pending" || status === "revision_requested") && (
            <Expiry at={expiresAt} />
          )}
          <span className="age">
            <Age since={updatedAt} />
          </span>
        </div>
      </Link>
    </li>
  );
});
