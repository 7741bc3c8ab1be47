import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useDo } from "../data/doing.ts";
import { useRead } from "../data/reading.ts";
import { Button } from "./buttons.tsx";
import { Dialog } from "./dialog.tsx";
import { Refusal } from "./states.tsx";
import { toast } from "./toast.tsx";
import { Line } from "./words.tsx";
import type { Request } from "./request.ts";

/** Deletes the agent of a rejected or withdrawn hire. The person types its name first. */
export function DeleteRejected({ request }: { request: Request }): ReactNode {
  const isOver = request.status === "rejected" || request.status === "cancelled";
  const agent = useRead(
    ops.viewAgent,
    isOver && request.agentId !== null && request.type === "hire_agent" ? { id: request.agentId } : null,
  );
  const { cantDecide: because } = useHere();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const remove = useDo(ops.deleteAgent);
  if (agent.data === undefined) return null;
  const { id, name } = agent.data;
  const run = async (): Promise<void> => {
    if ((await remove.run({ id })) === undefined) return;
    setOpen(false);
    toast(`${name} is deleted. The request and its comments stay.`);
  };
  return (
    <>
      <Button look="ghost danger" because={because} onClick={() => setOpen(true)}>
        Delete this agent
      </Button>
      <Dialog
        title={`Delete ${name}?`}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        foot={
          <Button
            look="danger"
            disabled={typed !== name || remove.isBusy}
            because={because}
            onClick={() => void run()}
          >
            Delete
          </Button>
        }
      >
        <p>
          <Line text={name} /> was never employed. The request and its comments stay on record.
        </p>
        <label className="field">
          <span>
            Type <Line text={name} /> to delete it
          </span>
          <input className="input" value={typed} onChange={({ target }) => setTyped(target.value)} />
        </label>
        <Refusal of={remove.refused} />
      </Dialog>
    </>
  );
}
