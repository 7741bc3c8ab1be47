import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { Line } from "../../ui/words.tsx";
import * as texts from "./texts.ts";

/** The rights that the new agent begins with: those that its manager holds. */
export function Rights({
  boss,
  bossName,
  chosen,
  onChange,
}: {
  boss: string;
  bossName: string;
  chosen: Readonly<Record<string, string>>;
  onChange: (chosen: Readonly<Record<string, string>>) => void;
}): ReactNode {
  const held = useRead(ops.listAgentGrants, { id: boss, limit: 200 }).data?.grants ?? [];
  const grants = [...new Map(held.filter(({ stands }) => stands).map((one) => [one.resource, one])).values()];
  return (
    <section className="box">
      <header>
        <h2>Rights it begins with</h2>
      </header>
      {grants.length === 0 ? (
        <p className="none">
          <Line text={texts.noRights(bossName)} />
        </p>
      ) : (
        <div className="pad form">
          <p className="lab">
            <Line text={texts.onlyHeld(bossName)} />
          </p>
          {grants.map(({ resource, level }) => (
            <label key={resource} className="check">
              <input
                type="checkbox"
                checked={resource in chosen}
                onChange={({ target }) => {
                  const { [resource]: _, ...rest } = chosen;
                  onChange(target.checked ? { ...rest, [resource]: level } : rest);
                }}
              />
              <span>
                {level} <code className="inlinecode">{resource}</code>
              </span>
            </label>
          ))}
        </div>
      )}
    </section>
  );
}
