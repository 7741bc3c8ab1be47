import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { OfferedCall } from "../../ui/ability.tsx";
import { DecisionButtons, DecisionNote, DecisionRefusal, useDecision } from "../../ui/decision.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useKeys } from "../../ui/keys.ts";
import { placeOf } from "../../ui/places.ts";
import type { RequestChoice } from "../../ui/request.ts";
import { Said } from "../../ui/words.tsx";
import type { Item } from "./item.ts";
import { ChangeColumns } from "./change-columns.tsx";

/** An open item: what approving would change, and the calls that settle it. */
export function AttentionCard({ item }: { item: Item }): ReactNode {
  const isDecision = item.kind === "approval" && typeof item.facts["payloadHash"] === "string";
  return isDecision ? <Deciding item={item} /> : <Offers item={item} />;
}

function Offers({ item }: { item: Item }): ReactNode {
  const to = placeOf(item.subject);
  // A question waits for an answer, and is done once it is answered.
  const isAnswer = ({ body }: Item["abilities"][number]): boolean => body?.["inReplyTo"] !== undefined;
  const abilities = item.abilities.toSorted((a, b) => Number(isAnswer(b)) - Number(isAnswer(a)));
  const done = abilities.find(({ name }) => name === ops.acknowledgeMessage.name);
  return (
    <>
      {item.reason.length > 80 && (
        <div className="reason">
          <Said text={item.reason} most={600} />
        </div>
      )}
      <div className="acts">
        {abilities.map((ability, at) => (
          <OfferedCall
            key={`${ability.name}${at}`}
            of={ability}
            first={at === 0}
            after={isAnswer(ability) ? done : undefined}
          />
        ))}
        {to !== undefined && (
          <Link className="b ghost" to={to}>
            Open
          </Link>
        )}
      </div>
    </>
  );
}

function Deciding({ item }: { item: Item }): ReactNode {
  const id = item.subject.id ?? "";
  const payloadHash = String(item.facts["payloadHash"]);
  const detail = useRead(ops.viewApproval, { id });
  const decision = useDecision(
    { id, payloadHash },
    item.abilities.map(({ name }) => name),
    item.holdsUp.count,
  );
  const arm = (verdict: RequestChoice) => (): false | void => {
    // Only for the item that has the focus, or if none has it.
    const card = document.querySelector(".card[data-item]");
    const active = document.activeElement;
    if (active !== document.body && active?.closest("[data-item]") && !card?.contains(active)) return false;
    decision.arm(verdict);
  };
  useKeys({ a: arm("approve"), r: arm("revise"), x: arm("reject") });
  return (
    <>
      {detail.data !== undefined && <ChangeColumns changes={detail.data.changes} />}
      <div className="decide-here">
        {decision.armed !== null && <DecisionNote of={decision} label="A note, kept on record" />}
        <DecisionRefusal of={decision} />
        <div className="acts">
          <DecisionButtons of={decision} />
          <Link
            className="hash"
            to={`/approvals/${id}`}
            title="You decide on exactly this. A changed request is not approved."
          >
            <Icon name="lock" />
            {shortHash(payloadHash)}
          </Link>
        </div>
      </div>
    </>
  );
}

const shortHash = (hash: string): string => `${hash.slice(0, 4)} ${hash.slice(4, 8)}`;
