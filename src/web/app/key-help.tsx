import { type ReactNode, useState } from "react";
import { Dialog } from "../ui/dialog.tsx";
import { lettersAreOff, switchLetters } from "../ui/keys.ts";
import { keyHelp, lettersAct } from "./key-texts.ts";

export function KeyHelp({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }): ReactNode {
  const [isOff, setOff] = useState(lettersAreOff);
  return (
    <Dialog title="Keys" isOpen={isOpen} onClose={onClose} wide>
      <div className="keys">
        {keyHelp.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, what]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <label className="check">
        <input
          type="checkbox"
          checked={!isOff}
          onChange={({ target }) => {
            switchLetters(target.checked);
            setOff(!target.checked);
          }}
        />
        {lettersAct}
      </label>
    </Dialog>
  );
}
