import { Link } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";
import type { ops } from "virtual:operations";
import { shown } from "../../contract/visible-text.ts";
import type { Answer } from "../data/operations.ts";
import { abilityLabel } from "./ability-words.ts";
import { type Offered, OfferedCall } from "./ability.tsx";
import { besideTitle } from "./beside-title.ts";
import { placeOf } from "./places.ts";
import { Popover } from "./popover.tsx";
import { Line, Name, type Named, Said } from "./words.tsx";
import "./why.css";

type Reason = Answer<typeof ops.whyMany>["answers"][number];

/** Why something moves or not: the sentence with links, the steps behind it, and the one call that would help. */
export function Why({
  of,
  isWhole = false,
}: {
  of: Reason;
  /** True if there is room for the steps, so they need no click. */
  isWhole?: boolean;
}): ReactNode {
  return (
    <div className="why-words">
      <p>
        <Linked text={of.says} references={of.references} />
        {of.path.length > 1 && !isWhole && (
          <>
            {" "}
            <Popover className="how more" text="step by step">
              {() => <WhySteps of={of} />}
            </Popover>
          </>
        )}
      </p>
      {of.path.length > 1 && isWhole && <WhySteps of={of} />}
      <NextStep of={of} />
    </div>
  );
}

/** For a row of a list: one line, and the call that would help behind a button. */
export function WhyLine({
  of,
  title = "",
}: {
  of: Reason;
  /** The title beside it. */ title?: string;
}): ReactNode {
  const [first] = of.next;
  return (
    <span className="why-line">
      <span className="cut">
        <Line text={besideTitle(title, of.says)} />
      </span>
      {first !== undefined && (
        // A click on the row opens its page. A click here only opens the call that helps.
        <span onClick={(event) => event.stopPropagation()} onKeyDown={(event) => event.stopPropagation()}>
          <Popover className="more" text={`${wordsFor(first)}…`}>
            {() => (
              <div className="why-pop">
                <Why of={of} />
              </div>
            )}
          </Popover>
        </span>
      )}
    </span>
  );
}

/** The steps from the thing itself to the last thing it waits for. */
export function WhySteps({ of: { path } }: { of: Pick<Reason, "path"> }): ReactNode {
  return (
    <ol className="why-path">
      {path.map(({ kind, id, title, what }, at) => (
        <li key={`${id} ${at}`}>
          <Name of={{ kind, id, title }} tile={kind === "agent" ? "agent" : undefined} />{" "}
          <span>
            <Line text={what} />
          </span>
        </li>
      ))}
    </ol>
  );
}

const decisions = /^approval\./;
const wordsFor = (call: Offered): string => (decisions.test(call.name) ? "Decide" : abilityLabel(call));

/**
 * The next call. Decisions and changes of a brain lead to the place where everything about them is shown. Other calls are made
 * here.
 */
export function NextStep({ of: { next } }: { of: Pick<Reason, "next"> }): ReactNode {
  const [first] = next;
  if (first === undefined) return null;
  const [, kind = "", id = ""] = /^\/api\/(approvals|agents)\/([^/]+)/.exec(first.path) ?? [];
  const to = decisions.test(first.name)
    ? `/${kind}/${id}`
    : first.name === "agent.update"
      ? `/agents/${id}/setup`
      : undefined;
  return (
    <div className="next-step">
      {to === undefined ? (
        <OfferedCall of={first} first />
      ) : (
        <Link className="b solid" to={to}>
          {wordsFor(first)}
        </Link>
      )}
    </div>
  );
}

/** A sentence of the program in which the first mention of each thing is a link to it. */
function Linked({ text, references }: { text: string; references: readonly Named[] }): ReactNode {
  const visible = shown(text);
  const known = new Map(
    references
      .filter((one) => one.title !== null && one.title.length > 1 && placeOf(one) !== undefined)
      .map((one) => [shown(one.title ?? ""), one]),
  );
  if (known.size === 0 || visible.length > 1000) return <Said text={text} most={1000} />;
  const titles = [...known.keys()]
    .toSorted((a, b) => b.length - a.length)
    .map((title) => title.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  const parts = visible.split(new RegExp(`(?<![\\p{L}\\p{N}])(${titles.join("|")})(?![\\p{L}\\p{N}])`, "u"));
  return parts.map((part, at) => {
    const of = at % 2 === 1 ? known.get(part) : undefined;
    known.delete(of === undefined ? "" : part);
    return <Fragment key={at}>{of === undefined ? <bdi>{part}</bdi> : <Name of={of} />}</Fragment>;
  });
}
