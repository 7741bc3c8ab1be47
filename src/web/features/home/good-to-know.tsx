import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Icon, type IconName } from "../../ui/icons.tsx";
import { placeOf } from "../../ui/places.ts";
import { Line } from "../../ui/words.tsx";
import type { Note } from "./item.ts";
import * as texts from "./texts.ts";

const kinds: Readonly<Record<Note["kind"], IconName>> = { budget: "coins", growth: "hire", limit: "stop" };

/** Notes that need no decision. Each is one sentence, which leads to its subject. */
export function GoodToKnow({ notes }: { notes: readonly Note[] }): ReactNode {
  if (notes.length === 0) return null;
  return (
    <section className="good-to-know" aria-labelledby="good-to-know">
      <h2 id="good-to-know">{texts.goodToKnow}</h2>
      <ul>
        {notes.map(({ kind, subject, says }) => {
          const to = placeOf(subject);
          return (
            <li key={`${kind} ${says}`}>
              <Icon name={kinds[kind]} />
              {to === undefined ? (
                <Line text={says} />
              ) : (
                <Link to={to}>
                  <Line text={says} />
                </Link>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
