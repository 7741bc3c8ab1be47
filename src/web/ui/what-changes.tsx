import { Fragment, type ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useRead } from "../data/reading.ts";
import { useCut } from "./cut.tsx";
import { counted, Meter, roundMoney } from "./figures.tsx";
import { Popover } from "./popover.tsx";
import { Explained, RightsChain } from "./rights-chain.tsx";
import { Tile } from "./tile.tsx";
import { RightWords } from "./resource.tsx";
import { Line, Name } from "./words.tsx";
import type { Request } from "./request.ts";
import "./what-changes.css";

export type Changes = Request["changes"];

/** Organization, rights, money, brain: everything that approving changes. It takes effect at once or not at all. */
export function WhatChanges({
  changes,
  name,
  giver,
  status = "pending",
}: {
  changes: Changes;
  /** The texts about a decided request are in the past tense. */
  status?: Request["status"];
  /** The agent that would be hired. */
  name: string | null;
  /** The agent that would give the rights, if the request does not exist yet. Its chains are then looked up. */
  giver?: string;
}): ReactNode {
  const { place, headcount, rights, brain, summary, heldUp, obstacles } = changes;
  const held = useCut(heldUp, 8);
  const tense = tenseOf(status);
  const asked = changes.fields.flatMap(({ field, after }) => {
    const [, measure] = /^budget\.(\w+)$/.exec(field) ?? [];
    return measure === undefined || typeof after !== "number" ? [] : [{ measure, after }];
  });
  const money = changes.money.filter(
    ({ before, after }) => before?.limit !== after?.limit || before?.left !== after?.left,
  );
  return (
    <section className="block" aria-labelledby="what-changes">
      <header>
        <h2 id="what-changes">{titles[tense]}</h2>
        {tense === "open" && <span className="note">all of it at once, or nothing</span>}
      </header>
      <dl className="chg">
        {obstacles.length > 0 && (
          <>
            <dt>Not possible now</dt>
            <dd className="obstacles">
              {obstacles.map((line) => (
                <p key={line}>
                  <Line text={line} />
                </p>
              ))}
            </dd>
          </>
        )}
        {place === null && rights.length === 0 && money.length === 0 && (
          <>
            <dt>Change</dt>
            <dd>
              {summary.map((line) => (
                <p key={line}>
                  <Line text={line} />
                </p>
              ))}
            </dd>
          </>
        )}
        {place !== null && (
          <>
            <dt>Organization</dt>
            <dd>
              <div className="twig">
                <span className="node">
                  <Tile id="board" name="Board" kind="person" size="xs" />
                  Board
                </span>
                {place.path.map((agent) => (
                  <Fragment key={agent.id}>
                    <span className="wire" />
                    <span className="node">
                      <Name of={{ kind: "agent", id: agent.id, title: agent.name }} tile="agent" />
                    </span>
                  </Fragment>
                ))}
                {name !== null && (
                  <>
                    <span className="wire" />
                    <span className={`node ${tense === "done" ? "" : "new"}`}>
                      <Tile id={name} name={name} kind={tense === "done" ? "agent" : "pending"} size="xs" />
                      <Line text={name} />
                    </span>
                  </>
                )}
              </div>
              {headcount !== null && (
                <p>
                  {counted(headcount.before, "agent")} {headcountWords[tense](headcount.after)}
                  {headcount.limit !== null && tense === "open" && `, ${headcount.limit} at most`}.
                </p>
              )}
            </dd>
          </>
        )}
        {(place !== null || rights.length > 0) && (
          <>
            <dt>Rights</dt>
            <dd>
              <ul className="rights">
                {rights.map((right) => (
                  <li key={`${right.resource} ${right.level}`}>
                    <span className="plus">+</span>
                    <span>
                      <RightWords {...right} />
                    </span>
                    {tense === "open" && (
                      <Popover className="how" text={`how can ${right.from?.name ?? "the board"} give this?`}>
                        {() =>
                          giver === undefined ? (
                            <Chain right={right} />
                          ) : (
                            <Explained agent={giver} resource={right.resource} level={right.level} />
                          )
                        }
                      </Popover>
                    )}
                  </li>
                ))}
                {rights.length === 0 && (
                  <li className="not">
                    <span className="minus">–</span>
                    <span>none beyond those of its position</span>
                  </li>
                )}
              </ul>
            </dd>
          </>
        )}
        {tense !== "open" && money.length === 0 && asked.length > 0 && (
          <>
            <dt>Money</dt>
            <dd className="num">
              {asked.map(({ measure, after }) => `${amount(measure, after)} a month`).join(", ")}
            </dd>
          </>
        )}
        {money.length > 0 && (
          <>
            <dt>Money</dt>
            <dd className="money">
              {money.map((change) => (
                <MoneyChange
                  key={`${change.pool.id ?? ""} ${change.measure}`}
                  change={change}
                  tense={tense}
                />
              ))}
            </dd>
          </>
        )}
        {brain !== null && (
          <>
            <dt>Brain</dt>
            <dd>
              {brain.type}
              {brain.model !== null && (
                <>
                  ,{" "}
                  <code className="inlinecode">
                    <Line text={brain.model} />
                  </code>
                </>
              )}
              {brain.effort !== null && `, effort ${brain.effort}`}
              {tense === "open" && <Probe type={brain.type} />}
              {brain.command !== null && (
                <p>
                  runs{" "}
                  <code className="inlinecode">
                    <Line text={brain.command} />
                  </code>
                </p>
              )}
              {brain.secrets.length > 0 && <p>gets the secrets {brain.secrets.join(", ")}</p>}
            </dd>
          </>
        )}
        {heldUp.length > 0 && (
          <>
            <dt>Waits for it</dt>
            <dd>
              {held.first.map((reference, at) => (
                <p key={reference.id ?? at}>
                  <Name of={reference} />
                </p>
              ))}
              {held.more !== null && <p>{held.more}</p>}
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

type Tense = "open" | "done" | "dropped";
const tenseOf = (status: Request["status"]): Tense =>
  status === "approved" ? "done" : status === "rejected" || status === "cancelled" ? "dropped" : "open";

const titles: Readonly<Record<Tense, string>> = {
  open: "What a yes changes",
  done: "What the yes changed",
  dropped: "What a yes would have changed",
};
const headcountWords: Readonly<Record<Tense, (after: number) => string>> = {
  open: (after) => `now, ${after} after`,
  done: (after) => `before, ${after} after`,
  dropped: (after) => `then, ${after} with it`,
};

/** Whether the brain could work now. */
function Probe({ type }: { type: string }): ReactNode {
  const { company } = useHere();
  const { brains } = useRead(ops.listBrains, { companyId: company.id }).data ?? {};
  if (brains === undefined || type === "human") return null;
  const found = brains.find((each) => each.type === type);
  const isThere = found?.available === true;
  return (
    <>
      {" "}
      <span className={`tag ${isThere ? "run" : "stop"}`}>
        {isThere ? "available" : "not available"}
      </span>{" "}
      {found?.version != null && <span className="lab">{found.version}</span>}
      {!isThere && (
        <p>
          <Line text={found?.says ?? "This brain is not installed here."} />
        </p>
      )}
    </>
  );
}

function Chain({ right }: { right: Changes["rights"][number] }): ReactNode {
  return (
    <div className="chain-box">
      <h3>
        How can <Line text={right.from?.name ?? "the board"} /> give this?
      </h3>
      <p>
        <Line text={right.because} />
      </p>
      <RightsChain chain={right.chain} />
      {!right.held && (
        <p className="broken">The giver does not hold this right now, so approving is refused.</p>
      )}
    </div>
  );
}

const amount = (measure: string, value: number | null | undefined): string =>
  value == null
    ? "no limit"
    : measure === "usd"
      ? roundMoney(value)
      : `${value.toLocaleString("en")} ${measure}`;

const moneyVerbs: Readonly<Record<Tense, Readonly<Record<"gets" | "loses" | "keeps", string>>>> = {
  open: { gets: "gets", loses: "loses", keeps: "keeps" },
  done: { gets: "got", loses: "lost", keeps: "kept" },
  dropped: { gets: "would have got", loses: "would have lost", keeps: "would have kept" },
};

function MoneyChange({ change, tense }: { change: Changes["money"][number]; tense: Tense }): ReactNode {
  const { pool, measure, before, after } = change;
  const limit = after?.limit ?? before?.limit ?? null;
  const left = after?.left ?? null;
  const taken = Math.max(0, (before?.left ?? 0) - (after?.left ?? 0));
  const isChanged = before?.limit !== after?.limit;
  const { gets, loses, keeps } = moneyVerbs[tense];
  return (
    <div className="money">
      <div className="nums num">
        <Name of={pool} />
        <span className="dim">
          {before === null
            ? `${gets} ${amount(measure, after?.limit)} a month`
            : after === null
              ? `${loses} its separate budget`
              : isChanged
                ? `${amount(measure, before.limit)} → ${amount(measure, after.limit)} a month`
                : `${keeps} ${amount(measure, left)} of ${amount(measure, limit)} a month, ${amount(measure, before.left)} before`}
        </span>
      </div>
      {before !== null && limit !== null && left !== null && (
        <Meter
          label={`Of ${amount(measure, limit)}, ${amount(measure, taken)} for this, ${amount(measure, left)} left`}
          parts={[
            { value: Math.max(0, limit - left - taken) },
            { value: taken, tone: "new" },
            { value: left, tone: "none" },
          ]}
        />
      )}
    </div>
  );
}
