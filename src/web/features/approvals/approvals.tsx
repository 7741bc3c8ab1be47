import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import type { Answer } from "../../data/operations.ts";
import { useRead } from "../../data/reading.ts";
import { Button, Choice } from "../../ui/buttons.tsx";
import { counted } from "../../ui/figures.tsx";
import { useKeys } from "../../ui/keys.ts";
import { isInField, useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Age } from "../../ui/time.tsx";
import { Line, Name } from "../../ui/words.tsx";
import { BatchDialog } from "./batch.tsx";
import { marks } from "./marks.ts";
import * as texts from "./texts.ts";
import "./approvals.css";

const filters = ["pending", "revision_requested", "approved", "rejected", "all"] as const;

type Listed = Answer<typeof ops.listApprovals>["approvals"][number];

/** Every request that people decide. Several of one type are selected with Space and approved together. */
export function Approvals(): ReactNode {
  const { company, me } = useHere();
  const navigate = useNavigate();
  const search: { status?: string } = useSearch({ strict: false });
  const status = filters.find((each) => each === search.status) ?? "pending";
  const list = useRead(
    ops.listApprovals,
    { companyId: company.id, ...(status !== "all" && { status }), limit: 200 },
    { keep: true },
  );
  const rows = useRowKeys("a.row");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [batch, setBatch] = useState<readonly string[] | null>(null);
  const waiting = (list.data?.approvals ?? []).filter((each) => each.status === "pending");
  // By identity: what was decided elsewhere is no longer selected.
  const selected = waiting.filter(({ id }) => chosen.has(id));
  const type = selected[0]?.type;
  const canChoose = me?.role === "board";
  const toggle = ({ id, type: of }: Listed): void => {
    if (type !== undefined && of !== type) return;
    const next = new Set(selected.map((each) => each.id));
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const decide = (): false | void => (selected.length === 0 ? false : setBatch(selected.map(({ id }) => id)));
  useKeys({
    " ": (event) => {
      const id = document.activeElement?.closest<HTMLElement>("[data-request]")?.dataset["request"];
      const row = waiting.find((each) => each.id === id);
      return row === undefined || isInField(event) || !canChoose ? false : toggle(row);
    },
    a: decide,
    Escape: () => (selected.length === 0 ? false : setChosen(new Set())),
  });
  return (
    <Page title="Approvals" heading>
      <div className="scroll">
        <div className="inner" ref={rows}>
          <Choice
            label="Status"
            value={status}
            options={filters.map((value) => ({ value, text: texts.statusWords[value] }))}
            onChange={(value) => void navigate({ to: "/approvals", search: { status: value } })}
          />
          <Loaded of={list}>
            {({ approvals, count }) =>
              approvals.length === 0 ? (
                <Empty title={texts.noneOf(status)}>
                  <p>{texts.noneHint}</p>
                </Empty>
              ) : (
                <>
                  <p className="lab list-count">{counted(count, "request")}</p>
                  <ul className="requests">
                    {approvals.map((each) => (
                      <RequestRow
                        key={each.id}
                        of={each}
                        isChosen={chosen.has(each.id)}
                        because={type !== undefined && each.type !== type ? texts.oneTypeOnly : undefined}
                        onToggle={canChoose && each.status === "pending" ? () => toggle(each) : undefined}
                      />
                    ))}
                  </ul>
                </>
              )
            }
          </Loaded>
        </div>
      </div>
      {selected.length > 0 && (
        <div className="batch-bar" role="status">
          <span>{texts.chosenOf(selected.length)}</span>
          <Button look="solid" hotkey="A" onClick={() => void decide()}>
            {texts.approveChosen(selected.length)}
          </Button>
          <Button look="ghost" hotkey="Esc" onClick={() => setChosen(new Set())}>
            Select none
          </Button>
        </div>
      )}
      {batch !== null && (
        <BatchDialog
          ids={batch}
          onClose={() => setBatch(null)}
          onDone={(approved) => setChosen(new Set([...chosen].filter((id) => !approved.includes(id))))}
        />
      )}
    </Page>
  );
}

function RequestRow({
  of: { id, title, status, requestedBy, updatedAt, revision },
  isChosen,
  because,
  onToggle,
}: {
  of: Listed;
  isChosen: boolean;
  /** Why it can't be selected with the others. */
  because: string | undefined;
  onToggle: (() => void) | undefined;
}): ReactNode {
  return (
    <li data-request={id} className={isChosen ? "chosen" : ""}>
      {onToggle !== undefined && (
        <input
          type="checkbox"
          aria-label={`Select: ${title.slice(0, 120)}`}
          title={because ?? "Select, Space"}
          checked={isChosen}
          disabled={because !== undefined}
          tabIndex={-1}
          onChange={onToggle}
        />
      )}
      <Link className="row" to={`/approvals/${id}`}>
        <StatusMark mark={marks[status] ?? "idle"} label={texts.statusWords[status]} />
        <div className="min-w-0">
          <div className="title cut">
            <Line text={title} />
          </div>
          <div className="meta">
            <Name
              of={{ kind: "", id: requestedBy?.id ?? null, title: requestedBy?.name ?? "The board" }}
              tile={requestedBy === null ? undefined : "agent"}
            />
            {revision > 1 && (
              <>
                <span className="sep">·</span>
                <span>revision {revision}</span>
              </>
            )}
          </div>
        </div>
        <div className="end">
          <span className="age">
            <Age since={updatedAt} />
          </span>
        </div>
      </Link>
    </li>
  );
}
