import { acknowledgeMessage, readInbox } from "../contract/mail.ts";
import { completeOutcome } from "../contract/outcomes.ts";
import type { Script } from "./scripted-runner.ts";

/** Scripts of sessions for many tests. */

export const clearInbox: Script = async ({ call }) => {
  for (const { id } of (await call(readInbox, {})).messages) await call(acknowledgeMessage, { id });
};

export const completes =
  (id: string): Script =>
  async ({ call }) => {
    await call(completeOutcome, { id });
  };

/** A session that only prints these lines. */
export const says =
  (...lines: string[]): Script =>
  async () => ({ output: `${lines.join("\n")}\n` });

export const forEver = new Promise<never>(() => undefined);

/** A session that does nothing and never ends. */
export const hang: Script = ({ hold }) => hold(forEver);
