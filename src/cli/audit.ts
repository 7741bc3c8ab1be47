import type { Command } from "commander";
import { verifyLedger } from "../contract/ledger.ts";
import { plural } from "../contract/phrases.ts";
import { clientOf, type Context } from "./terminal.ts";
import { jsonFlag } from "./texts.ts";

/** `audit verify` checks the whole hash chain. Each call checks one stretch of it, so no call takes long. */
export function addAuditVerify(program: Command, context: Context): void {
  const audit = program.commands.find((command) => command.name() === "audit") ?? program.command("audit");
  audit
    .command("verify")
    .description("Verify the hash chain of the record and name the first bad event.")
    .option(...jsonFlag)
    .action(async (flags: { json?: true }) => {
      const result = await verifyAll(context.env);
      context.terminal.out(flags.json === true ? JSON.stringify(result) : describe(result));
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

function describe(result: Awaited<ReturnType<typeof verifyAll>>): string {
  return result.firstBad === null
    ? `${plural(result.checked, "event")} verified. The last one is ${result.last}, hash ${result.head}`
    : `Event ${result.firstBad.seq} was altered or is damaged: ${result.firstBad.why}.`;
}
