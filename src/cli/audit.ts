import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { verifyLedger } from "../contract/ledger.ts";
import type { Output } from "../contract/operation.ts";
import { plural } from "../contract/phrases.ts";
import { clientOf, companyOf, type Context, nounOf, print } from "./terminal.ts";
import { example, jsonFlag, wouldOverwrite } from "./texts.ts";
import { homeOf } from "./where.ts";

/**
 * `audit verify` checks every ledger. Each call checks one stretch, so no call takes long. `audit export` writes a month to a
 * file.
 */
export function addAudit(program: Command, context: Context): void {
  const audit = nounOf(program, "audit");
  audit
    .command("verify")
    .description(
      "Verify the record of every company against its hashes and its anchor, and name each change.",
    )
    .argument("[file]", "Verify only this file, which `agency audit export` wrote. It needs no daemon.")
    .option(
      "--deep",
      "Also compare every stored row with the record, and the content of every file with its hash.",
    )
    .option(
      "--audit-key <file>",
      "File with the audit key, to check an exported file. Defaults to the one in the home folder.",
    )
    .option(...jsonFlag)
    .addHelpText(
      "after",
      example("agency audit verify", "agency audit verify --deep", "agency audit verify 2030-01.ledger"),
    )
    .action(async (file: string | undefined, flags: { json?: true; deep?: true; auditKey?: string }) => {
      if (file !== undefined) {
        const { keysAtHand, verifyFile } = await import("../daemon/ledger-file.ts");
        const given = { key: context.env["AGENCY_AUDIT_KEY"], file: flags.auditKey };
        const found = await verifyFile(resolve(file), keysAtHand(homeOf(context.env), given));
        print(
          context,
          flags,
          { ok: true, ...found },
          `${plural(found.events, "event")} of ${found.month} verified`,
        );
        return;
      }
      const result = await verifyAll(context.env, flags.deep === true);
      print(context, flags, result, describeAudit(result));
      if (!result.ok) context.exitCode = 1;
    });
  audit
    .command("export")
    .description(
      "Export the events of a month that is over to a file, and remove them from the database on request.",
    )
    .requiredOption("--month <month>", "The month, in UTC, such as 2030-01.")
    .requiredOption("--to <file>", "File to write.")
    .option(
      "--remove",
      "Also remove these events from the database, except those of open work. An existing file is continued.",
    )
    .option("--company <id or name>", "The company. Not needed if there is only one.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency audit export --month 2030-01 --to 2030-01.ledger"))
    .action(async (flags: { month: string; to: string; remove?: true; company?: string; json?: true }) => {
      const { exportMonth, removeMonth } = await import("../daemon/ledger-file.ts");
      const client = clientOf(context.env);
      const of = { companyId: await companyOf(client, flags.company), month: flags.month };
      const file = resolve(flags.to);
      const isThere = existsSync(file);
      if (isThere && flags.remove !== true) throw wouldOverwrite([file], "Choose another path with --to.");
      const written = isThere ? null : await exportMonth(client, of, file);
      const removed = flags.remove === true ? await removeMonth(client, of, file) : null;
      print(
        context,
        flags,
        { file, ...of, ...written, ...removed },
        ...(written === null
          ? []
          : [
              `Exported ${plural(written.events, "event")} to ${file} (${Math.ceil(written.bytes / 1024)} kB).`,
            ]),
        ...(removed === null
          ? []
          : [
              `Removed ${plural(removed.removed, "event")} from the database. ${plural(removed.kept, "event")} of open work stayed. Keep the file: it has the only copy.`,
            ]),
      );
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
