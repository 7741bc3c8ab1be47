import { type FormEvent, type ReactNode, useId, useState } from "react";
import { mostInName } from "../../../contract/visible-text.ts";
import { useHere } from "../../data/company.ts";
import { Button, Choice } from "../../ui/buttons.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { useDraftFields } from "../../ui/draft.ts";
import { Tile, tileOf } from "../../ui/tile.tsx";
import { Line } from "../../ui/words.tsx";
import { type Position } from "./position.ts";
import { type Change, changeDraft } from "./reorganizing.ts";
import * as texts from "./texts.ts";

const kinds = ["move_report", "insert_layer", "remove_layer", "split", "merge", "hand_over", "fire"] as const;
type Kind = (typeof kinds)[number];

/** Asks what should change about an agent's place. The result is a plan: nothing changes yet. */
export function ReorganizeDialog({
  agent,
  agents,
  brains,
  onPropose,
  onClose,
}: {
  /** Null if the dialog is closed. */
  agent: Position | null;
  agents: readonly Position[];
  brains: readonly string[];
  onPropose: (change: Change) => void;
  onClose: () => void;
}): ReactNode {
  return (
    <Dialog
      title={agent === null ? "" : texts.reorganizeTitle(agent.name)}
      isOpen={agent !== null}
      onClose={onClose}
      wide
    >
      {agent !== null && (
        <Form
          agent={agent}
          agents={agents}
          brains={brains}
          onPropose={(change) => {
            onClose();
            onPropose(change);
          }}
        />
      )}
    </Dialog>
  );
}

interface ChangeDraft {
  readonly agent: string;
  readonly kind: Kind;
  readonly name: string;
  readonly role: string;
  readonly reason: string;
  readonly brain: string;
  readonly chosen: readonly string[];
}

function Form({
  agent,
  agents,
  brains,
  onPropose,
}: {
  agent: Position;
  agents: readonly Position[];
  brains: readonly string[];
  onPropose: (change: Change) => void;
}): ReactNode {
  const reports = agents.filter(({ boss }) => boss?.id === agent.id);
  const peers = agents.filter(({ id, boss }) => id !== agent.id && boss?.id === agent.boss?.id);
  const possible = kinds.filter((kind) => {
    if (kind === "move_report" || kind === "fire" || kind === "insert_layer") return agent.boss !== null;
    if (kind === "remove_layer") return agent.boss !== null && reports.length > 0;
    if (kind === "merge") return agent.boss !== null && peers.length > 0;
    return true;
  });
  const { company } = useHere();
  const [kept, keep] = useDraftFields<ChangeDraft>(changeDraft(company.id));
  const draft = kept.agent === agent.id ? kept : {};
  const change = (part: Partial<ChangeDraft>): void => keep({ ...draft, ...part, agent: agent.id });
  const { name = "", role = "", reason = "", brain = "human" } = draft;
  const kind = possible.find((each) => each === draft.kind) ?? possible[0] ?? "hand_over";
  const chosen = new Set(draft.chosen);
  const below = subtreeOf(agents, agent.id);
  const bosses = agents.filter(({ id }) => !below.has(id) && id !== agent.boss?.id);
  const because = reason.trim() === "" ? {} : { reason: reason.trim() };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const newcomer = { name: name.trim(), role: role.trim() };
    const ids = [...chosen];
    if (kind === "remove_layer" || kind === "fire") onPropose({ kind, agent: agent.id, ...because });
    if (kind === "hand_over") onPropose({ kind, agent: agent.id, adapterType: brain });
    if (kind === "insert_layer" && agent.boss !== null)
      onPropose({ kind, boss: agent.boss.id, manager: newcomer, reports: [agent.id, ...ids] });
    if (kind === "split")
      onPropose({
        kind,
        agent: agent.id,
        into: [{ agent: newcomer, ...(ids.length > 0 && { reports: ids }) }],
      });
  };
  const isNew = kind === "insert_layer" || kind === "split";
  return (
    <form className="form" onSubmit={submit}>
      <Choice
        label="Change"
        value={kind}
        options={possible.map((value) => ({ value, text: texts.kindWords[value] }))}
        onChange={(value) => change({ kind: value, chosen: [] })}
      />
      <p className="lab">{texts.kindSays[kind]}</p>
      {kind === "move_report" && (
        <AgentPicker
          label={texts.newManager}
          agents={bosses}
          onPick={(to) => onPropose({ kind, agent: agent.id, to })}
        />
      )}
      {kind === "merge" && (
        <AgentPicker
          label={texts.mergeInto}
          agents={peers}
          onPick={(into) => onPropose({ kind, agents: [agent.id], into, ...because })}
        />
      )}
      {isNew && (
        <div className="two">
          <Field
            label="Name of the new agent"
            value={name}
            onChange={(value) => change({ name: value })}
            isFirst
          />
          <Field label="Its role" value={role} onChange={(value) => change({ role: value })} />
        </div>
      )}
      {isNew && (
        <Checks
          title={kind === "split" ? texts.takesReports : texts.alsoMoves}
          agents={kind === "split" ? reports : peers}
          chosen={chosen}
          onChange={(ids) => change({ chosen: [...ids] })}
        />
      )}
      {kind === "hand_over" && (
        <label className="field">
          <span>Who works from this position</span>
          <select className="input" value={brain} onChange={({ target }) => change({ brain: target.value })}>
            {["human", ...brains.filter((each) => each !== "human")].map((each) => (
              <option key={each} value={each}>
                {each === "human" ? "a person" : each}
              </option>
            ))}
          </select>
        </label>
      )}
      {(kind === "remove_layer" || kind === "fire") && (
        <Field
          label="Reason, kept on record"
          value={reason}
          onChange={(value) => change({ reason: value })}
          isOptional
          isFirst
        />
      )}
      {kind !== "move_report" && kind !== "merge" && (
        <div className="buttons">
          <Button look="solid" type="submit">
            Show the plan
          </Button>
        </div>
      )}
    </form>
  );
}

function Field({
  label,
  value,
  onChange,
  isFirst = false,
  isOptional = false,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  isFirst?: boolean;
  isOptional?: boolean;
}): ReactNode {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="input"
        autoFocus={isFirst}
        required={!isOptional}
        maxLength={isOptional ? 2000 : mostInName}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  );
}

function Checks({
  title,
  agents,
  chosen,
  onChange,
}: {
  title: string;
  agents: readonly Position[];
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
}): ReactNode {
  if (agents.length === 0) return null;
  return (
    <fieldset className="form">
      <legend>{title}</legend>
      {agents.map(({ id, name, role }) => (
        <label key={id} className="check">
          <input
            type="checkbox"
            checked={chosen.has(id)}
            onChange={({ target }) => {
              const next = new Set(chosen);
              if (target.checked) next.add(id);
              else next.delete(id);
              onChange(next);
            }}
          />
          <span>
            <Line text={`${name}, ${role}`} />
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** Finds one agent by name or role: type, choose with the arrows, Enter. */
function AgentPicker({
  label,
  agents,
  onPick,
}: {
  label: string;
  agents: readonly Position[];
  onPick: (id: string) => void;
}): ReactNode {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const all = agents.filter(({ name, role }) =>
    `${name} ${role}`.toLowerCase().includes(words.trim().toLowerCase()),
  );
  const found = all.slice(0, 50);
  const chosen = Math.min(at, found.length - 1);
  return (
    <div className="picker">
      <label className="field">
        <span>{label}</span>
        <input
          className="input"
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found.length === 0 ? undefined : `${id}-${chosen}`}
          value={words}
          placeholder="Name or role"
          onChange={({ target }) => {
            setWords(target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            const pick = found[chosen];
            if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, found.length - 1));
            else if (event.key === "ArrowUp") setAt(Math.max(0, chosen - 1));
            else if (event.key === "Enter" && pick !== undefined) onPick(pick.id);
            else if (event.key !== "Enter") return;
            event.preventDefault();
          }}
        />
      </label>
      <ul id={id} role="listbox" aria-label={label}>
        {found.map((agent, index) => (
          <li
            key={agent.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => onPick(agent.id)}
          >
            <Tile id={agent.id} name={agent.name} {...tileOf(agent.status, agent.isPerson)} size="xs" />
            <span className="cut">
              <Line text={`${agent.name}, ${agent.role}`} />
            </span>
          </li>
        ))}
      </ul>
      {all.length > found.length && <p className="lab">{texts.moreAgents(all.length - found.length)}</p>}
      {found.length === 0 && <p className="lab">{texts.noneFound}</p>}
    </div>
  );
}

/** The agent and everyone below it: none of them can be its manager. */
function subtreeOf(agents: readonly Position[], id: string): ReadonlySet<string> {
  const below = new Set([id]);
  // Managers and reports come in no fixed order, so this is repeated until no agent is added.
  for (let size = 0; size !== below.size;) {
    size = below.size;
    for (const agent of agents) if (agent.boss !== null && below.has(agent.boss.id)) below.add(agent.id);
  }
  return below;
}
