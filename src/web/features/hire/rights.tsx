import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useAll, useRead } from "../../data/reading.ts";
import { Box } from "../../ui/box.tsx";
import { ResourceWords } from "../../ui/resource.tsx";
import { Line } from "../../ui/words.tsx";
import * as texts from "./texts.ts";

/** The rights of the new agent at its start. It can get those that its manager holds. */
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
  const held = useAll(ops.listAgentGrants, "grants", { id: boss });
  const grants = [...new Map(held.filter(({ stands }) => stands).map((one) => [one.resource, one])).values()];
  const { company } = useHere();
  const companyId = company.id;
  const servers = useRead(ops.listMcpServers, { companyId }).data?.servers ?? [];
  const repos = useRead(ops.listRepos, { companyId }).data?.repos ?? [];
  const others = [
    ...servers.map(({ name }) => ({ resource: `mcp:${name}`, level: "use" })),
    ...repos.map(({ name }) => ({ resource: `repo:${name}`, level: "read" })),
    { resource: "org:hire", level: "use" },
  ].filter(({ resource }) => !grants.some((one) => one.resource === resource));
  return (
    <Box title="Rights it begins with">
      <div className="pad form">
        <p className="lab">
          <Line text={grants.length === 0 ? texts.noRights(bossName) : texts.onlyHeld(bossName)} />
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
              {level} <ResourceWords resource={resource} />
            </span>
          </label>
        ))}
        {others.map(({ resource, level }) => (
          <label key={resource} className="check dim">
            <input type="checkbox" disabled />
            <span>
              {level} <ResourceWords resource={resource} />{" "}
              <span className="lab">
                <Line text={texts.managerLacks(bossName)} />
              </span>
            </span>
          </label>
        ))}
      </div>
    </Box>
  );
}
