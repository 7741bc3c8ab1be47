import { type ReactNode, useEffect, useState } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../data/reading.ts";
import { Button } from "./buttons.tsx";
import { standingOf } from "./standing.ts";
import { StatusMark } from "./status.tsx";
import { Tile, tileOf } from "./tile.tsx";
import { toast } from "./toast.tsx";
import { Line } from "./words.tsx";
import "./name-card.css";

/** The card of a name: what it names, its state, and its id to copy. */
export function NameCard({ of, onLeave }: { of: HTMLElement; onLeave: () => void }): ReactNode {
  const [kind = "", id = ""] = (of.dataset["card"] ?? "").split(" ");
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  useEffect(() => {
    of.style.setProperty("anchor-name", "--named");
    box?.showPopover();
    return () => void of.style.removeProperty("anchor-name");
  }, [of, box]);
  return (
    <div
      ref={setBox}
      popover="manual"
      className="pop floating name-card"
      style={{ positionAnchor: "--named" }}
      onPointerLeave={onLeave}
    >
      {kind === "agent" ? <AgentCard id={id} /> : kind === "outcome" ? <OutcomeCard id={id} /> : null}
      <p className="id">
        <code className="mono">{id}</code>
        <Button
          look="ghost"
          onClick={() => void navigator.clipboard.writeText(id).then(() => toast("The id is copied."))}
        >
          Copy id
        </Button>
      </p>
    </div>
  );
}

function AgentCard({ id }: { id: string }): ReactNode {
  const { data } = useRead(ops.viewAgent, { id });
  if (data === undefined) return null;
  return (
    <div className="about">
      <Tile id={id} name={data.name} {...tileOf(data.status, data.person !== null)} />
      <div className="min-w-0">
        <b>
          <Line text={data.name} />
        </b>
        <p>
          <Line text={`${data.title ?? data.role}, reports to ${data.boss?.name ?? "the board"}`} />
        </p>
        <p>
          <Line text={data.left === null ? data.says : "has left"} />
        </p>
      </div>
    </div>
  );
}

function OutcomeCard({ id }: { id: string }): ReactNode {
  const { data } = useRead(ops.viewOutcome, { id });
  if (data === undefined) return null;
  const { mark, label } = standingOf(data.status, undefined, data.blocked !== null);
  return (
    <div className="about">
      <StatusMark mark={mark} />
      <div className="min-w-0">
        <b>
          <Line text={data.title} />
        </b>
        <p>
          {label}
          {data.responsible !== null && (
            <>
              , <Line text={data.responsible.name} />
            </>
          )}
        </p>
        {data.blocked !== null && (
          <p>
            <Line text={data.blocked.reason} />
          </p>
        )}
      </div>
    </div>
  );
}
