import { basename, resolve } from "node:path";
import { type Command } from "commander";
import { putSkill } from "../contract/skills.ts";
import { readSkillFolder } from "./folder.ts";
import { clientOf, companyOf, type Context } from "./terminal.ts";

/** `agency skills add`: a folder with a SKILL.md, as it is. Listing and removing are made from the operations. */
export function addSkills(program: Command, context: Context): void {
  const skills = program.commands.find((command) => command.name() === "skills") ?? program.command("skills");
  skills
    .command("add")
    .description("Give the company's agents a skill: a folder with a SKILL.md. Again: its new version.")
    .argument("<folder>", "The folder; its name is the skill's.")
    .option("--allow-commands", "Also if it runs commands or widens what a brain may do. Read it first.")
    .option("--company <id or name>", "The company, when there are several.")
    .option("--json", "Print the answer as JSON.")
    .action(async (folder: string, flags: { allowCommands?: true; company?: string; json?: true }) => {
      const files = readSkillFolder(folder);
      const client = clientOf(context.env);
      const skill = await client.call(putSkill, {
        companyId: await companyOf(client, flags.company),
        name: basename(resolve(folder)),
        files,
        allowCommands: flags.allowCommands === true,
      });
      context.terminal.out(
        flags.json === true
          ? JSON.stringify(skill)
          : `${skill.name}: ${skill.files.length} files. Sessions that start from now on have it.`,
      );
    });
}
