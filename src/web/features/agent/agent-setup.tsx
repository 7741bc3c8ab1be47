import { type FormEvent, type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { mostInName } from "../../../contract/visible-text.ts";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import type { Answer } from "../../data/operations.ts";
import { useRead } from "../../data/reading.ts";
import { Box } from "../../ui/box.tsx";
import { BrainForm, brainIn, efforts } from "../../ui/brain-form.tsx";
import { Button } from "../../ui/buttons.tsx";
import { useEdited } from "../../ui/draft.ts";
import { chooseFirst, Meanwhile } from "../../ui/meanwhile.tsx";
import { Loaded, Refusal } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { When } from "../../ui/time.tsx";
import { Line } from "../../ui/words.tsx";
import * as texts from "./texts.ts";

/** The configuration of the agent, and keys for programs that act as it. */
export function AgentSetup({ id }: { id: string }): ReactNode {
  const agent = useRead(ops.viewAgent, { id });
  const configured = useRead(ops.viewConfiguration, { id });
  return (
    <Loaded of={agent}>
      {(data) => (
        <div className="setup">
          <Loaded of={configured} rows={6}>
            {({ configuration }) => <Fields key={data.id} agent={data} configuration={configuration} />}
          </Loaded>
          <Keys id={id} hasLeft={data.status === "terminated"} />
        </div>
      )}
    </Loaded>
  );
}

type Agent = Answer<typeof ops.viewAgent>;

/** Typed values are a draft over the present agent. Only changed fields are sent. */
function Fields({ agent, configuration }: { agent: Agent; configuration: object }): ReactNode {
  const { cantDecide } = useHere();
  const before = {
    name: agent.name,
    role: agent.role,
    title: agent.title ?? "",
    capabilities: agent.capabilities ?? "",
    ...brainIn(configuration),
  };
  const edit = useEdited(`setup.${agent.id}`, before);
  const { values: draft, set: change, changed } = edit;
  const save = useDo(ops.updateAgent);
  const isNew = (key: keyof typeof draft): boolean => changed.includes(key);
  const orNull = (key: "title" | "capabilities" | "prompt" | "model") =>
    isNew(key) && { [key]: draft[key] === "" ? null : draft[key] };
  const effort = efforts.find((each) => each === draft.effort) ?? null;
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const done = await save.run({
      id: agent.id,
      ...(isNew("name") && { name: draft.name }),
      ...(isNew("role") && { role: draft.role }),
      ...orNull("title"),
      ...orNull("capabilities"),
      ...orNull("prompt"),
      ...(isNew("adapterType") && { adapterType: draft.adapterType }),
      ...((isNew("adapterType") || isNew("adapterConfig")) && { adapterConfig: { ...draft.adapterConfig } }),
      ...orNull("model"),
      ...(isNew("effort") && { effort }),
    });
    if (done === undefined) return;
    edit.drop();
    toast("Saved.");
  };
  const short = (name: "name" | "role" | "title", label: string, hint?: string): ReactNode => (
    <label className="field">
      <span>{label}</span>
      <input
        className="input"
        maxLength={mostInName}
        required={name !== "title"}
        value={draft[name]}
        onChange={({ target }) => change({ [name]: target.value })}
      />
      {hint !== undefined && <small>{hint}</small>}
    </label>
  );
  const long = (name: "capabilities" | "prompt", label: string, rows: number, hint: string): ReactNode => (
    <label className="field">
      <span>{label}</span>
      <textarea
        className="input"
        rows={rows}
        maxLength={name === "prompt" ? 50_000 : 4000}
        value={draft[name]}
        onChange={({ target }) => change({ [name]: target.value })}
      />
      <small>{hint}</small>
    </label>
  );
  return (
    <form className="setup form" aria-label="Setup" onSubmit={(event) => void submit(event)}>
      <div className="two">
        {short("name", "Name")}
        {short("role", "Role")}
        {short("title", "Title", "Optional.")}
      </div>
      {long("capabilities", "Capabilities", 2, "Description of the agent's skills, for colleagues.")}
      {long("prompt", "Prompt", 5, "How it should work.")}
      <Box title="Brain">
        <div className="pad form">
          <BrainForm value={draft} onChange={change} />
        </div>
      </Box>
      <Meanwhile of={edit} says={texts.agentChanged}>
        <ul>
          {edit.behind.map((key) => (
            <li key={key}>
              <Line text={texts.fieldIsNow(texts.setupWords[key], shownValue(before[key]))} />
            </li>
          ))}
        </ul>
      </Meanwhile>
      <Refusal of={save.refused} />
      <div className="buttons">
        <Button
          type="submit"
          look="solid"
          because={
            agent.status === "terminated"
              ? texts.agentHasLeft
              : (cantDecide ??
                (changed.length === 0
                  ? "Nothing is changed."
                  : edit.behind.length > 0
                    ? chooseFirst
                    : undefined))
          }
          disabled={save.isBusy}
        >
          Save
        </Button>
        {changed.length > 0 && (
          <Button look="ghost" onClick={edit.drop}>
            Discard
          </Button>
        )}
        <span className="lab">A running session is asked to stop. The next one starts with the changes.</span>
      </div>
    </form>
  );
}

const shownValue = (value: string | object): string =>
  typeof value === "string" ? value : JSON.stringify(value);

function Keys({ id, hasLeft }: { id: string; hasLeft: boolean }): ReactNode {
  const { cantDecide: cantNow } = useHere();
  const cantDecide = hasLeft ? texts.agentHasLeft : cantNow;
  const keys = useRead(ops.listKeys, { id }).data?.keys ?? [];
  const create = useDo(ops.createKey);
  const revoke = useDo(ops.revokeKey);
  const [shownKey, setShownKey] = useState<string>();
  return (
    <section className="sec">
      <h3>Keys for programs that act as this agent</h3>
      <ul className="plain-list">
        {keys
          .filter(({ revokedAt }) => revokedAt === null)
          .map(({ id: keyId, label, createdAt }) => (
            <li key={keyId}>
              <span className="wide cut">
                <Line text={label} />
              </span>
              <span className="end">
                <When at={createdAt} />
              </span>
              <Button look="ghost danger" because={cantDecide} onClick={() => void revoke.run({ id, keyId })}>
                Revoke
              </Button>
            </li>
          ))}
      </ul>
      {shownKey !== undefined && (
        <div className="banner" role="status">
          <span>
            Copy it now, it is shown once: <code className="inlinecode">{shownKey}</code>
          </span>
        </div>
      )}
      <Refusal of={create.refused ?? revoke.refused} />
      <Button
        because={cantDecide}
        disabled={create.isBusy}
        onClick={() => void create.run({ id }).then((made) => setShownKey(made?.key))}
      >
        Create a key
      </Button>
    </section>
  );
}
