import { type FormEvent, type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import { useRead } from "../../data/reading.ts";
import { Button } from "../../ui/buttons.tsx";
import { Loaded, Refusal } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { When } from "../../ui/time.tsx";
import { Line } from "../../ui/words.tsx";

/** What the agent is made of, and keys for programs that act as it. */
export function AgentSetup({ id }: { id: string }): ReactNode {
  return (
    <Loaded of={useRead(ops.viewAgent, { id })}>
      {(agent) => (
        <div className="setup">
          <Fields key={agent.id} agent={agent} />
          <section className="sec">
            <h3>Brain</h3>
            <p className="t2">
              {agent.adapterType}
              {agent.model !== null && (
                <>
                  , <Line text={agent.model} />
                </>
              )}
              {agent.effort !== null && `, effort ${agent.effort}`}
            </p>
          </section>
          <Keys id={id} />
        </div>
      )}
    </Loaded>
  );
}

function Fields({
  agent,
}: {
  agent: {
    id: string;
    name: string;
    role: string;
    title: string | null;
    capabilities: string | null;
    status: string;
  };
}): ReactNode {
  const { cantDecide } = useHere();
  const [name, setName] = useState(agent.name);
  const [role, setRole] = useState(agent.role);
  const [capabilities, setCapabilities] = useState(agent.capabilities ?? "");
  const save = useDo(ops.updateAgent);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const done = await save.run({
      id: agent.id,
      name,
      role,
      capabilities: capabilities === "" ? null : capabilities,
    });
    if (done !== undefined) toast("Saved.");
  };
  return (
    <form className="setup" onSubmit={(event) => void submit(event)}>
      <label className="field">
        <span>Name</span>
        <input
          className="input"
          maxLength={64}
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
      </label>
      <label className="field">
        <span>Role</span>
        <input
          className="input"
          maxLength={64}
          value={role}
          onChange={({ target }) => setRole(target.value)}
        />
      </label>
      <label className="field">
        <span>What it can do, for colleagues</span>
        <textarea
          className="input"
          rows={3}
          maxLength={4000}
          value={capabilities}
          onChange={({ target }) => setCapabilities(target.value)}
        />
      </label>
      <Refusal of={save.refused} />
      <div>
        <Button
          type="submit"
          look="solid"
          because={agent.status === "terminated" ? "This agent has left." : cantDecide}
          disabled={save.isBusy}
        >
          Save
        </Button>
      </div>
    </form>
  );
}

function Keys({ id }: { id: string }): ReactNode {
  const { cantDecide } = useHere();
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
