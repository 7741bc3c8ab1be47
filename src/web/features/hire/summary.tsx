import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import type { Answer } from "../../data/operations.ts";
import { useRead } from "../../data/reading.ts";
import { money } from "../../ui/figures.tsx";
import { Quote } from "../../ui/quote.tsx";
import { Tile } from "../../ui/tile.tsx";
import { type Changes, WhatChanges } from "../../ui/what-changes.tsx";
import { Line } from "../../ui/words.tsx";
import type { HireDraft } from "./hire-draft.ts";
import * as texts from "./texts.ts";

type Boss = Answer<typeof ops.viewAgent>;
type Position = Answer<typeof ops.viewOrg>["agents"][number];

/** A preview of the request as the board will see it. */
export function HireSummary({
  draft,
  boss,
  type,
}: {
  draft: HireDraft;
  boss: Boss | undefined;
  type: string;
}): ReactNode {
  const { company, me } = useHere();
  const agents = useRead(ops.viewOrg, { companyId: company.id }).data?.agents;
  if (boss === undefined || agents === undefined) return null;
  const name = draft.name === "" ? texts.newAgent : draft.name;
  const by = me?.role === "member" ? boss : null;
  return (
    <div className="hire-summary">
      <header className="ask">
        <Tile id={name} name={draft.name === "" ? "?" : name} kind="pending" size="lg" />
        <h2>
          <Line text={draft.role === "" ? `Hire ${name}` : `Hire ${name} as ${draft.role}`} />
        </h2>
      </header>
      <WhatChanges
        changes={changesOf(draft, boss, type, agents, company.settings.maxAgents)}
        name={name}
        giver={boss.id}
      />
      {draft.mandate !== "" && <Quote title="Mandate" by={by} text={draft.mandate} />}
      {draft.prompt !== "" && <Quote title="Prompt" by={by} text={draft.prompt} />}
    </div>
  );
}

/** The content of the draft, in the form in which a request shows what approving changes. */
function changesOf(
  draft: HireDraft,
  boss: Boss,
  type: string,
  agents: readonly Position[],
  limit: number | null,
): Changes {
  const usd = Number(draft.usd) || 0;
  const line = boss.budget?.find(({ measure }) => measure === "usd");
  const isTooMuch = line?.left != null && usd > line.left;
  const { command } = draft.adapterConfig;
  return {
    summary: [],
    place: { manager: boss, path: pathTo(agents, boss.id) },
    headcount: { before: agents.length, after: agents.length + 1, limit },
    rights: Object.entries(draft.grants).map(([resource, level]) => ({
      resource,
      title: null,
      level: levels.find((each) => each === level) ?? "read",
      from: boss,
      held: true,
      because: "",
      chain: [],
    })),
    money:
      usd === 0
        ? []
        : [
            ...(line?.limit == null || line.left === null
              ? []
              : [
                  {
                    pool: { kind: "agent", id: boss.id, title: boss.name },
                    measure: "usd" as const,
                    before: { limit: line.limit, left: line.left },
                    after: { limit: line.limit, left: Math.max(0, line.left - usd) },
                  },
                ]),
            {
              pool: { kind: "agent", id: null, title: draft.name === "" ? texts.newAgent : draft.name },
              measure: "usd" as const,
              before: null,
              after: { limit: usd, left: usd },
            },
          ],
    brain: {
      type,
      command: typeof command === "string" && command !== "" ? command : null,
      model: draft.model === "" ? null : draft.model,
      effort: draft.effort === "" ? null : draft.effort,
      prompt: null,
      config: {},
      secrets: [],
    },
    fields: [],
    heldUp: [],
    obstacles: isTooMuch ? [texts.tooMuch(boss.name, money(line.left ?? 0))] : [],
  };
}

/** The path from the root agent to this one. */
function pathTo(agents: readonly Position[], id: string): { id: string; name: string }[] {
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  const path: Position[] = [];
  for (let at = byId.get(id); at !== undefined && !path.includes(at); at = byId.get(at.boss?.id ?? ""))
    path.unshift(at);
  return path;
}

const levels = ["none", "read", "write", "send", "use", "push"] as const;
