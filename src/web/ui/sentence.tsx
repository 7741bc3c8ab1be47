import type { ReactNode } from "react";
import type { ops } from "virtual:operations";
import type { Answer } from "../data/operations.ts";
import { sentenceParts } from "./sentence-parts.ts";
import { Line, Name } from "./words.tsx";
import { withoutIds } from "./without-ids.ts";

type Told = Pick<Answer<typeof ops.listEvents>["events"][number], "says" | "by" | "about">;

/** What happened, with links to the actor and the subject. */
export function Sentence({ of: { says, by, about } }: { of: Told }): ReactNode {
  const actor = by.person ?? by.agent;
  const who = actor && { kind: by.person ? "person" : "agent", id: actor.id, title: actor.name };
  const what =
    about === null || about.id === null || about.title === null
      ? undefined
      : { kind: about.kind, id: about.id, title: about.title };
  return sentenceParts(says, who, what).map(({ text, of }, at) =>
    of === undefined ? (
      <Line key={at} text={withoutIds(text)} />
    ) : (
      <Name key={at} of={{ ...of, title: withoutIds(text) }} />
    ),
  );
}
