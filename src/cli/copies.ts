import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { plural } from "../contract/phrases.ts";
import { type Context, daemonOptions, databaseIn, print } from "./terminal.ts";
import { example, jsonFlag, notAStore, section, wouldOverwrite } from "./texts.ts";

/** `agency backup`, `restore` and `migrate` work on the home folder itself, with or without a running daemon. */
const homeFlag = [
  "--home <folder>",
  "Folder with all data. Defaults to AGENCY_HOME, then ~/.agency.",
] as const;

export function addCopies(program: Command, context: Context): void {
  program
    .command("backup")
    .description("Back up everything to one file while Agency runs, and verify the record.")
    .argument("[file]", "File to write. Defaults to agency-<time>.backup in the current folder.")
    .option(...homeFlag)
    .option("--force", "Overwrite an existing file.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency backup /backups/agency.backup"))
    .action(async (given: string | undefined, flags: { home?: string; force?: true; json?: true }) => {
      const time = new Date().toISOString().replace(/[:.]/g, "-");
      const file = resolve(given ?? `agency-${time}.backup`);
      if (flags.force !== true && existsSync(file)) throw wouldOverwrite([file]);
      const { backUp } = await import("../daemon/copies.ts");
      const made = await backUp(placeOf(context, flags), file);
      print(
        context,
        flags,
        { file, ...made },
        `Backed up ${plural(made.rows, "row")} and ${plural(made.contents, "content")} to ${file} (${Math.ceil(made.bytes / 1024)} kB).`,
        ...made.says,
        ...problemLines(made.problems),
      );
      if (made.problems.length > 0) context.exitCode = 1;
    });
  program
    .command("restore")
    .description("Restore a backup to an empty home, or to the empty database in DATABASE_URL.")
    .argument("<file>", "A file that `agency backup` wrote.")
    .option(...homeFlag)
    .option("--audit-key <file>", "File with the audit key. Defaults to <file>.key, which the backup made.")
    .option("--despite-damage", "Restore even if the record does not verify.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency restore /backups/agency.backup --home ~/.agency-restored"))
    .action(
      async (
        file: string,
        flags: { home?: string; auditKey?: string; despiteDamage?: true; json?: true },
      ) => {
        const { restoreBackup } = await import("../daemon/copies.ts");
        const place = placeOf(context, flags);
        const done = await restoreBackup(place, resolve(file), {
          keys: flags.auditKey,
          despiteDamage: flags.despiteDamage === true,
        });
        print(
          context,
          flags,
          { home: place.home, ...done },
          `Restored ${plural(done.rows, "row")} and ${plural(done.contents, "content")} to ${place.home}, as of ${done.at}. The record verifies.`,
          ...done.says,
          ...problemLines(done.problems),
          `Start it: agency up --home ${place.home}`,
        );
      },
    );
  program
    .command("migrate")
    .description("Move all data to PostgreSQL, or back to SQLite. The daemon must not run.")
    .requiredOption("--to <store>", "sqlite, postgres://…, or a file with that address.")
    .option(...homeFlag)
    .option(...jsonFlag)
    .addHelpText(
      "after",
      example("agency migrate --to /run/secrets/database-url", "agency migrate --to sqlite"),
    )
    .action(async (flags: { to: string; home?: string; json?: true }) => {
      const isFile = /^\.{0,2}\//.test(flags.to);
      if (flags.to !== "sqlite" && !isFile && !/^postgres(ql)?:\/\//.test(flags.to))
        throw notAStore(flags.to);
      const { migrate } = await import("../daemon/migrating.ts");
      const { urlInFile } = await import("../daemon/home.ts");
      const done = await migrate(placeOf(context, flags), isFile ? urlInFile(flags.to) : flags.to);
      print(
        context,
        flags,
        done,
        `Moved ${plural(done.rows, "row")} and ${plural(done.contents, "content")} from ${nameOf[done.from]} to ${nameOf[done.to]}. Every row is equal.`,
        done.to === "postgres"
          ? `The daemon of this home uses PostgreSQL from now on. The SQLite files are kept in ${done.kept}.`
          : "The daemon of this home uses SQLite from now on. Unset DATABASE_URL if it is set. The PostgreSQL database is unchanged.",
        ...problemLines(done.problems),
      );
      if (done.problems.length > 0) context.exitCode = 1;
    });
}

const nameOf = { sqlite: "SQLite", postgres: "PostgreSQL" };

const problemLines = (problems: readonly string[]): string[] =>
  section("Damage found in the source:", problems);

function placeOf(context: Context, flags: { readonly home?: string }) {
  const { home, auditKey, secrets } = daemonOptions(context, JSON.stringify);
  return {
    home: resolve(flags.home ?? home),
    ...databaseIn(context.env),
    auditKey,
    hasSecretsKey: secrets.key !== undefined || secrets.keyFile !== undefined,
  };
}
