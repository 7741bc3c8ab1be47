import type { ReactNode } from "react";
import type { ops } from "virtual:operations";
import type { Answer } from "../../data/operations.ts";
import { useCut } from "../../ui/cut.tsx";
import { counted, Meter, roundMoney } from "../../ui/figures.tsx";
import { Tile } from "../../ui/tile.tsx";
import { RightWords } from "../../ui/resource.tsx";
import { Line } from "../../ui/words.tsx";

type Changes = Answer<typeof ops.viewApproval>["changes"];

/** What approving changes, in three short columns. */
export function ChangeColumns({ changes }: { changes: Changes }): ReactNode {
  const { place, headcount, rights, money, summary, fields } = changes;
  const usd =
    money.find(
      ({ measure, before, after }) => measure === "usd" && before !== null && before.left !== after?.left,
    ) ?? money.find(({ measure, before }) => measure === "usd" && before === null);
  const lines = useCut(summary, 5);
  const given = useCut(rights, 4);
  const name = fields.find(({ field }) => field === "name")?.after;
  if (place === null && rights.length === 0 && money.length === 0)
    return (
      <ul className="mini reason">
        {lines.first.map((line) => (
          <li key={line}>
            <Line text={line} />
          </li>
        ))}
        {lines.more !== null && <li>{lines.more}</li>}
      </ul>
    );
  return (
    <div className="facts">
      <div>
        <h3>Organization</h3>
        <ul className="mini">
          {place !== null && (
            <li>
              {place.manager !== null && <Tile id={place.manager.id} name={place.manager.name} size="xs" />}
              <span className="cut">
                <Line text={place.manager?.name ?? "The board"} />
              </span>
            </li>
          )}
          {place !== null && typeof name === "string" && (
            <li className="l2 new">
              <Tile id={name} name={name} kind="pending" size="xs" />
              <span className="cut">
                <Line text={name} />
              </span>
            </li>
          )}
          {headcount !== null && (
            <li className="dim">
              {counted(headcount.before, "agent")} now, {headcount.after} after
            </li>
          )}
        </ul>
      </div>
      <div>
        <h3>Rights</h3>
        <ul className="mini">
          {given.first.map(({ resource, level, title }) => (
            <li key={`${resource} ${level}`}>
              <span className="plus">+</span>
              <span className="cut">
                <RightWords level={level} resource={resource} title={title} />
              </span>
            </li>
          ))}
          {given.more !== null && <li>{given.more}</li>}
          {rights.length === 0 && <li className="dim">none beyond those of its position</li>}
        </ul>
      </div>
      <div>
        <h3>Money</h3>
        <ul className="mini num">
          {usd === undefined ? <li className="dim">no separate budget</li> : <MoneyLine change={usd} />}
        </ul>
      </div>
    </div>
  );
}

function MoneyLine({ change }: { change: Changes["money"][number] }): ReactNode {
  const { pool, before, after } = change;
  const limit = after?.limit ?? before?.limit ?? 0;
  const given = (before?.left ?? 0) - (after?.left ?? 0);
  const left = after?.left ?? 0;
  const used = Math.max(0, limit - left - Math.max(0, given));
  return (
    <>
      <li>
        <Line text={`${roundMoney(Math.abs(given))} a month, from ${pool.title ?? "the company"}`} />
      </li>
      <li className="whole">
        <Meter
          label={`Of ${roundMoney(limit)}: ${roundMoney(used)} used or given, ${roundMoney(Math.max(0, given))} for this, ${roundMoney(left)} left`}
          parts={[{ value: used }, { value: Math.max(0, given), tone: "new" }, { value: left, tone: "none" }]}
        />
      </li>
      <li className="dim">
        {roundMoney(left)} of {roundMoney(limit)} left after
      </li>
    </>
  );
}
