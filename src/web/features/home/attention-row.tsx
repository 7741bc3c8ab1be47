import type { ReactNode } from "react";
import { Icon, type IconName } from "../../ui/icons.tsx";
import { Age } from "../../ui/time.tsx";
import { Line, Name } from "../../ui/words.tsx";
import type { Item } from "./item.ts";

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

const hires = new Set(["hire_agent", "create_agent"]);

function iconOf({ kind, facts }: Item): IconName {
  return kind === "approval" && hires.has(String(facts["type"])) ? "hire" : kinds[kind];
}

export function ItemLine({ item }: { item: Item }): ReactNode {
  const { title, by, reason, holdsUp, since, kind } = item;
  return (
    <>
      <span className={`kind ${kind === "stall" || kind === "brain" ? "stop" : ""}`}>
        <Icon name={iconOf(item)} />
      </span>
      <div className="min-w-0">
        <div className="title cut">
          <Line text={kind === "question" ? `“${title}”` : title} />
        </div>
        <div className="meta">
          {by !== null && (
            <>
              <Name of={by} tile={by.kind === "agent" ? "agent" : undefined} />
              <span className="sep">·</span>
            </>
          )}
          <span className="cut">
            <Line text={reason} />
          </span>
        </div>
      </div>
      <div className="end">
        {holdsUp.count > 0 && (
          <span className="holds" title={holdsUp.outcomes.map((outcome) => outcome.title ?? "").join("\n")}>
            <Icon name="link" />
            holds up {holdsUp.count}
          </span>
        )}
        <span className="age">
          <Age since={since} />
        </span>
      </div>
    </>
  );
}
