import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useAll, useRead } from "../../data/reading.ts";
import { AgentOptions } from "../../ui/agent-options.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FieldDiff } from "../../ui/field-diff.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Tile } from "../../ui/tile.tsx";
import { Line } from "../../ui/words.tsx";
import type { Request } from "../../ui/request.ts";
import { askedIn } from "../../ui/requested.ts";
import * as texts from "./texts.ts";

const fields = [
  "role",
  "title",
  "adapterType",
  "adapterConfig",
  "model",
  "effort",
  "prompt",
  "capabilities",
] as const;

/** The requested configuration beside that of an employed agent. */
export function CompareWith({ request }: { request: Request }): ReactNode {
  const { company } = useHere();
  const isHire = request.type === "hire_agent" || request.type === "create_agent";
  const [chosen, setChosen] = useState<string | null>(null);
  const roster = useAll(ops.listRoster, "agents", isHire ? { companyId: company.id } : null);
  if (!isHire || roster.length === 0) return null;
  const asked = askedIn(request);
  const like = typeof asked["role"] === "string" ? asked["role"].toLowerCase() : "";
  const likeness = ({ role, adapterType, model }: (typeof roster)[number]): number =>
    2 * Number(isLike(role, like)) +
    Number(adapterType === (asked["adapterType"] ?? request.changes.brain?.type)) +
    Number(model === (asked["model"] ?? null));
  // The most similar agents come first: by role, then by brain and model.
  const agents = roster
    .filter(({ id }) => id !== request.agentId)
    .toSorted((a, b) => likeness(b) - likeness(a));
  const other = agents.find(({ id }) => id === chosen);
  return (
    <section>
      <h2>{texts.compareTitle}</h2>
      <ul className="cmp">
        {agents.slice(0, mostSimilar).map(({ id, name, role, adapterType, model }) => (
          <li key={id}>
            <button type="button" onClick={() => setChosen(id)}>
              <Tile id={id} name={name} size="xs" />
              <span className="cut">
                <Line text={`${name}, ${role}`} />
              </span>
              <span className="r cut">
                <Line text={model ?? adapterType} />
              </span>
            </button>
          </li>
        ))}
      </ul>
      <select
        className="input"
        aria-label={texts.compareTitle}
        value=""
        onChange={({ target }) => setChosen(target.value)}
      >
        <option value="">{texts.comparePick}</option>
        <AgentOptions of={agents} />
      </select>
      <Dialog
        title={texts.comparedWith(other?.name ?? "")}
        isOpen={chosen !== null}
        onClose={() => setChosen(null)}
        wide
      >
        {chosen !== null && <Differences id={chosen} asked={asked} />}
      </Dialog>
    </section>
  );
}

const mostSimilar = 3;

const isLike = (role: string, like: string): boolean =>
  like.split(/\W+/).some((word) => word.length > 3 && role.toLowerCase().includes(word));

function Differences({ id, asked }: { id: string; asked: Readonly<Record<string, unknown>> }): ReactNode {
  const other = useRead(ops.viewConfiguration, { id });
  return (
    <Loaded of={other} rows={3}>
      {({ configuration }) => {
        const theirs = new Map<string, unknown>(Object.entries(configuration));
        const differing = fields.filter(
          (field) => JSON.stringify(theirs.get(field) ?? null) !== JSON.stringify(asked[field] ?? null),
        );
        return differing.length === 0 ? (
          <p>{texts.compareSame}</p>
        ) : (
          <div className="diff">
            {differing.map((field) => (
              <FieldDiff key={field} field={field} before={theirs.get(field)} after={asked[field]} />
            ))}
          </div>
        );
      }}
    </Loaded>
  );
}
