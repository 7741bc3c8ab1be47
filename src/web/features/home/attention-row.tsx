import type { ReactNode } from "react";
import { Expiry, Holding } from "../../ui/holding.tsx";
import { Icon, type IconName } from "../../ui/icons.tsx";
import { Age } from "../../ui/time.tsx";
import { besideTitle } from "../../ui/beside-title.ts";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line, Name } from "../../ui/words.tsx";
import type { Item } from "./item.ts";
import { isHire, titleOfItem } from "./item-title.ts";

const kinds: Readonly<Record<Item["kind"], IconName>> = {
  approval: "stamp",
  question: "question",
  verdict: "verify",
  permission: "key",
  stall: "stop",
  budget: "coins",
  brain: "terminal",
  mail: "mail",
  server: "terminal",
};

/** Requests of one type can be chosen together. */
export interface Pick {
  readonly isChosen: boolean;
  readonly because: string | undefined;
  readonly toggle: () => void;
}

const iconOf = (item: Item): IconName => (isHire(item) ? "hire" : kinds[item.kind]);

export function ItemLine({ item, pick }: { item: Item; pick?: Pick | undefined }): ReactNode {
  const { by, holdsUp, since, kind, expires } = item;
  const title = titleOfItem(item);
  const reason = besideTitle(item.title, item.reason);
  return (
    <>
      <span className={`kind ${kind === "stall" || kind === "brain" ? "stop" : ""}`}>
        {pick !== undefined && (
          <input
            type="checkbox"
            className="pick"
            aria-label={`Select: ${title.slice(0, 120)}`}
            title={pick.because ?? "Select, Space"}
            checked={pick.isChosen}
            disabled={pick.because !== undefined}
            tabIndex={-1}
            onClick={(event) => event.stopPropagation()}
            onChange={pick.toggle}
          />
        )}
        <Icon name={iconOf(item)} />
      </span>
      <div className="min-w-0">
        <div className="title cut">
          <Line text={title} />
        </div>
        <div className="meta">
          {by !== null && (
            <>
              {by.kind === "agent" ? <AgentName of={{ id: by.id, name: by.title }} /> : <Name of={by} />}
              <span className="sep">·</span>
            </>
          )}
          <span className="cut">
            <Line text={reason} />
          </span>
        </div>
      </div>
      <div className="end">
        <Holding of={holdsUp} />
        {expires !== null && <Expiry at={expires} />}
        <span className="age">
          <Age since={since} />
        </span>
      </div>
    </>
  );
}
