import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { exportCompany, importCompany } from "../contract/roster.ts";
import { putSkill } from "../contract/skills.ts";
import { plural } from "../contract/phrases.ts";
import { readCompanyFolder, readSkillFolder, writeCompanyFolder } from "./folder.ts";
import { clientOf, companyOf, type Context, nounOf, print } from "./terminal.ts";
import { companyFlag, example, jsonFlag, section } from "./texts.ts";

/** `agency export` and `agency import`: a whole company as a folder, to share it or to start it on another machine. */
export function addShare(program: Command, context: Context): void {
  program
    .command("export")
    .description("Export a company to a folder: agents, settings, skills and knowledge, without secrets.")
    .argument("<folder>", "Folder to write to. It must be new or empty.")
    .option(...companyFlag)
    .option(...jsonFlag)
    .addHelpText("after", example("agency export ./bakery"))
    .action(async (folder: string, flags: { company?: string; json?: true }) => {
      const client = clientOf(context.env);
      const companyId = await companyOf(client, flags.company);
      const { files, redacted, leftOut } = await client.call(exportCompany, { companyId });
      writeCompanyFolder(folder, files);
      const written = { folder, files: files.map(({ path }) => path), redacted, leftOut };
      print(
        context,
        flags,
        written,
        `Exported ${plural(files.length, "file")} to ${folder}.`,
        ...section("Removed, because they look like secrets:", redacted),
        ...section("Left out, because they have no meaning in another company:", leftOut),
      );
    });
  program
    .command("import")
    .description("Create a company from a folder: an export, or just agents/*.md and skills/*.")
    .argument("<folder>", "Folder to read.")
    .option(
      "--name <name>",
      "Name of the new company. Defaults to the name in company.json, then to the folder's name.",
    )
    .option(
      "--allow-commands",
      "Also import settings that run commands on this machine. Read the files first.",
    )
    .option(...jsonFlag)
    .addHelpText("after", example('agency import ./bakery --name "Second bakery"'))
    .action(async (folder: string, flags: { name?: string; allowCommands?: true; json?: true }) => {
      const files = readCompanyFolder(folder);
      const isNamed = files.some(({ path }) => path === "company.json");
      const name = flags.name ?? (isNamed ? undefined : basename(resolve(folder)));
      const made = await clientOf(context.env).call(importCompany, {
        files,
        allowCommands: flags.allowCommands === true,
        name,
      });
      const { company, agents, notices } = made;
      const size = `${plural(agents, "agent")} and ${plural(made.files, "knowledge file")}`;
      const text = `Created ${company.name} (${company.id}) with ${size}.`;
      print(context, flags, made, text, ...section("Please note:", notices));
    });
}

/** `agency skills add` uploads a folder. The other `agency skills` commands are derived from the operations. */
export function addSkills(program: Command, context: Context): void {
  nounOf(program, "skills")
    .command("add")
    .description("Add a skill, or replace it with a new version.")
    .argument("<folder>", "Folder with a SKILL.md. The folder's name becomes the skill's name.")
    .option(
      "--allow-commands",
      "Accept a skill that runs commands or widens what a brain may do. Read it first.",
    )
    .option(...companyFlag)
    .option(...jsonFlag)
    .addHelpText("after", example("agency skills add ./skills/house-style"))
    .action(async (folder: string, flags: { allowCommands?: true; company?: string; json?: true }) => {
      const client = clientOf(context.env);
      const skill = await client.call(putSkill, {
        companyId: await companyOf(client, flags.company),
        name: basename(resolve(folder)),
        files: readSkillFolder(folder),
        allowCommands: flags.allowCommands === true,
      });
      const files = plural(skill.files.length, "file");
      const text = `Added the skill ${skill.name} (${files}). Every session that starts from now on has it.`;
      print(context, flags, skill, text);
    });
}
