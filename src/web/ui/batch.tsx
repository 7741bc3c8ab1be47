import { type ReactNode, useEffect, useRef, useState } from "react";
import { ops } from "virtual:operations";
import { call } from "../data/calling.ts";
import { useHere } from "../data/company.ts";
import { asRefused, sendOnce } from "../data/doing.ts";
import { refreshAll } from "../data/reading.ts";
import { Button } from "./buttons.tsx";
import { Dialog } from "./dialog.tsx";
import { counted, roundMoney } from "./figures.tsx";
import { Skeleton } from "./states.tsx";
import { StatusMark } from "./status.tsx";
import { Line } from "./words.tsx";
import { type Request, titleOf } from "./request.ts";
import * as texts from "./batch-texts.ts";
import "./batch.css";

/** Rights that reach outside of the company's own work are decided one request at a time. */
const alone = /^(?:org:|mcp:|net:|mail:board$)/;

/** The reason why a request can't be approved together with others. Undefined if it can. */
export function whyAlone({ changes, status, abilities }: Request): string | undefined {
  const reaching = changes.rights.find(({ resource }) => alone.test(resource));
  if (reaching !== undefined) return texts.aloneRight(`${reaching.level} ${reaching.resource}`);
  if (changes.obstacles[0] !== undefined) return changes.obstacles[0];
  const can = abilities.some(({ name, yours }) => yours && name === "approval.approve");
  return status === "pending" && can ? undefined : texts.aloneStatus;
}

type Result = "approved" | { readonly message: string };

/** Several requests of one type with the sum of their changes. Each is approved separately, bound to its hash. */
export function BatchDialog({ ids, onClose }: { ids: readonly string[]; onClose: () => void }): ReactNode {
  const { cantDecide } = useHere();
  const [requests, setRequests] = useState<readonly Request[]>();
  const [results, setResults] = useState<ReadonlyMap<string, Result>>(new Map());
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    let isOver = false;
    void Promise.all(ids.map((id) => call(ops.viewApproval, { id }))).then(
      (all) => !isOver && setRequests(all),
      () => onClose(),
    );
    return () => {
      isOver = true;
    };
  }, [ids]);
  const open = (requests ?? []).filter(
    (request) => whyAlone(request) === undefined && !results.has(request.id),
  );
  const approveAll = async (): Promise<void> => {
    setBusy(true);
    const said = new Map(results);
    for (const { id, payloadHash } of open) {
      try {
        await sendOnce(ops.approve, { id, payloadHash });
        said.set(id, "approved");
      } catch (error) {
        said.set(id, { message: asRefused(error).message });
      }
      setResults(new Map(said));
    }
    setBusy(false);
    void refreshAll();
  };
  const isOver = requests !== undefined && open.length === 0;
  // Enter approves, once everything is shown.
  const button = useRef<HTMLDivElement>(null);
  useEffect(() => button.current?.querySelector("button")?.focus(), [requests, isOver]);
  return (
    <Dialog
      title={texts.batchTitle(ids.length)}
      isOpen
      onClose={onClose}
      wide
      foot={
        <div ref={button}>
          {isOver ? (
            <Button look="solid" onClick={onClose}>
              Close
            </Button>
          ) : (
            <Button
              look="solid"
              disabled={isBusy || open.length === 0}
              because={cantDecide}
              onClick={() => void approveAll()}
            >
              {texts.approveMany(open.length)}
            </Button>
          )}
        </div>
      }
    >
      {requests === undefined ? (
        <Skeleton rows={ids.length} height={40} />
      ) : (
        <>
          <p className="batch-sum">{sumOf(requests.filter((request) => whyAlone(request) === undefined))}</p>
          <ul className="batch">
            {requests.map((request) => {
              const because = whyAlone(request);
              const result = results.get(request.id);
              return (
                <li key={request.id}>
                  <StatusMark
                    mark={result === "approved" ? "done" : because || result ? "stop" : "pending"}
                    label={
                      result === "approved" ? "approved" : because || result ? "not approved" : "waiting"
                    }
                  />
                  <div className="min-w-0">
                    <b className="cut">
                      <Line text={titleOf(request)} />
                    </b>
                    <div className="lab">
                      {result === "approved" ? (
                        "Approved."
                      ) : (
                        <Line text={result?.message ?? because ?? request.changes.summary[0] ?? ""} />
                      )}
                    </div>
                  </div>
                  <span className="mono">{request.payloadHash.slice(0, 8)}</span>
                </li>
              );
            })}
          </ul>
        </>
      )}
    </Dialog>
  );
}

/** Heads, rights and money of all of them together. */
function sumOf(requests: readonly Request[]): string {
  let heads = 0;
  let rights = 0;
  let usd = 0;
  for (const { changes } of requests) {
    if (changes.place !== null) heads += 1;
    rights += changes.rights.length;
    for (const { measure, before, after } of changes.money)
      if (measure === "usd" && before === null) usd += after?.limit ?? 0;
  }
  return texts.batchSum(counted(heads, "new agent"), counted(rights, "right"), roundMoney(usd));
}
