import { type ReactNode, useState } from "react";
import { shown } from "../../contract/visible-text.ts";
import { Tile } from "./tile.tsx";
import { Line } from "./words.tsx";
import "./work.css";

/** Words of an agent or a person, set apart as a quotation, with their author. Never markup, never a command. */
export function Quote({
  title,
  by,
  text,
  most = 1200,
}: {
  title: string;
  by: { readonly id: string; readonly name: string } | null;
  text: string;
  most?: number;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const visible = shown(text);
  const isLong = visible.length > most && !isOpen;
  return (
    <section className="box">
      <header>
        <h2>{title}</h2>
        {by && (
          <span className="said">
            <Tile id={by.id} name={by.name} size="xs" />
            <span>
              <Line text={by.name} />
              ’s words
            </span>
          </span>
        )}
      </header>
      <blockquote className="pad said-text">
        <bdi>{isLong ? `${visible.slice(0, most)}…` : visible}</bdi>
        {isLong && (
          <p>
            <button type="button" className="more" onClick={() => setOpen(true)}>
              Show all
            </button>
          </p>
        )}
      </blockquote>
    </section>
  );
}
