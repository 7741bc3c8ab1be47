import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { exportCompany, importCompany } from "../contract/roster.ts";
import { readCompanyFolder, writeCompanyFolder } from "./folder.ts";
import { clientOf, companyOf, type Context } from "./terminal.ts";

/** `agency export` and `agency import`: a whole company as a folder, to share it and to start it elsewhere. */
export function addShare(program: Command, context: Context): void {
  program
    .command("export")
    .description("Write the company into a folder: agents, settings, skills, knowledge. Without secrets.")
    .argument("<folder>", "A new or an empty folder.")
    .option("--company <id or name>", "The company, when there are several.")
    .option("--json", "Print what was written as JSON.")
    .action(async (folder: string, flags: { company?: string; json?: true }) => {
      const client = clientOf(context.env);
      const companyId = await companyOf(client, flags.company);
      const { files, redacted, leftOut } = await client.call(exportCompany, { companyId });
      writeCompanyFolder(folder, files);
      const written = { folder, files: files.map(({ path }) => path), redacted, leftOut };
      context.terminal.out(
        flags.json === true
          ? JSON.stringify(written)
          : [
              `${files.length} files in ${folder}.`,
              ...listed("Taken out, because it looks like a secret:", redacted),
              ...listed("Left out, because it means nothing elsewhere:", leftOut),
            ].join("\n"),
      );
    });
  program
    .command("import")
    .description("Make a new company from a folder: an export, or just agents/*.md and skills/*.")
    .argument("<folder>", "The folder.")
    .option(
      "--name <name>",
      "The company's name; default as company.json says, else as the folder is called.",
    )
    .option("--allow-commands", "Also what runs commands on this machine. Read the files first.")
    .option("--json", "Print the answer as JSON.")
    .action(async (folder: string, flags: { name?: string; allowCommands?: true; json?: true }) => {
      const files = readCompanyFolder(folder);
      const isNamed = files.some(({ path }) => path === "company.json");
      const name = flags.name ?? (isNamed ? undefined : basename(resolve(folder)));
      const made = await clientOf(context.env).call(importCompany, {
        files,
        allowCommands: flags.allowCommands === true,
        ...(name === undefined ? {} : { name }),
      });
      context.terminal.out(
        flags.json === true
          ? JSON.stringify(made)
          : [
              `${made.company.name} (${made.company.id}): ${made.agents} agents, ${made.files} knowledge files.`,
              ...listed("Note:", made.notices),
            ].join("\n"),
      );
    });
}

const listed = (head: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [head, ...lines.map((line) => `  ${line}`)];
