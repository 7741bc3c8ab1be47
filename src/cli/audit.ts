import type { Command } from "commander";
import { verifyLedger } from "../contract/ledger.ts";
import type { Output } from "../contract/operation.ts";
import { plural } from "../contract/phrases.ts";
import { clientOf, type Context, nounOf, print } from "./terminal.ts";
import { jsonFlag } from "./texts.ts";

/** `audit verify` checks every ledger. Each call checks one stretch, so no call takes long. */
export function addAuditVerify(program: Command, context: Context): void {
  nounOf(program, "audit")
    .command("verify")
    .description("Verify the record of every company and name the first bad event of each.")
    .option(...jsonFlag)
    .action(async (flags: { json?: true }) => {
      const result = await verifyAll(context.env);
      print(context, flags, result, describeAudit(result));
      if (!result.ok) context.exitCode = 1;
    });
}

type Audit = Omit<Output<typeof verifyLedger>, "nextCursor">;

export async function verifyAll(env: NodeJS.ProcessEnv): Promise<Audit> {
  const client = clientOf(env);
  let checked = 0;
  const problems: Audit["problems"] = [];
  for (let cursor: string | undefined; ;) {
    const part = await client.call(verifyLedger, { cursor });
    checked += part.checked;
    problems.push(...part.problems);
    if (part.nextCursor === null) return { ok: problems.length === 0, checked, problems };
    cursor = part.nextCursor;
  }
}

export function describeAudit({ checked, problems }: Audit): string {
  if (problems.length === 0) return `${plural(checked, "event")} verified`;
  return problems
    .map(({ companyId, seq, what }) => `Event ${seq} of ${companyId ?? "the installation"}: ${what}`)
    .join("\n");
}
