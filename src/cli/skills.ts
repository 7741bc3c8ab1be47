import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { putSkill } from "../contract/skills.ts";
import { plural } from "../contract/phrases.ts";
import { readSkillFolder } from "./folder.ts";
import { clientOf, companyOf, type Context, nounOf, print } from "./terminal.ts";
import { companyFlag, example, jsonFlag } from "./texts.ts";

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
