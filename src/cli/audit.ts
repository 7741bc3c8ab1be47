import type { Command } from "commander";
import { verifyLedger } from "../contract/ledger.ts";
import type { Output } from "../contract/operation.ts";
import { plural } from "../contract/phrases.ts";
import { clientOf, type Context, nounOf, print } from "./terminal.ts";
import { example, jsonFlag } from "./texts.ts";

/** `audit verify` checks every ledger. Each call checks one stretch, so no call takes long. */
export function addAuditVerify(program: Command, context: Context): void {
  nounOf(program, "audit")
    .command("verify")
    .description(
      "Verify the record of every company against its hashes and its anchor, and name what was changed.",
    )
    .option(
      "--deep",
      "Also compare every stored row with the record, and the content of every file with its hash.",
    )
    .option(...jsonFlag)
    .addHelpText("after", example("agency audit verify", "agency audit verify --deep"))
    .action(async (flags: { json?: true; deep?: true }) => {
      const result = await verifyAll(context.env, flags.deep === true);
      print(context, flags, result, describeAudit(result));
      if (!result.ok) context.exitCode = 1;
    });
}

type Audit = Omit<Output<typeof verifyLedger>, "nextCursor">;

export async function verifyAll(env: NodeJS.ProcessEnv, deep = false): Promise<Audit> {
  const client = clientOf(env);
  let [checked, rows] = [0, 0];
  const problems: Audit["problems"] = [];
  for (let cursor: string | undefined; ;) {
    const part = await client.call(verifyLedger, { cursor, deep });
    checked += part.checked;
    rows += part.rows;
    problems.push(...part.problems);
    if (part.nextCursor === null) return { ok: problems.length === 0, checked, rows, problems };
    cursor = part.nextCursor;
  }
}

export function describeAudit({ checked, rows, problems }: Audit): string {
  if (problems.length === 0)
    return `${plural(checked, "event")}${rows === 0 ? "" : ` and ${plural(rows, "row")}`} verified`;
  return problems
    .map(({ companyId, seq, row, what, intactUntil, advice }) => {
      const where = companyId === null ? "the installation" : `company ${companyId}`;
      if (row?.startsWith("knowledge/") === true) return `${what} ${advice}`;
      const subject = row === null ? `Event ${seq} of ${where}` : `Row ${row}`;
      const since =
        intactUntil === null
          ? ""
          : row === null
            ? ` The record is intact until ${intactUntil}.`
            : ` Event ${seq} of ${where} changed it last, at ${intactUntil}.`;
      return `${subject}: ${what}${since} ${advice}`;
    })
    .join("\n");
}
