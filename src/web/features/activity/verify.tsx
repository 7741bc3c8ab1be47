import { type ReactNode, useState } from "react";
import type { Refused } from "../../data/calling.ts";
import { asRefused } from "../../data/doing.ts";
import { type Verification, verifyAll } from "../../data/verification.ts";
import { Button } from "../../ui/buttons.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { figure } from "../../ui/figures.tsx";
import { Refusal } from "../../ui/states.tsx";
import { Said } from "../../ui/words.tsx";
import * as texts from "./texts.ts";

/** Computes every hash of the ledger again, and names the first bad entry. */
export function Verify(): ReactNode {
  const [checked, setChecked] = useState<number>();
  const [found, setFound] = useState<Verification>();
  const [refused, setRefused] = useState<Refused>();
  const run = async (): Promise<void> => {
    setChecked(0);
    setRefused(undefined);
    try {
      setFound(await verifyAll(setChecked));
    } catch (error) {
      setRefused(asRefused(error));
    } finally {
      setChecked(undefined);
    }
  };
  return (
    <>
      <Button icon="verify" disabled={checked !== undefined} onClick={() => void run()}>
        {checked === undefined ? "Verify" : `${figure(checked)} checked…`}
      </Button>
      <Dialog
        title="The record"
        isOpen={found !== undefined || refused !== undefined}
        onClose={() => {
          setFound(undefined);
          setRefused(undefined);
        }}
      >
        <Refusal of={refused} />
        {found?.problems.length === 0 && <p role="status">{texts.chainWhole(figure(found.checked))}</p>}
        {found?.problems.map((problem, at) => (
          <div key={at} className="refusal" role="alert">
            <div>
              <p className="said">
                {texts.chainBroken} {problem.seq !== null && `Entry #${figure(problem.seq)}.`}
              </p>
              <p>
                <Said text={problem.what} most={600} />
              </p>
              <p>
                <Said text={problem.advice} most={600} />
              </p>
            </div>
          </div>
        ))}
      </Dialog>
    </>
  );
}
