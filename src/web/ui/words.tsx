import { Link } from "@tanstack/react-router";
import { type ReactNode, use, useState } from "react";
import { shown } from "../../contract/visible-text.ts";
import { BesideContext } from "./beside-context.ts";
import { placeOf } from "./places.ts";
import { Tile, type TileKind } from "./tile.tsx";

/**
 * Text that an agent may have written. It is always shown as text, set apart from the text around it: letters that run
 * backwards can't reach its neighbours, and acting or hidden characters are written as \uXXXX. Long text is cut, and opens on
 * demand.
 */
export function Said({ text, most = 200 }: { text: string; most?: number }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const visible = shown(text);
  if (visible.length <= most || isOpen) return <bdi>{visible}</bdi>;
  return (
    <>
      <bdi title={visible.slice(0, 2000)}>{visible.slice(0, most)}…</bdi>{" "}
      <button type="button" className="more" onClick={() => setOpen(true)}>
        show all
      </button>
    </>
  );
}

/** One line of such text, for places without room for a button: rows of lists, titles. */
export function Line({ text }: { text: string }): ReactNode {
  const visible = shown(text).replace(/\s+/g, " ");
  return (
    <bdi title={visible.length > 80 ? visible.slice(0, 2000) : undefined}>
      {visible.length > 200 ? `${visible.slice(0, 200)}…` : visible}
    </bdi>
  );
}

export interface Named {
  readonly kind: string;
  readonly id: string | null;
  readonly title: string | null;
}

/** The name of a thing, as a link to it. Ids are never text: the card of a name has them (name-card.tsx). */
export function Name({
  of,
  tile,
  role,
}: {
  of: Named;
  tile?: TileKind | undefined;
  role?: string | null | undefined;
}): ReactNode {
  const title = of.title ?? (of.kind === "board" ? "The board" : `a ${of.kind} you can't read`);
  const to = placeOf(of);
  const openBeside = use(BesideContext);
  const face = tile !== undefined && of.id !== null && <Tile id={of.id} name={title} kind={tile} size="xs" />;
  const text = (
    <>
      {face}
      {role == null || role === "" ? (
        <Line text={title} />
      ) : (
        <span className="cut">
          <Line text={title} />
          <span className="role">
            , <Line text={role} />
          </span>
        </span>
      )}
    </>
  );
  return to === undefined ? (
    <span className="name">{text}</span>
  ) : (
    <Link
      to={to}
      className="name"
      data-card={of.id === null ? undefined : `${of.kind} ${of.id}`}
      onClick={
        of.id === null ? undefined : (event) => openBeside?.({ kind: of.kind, id: of.id ?? "" }, event)
      }
    >
      {text}
    </Link>
  );
}
