import type { Command } from "commander";
import { verifyLedger } from "../contract/ledger.ts";
import type { Output } from "../contract/operation.ts";
import { plural } from "../contract/phrases.ts";
import { clientOf, type Context, nounOf, print } from "./terminal.ts";
import { jsonFlag } from "./texts.ts";

/** `audit verify` checks the whole hash chain. Each call checks one stretch of it, so no call takes long. */
export function addAuditVerify(program: Command, context: Context): void {
  nounOf(program, "audit")
    .command("verify")
    .description("Verify the hash chain of the record and name the first bad event.")
    .option(...jsonFlag)
    .action(async (flags: { json?: true }) => {
      const result = await verifyAll(context.env);
      const verified = `${plural(result.checked, "event")} verified. The last one is ${result.last}, hash ${result.head}`;
      print(context, flags, result, badEvent(result) ?? verified);
      if (!result.ok) context.exitCode = 1;
    });
}

export async function verifyAll(env: NodeJS.ProcessEnv) {
  const client = clientOf(env);
  let checked = 0;
  for (let after = 0; ;) {
    const part = await client.call(verifyLedger, { after });
    checked += part.checked;
    after = part.last;
    if (!part.ok || part.complete)
      return { ok: part.ok, checked, head: part.head, last: part.last, firstBad: part.firstBad };
  }
}

export const badEvent = ({ firstBad }: Pick<Output<typeof verifyLedger>, "firstBad">): string | undefined =>
  firstBad === null ? undefined : `Event ${firstBad.seq} was altered or is damaged: ${firstBad.why}.`;
