import { z } from "zod";
import { operation } from "./operation.ts";
import { CompanyFile } from "./roster.ts";
import { CompanyId, Flag, nextCursor } from "./words.ts";

/** Skills: folders with a SKILL.md that explain how things are done. Every session finds them in its workspace. */

/** Limits for all skills of a company together, because every session gets a copy of them. */
export const mostSkillBytes = 4 * 1024 * 1024;
export const mostSkillFiles = 200;

export const SkillName = z
  .string()
  .regex(
    /^(?!agency(?:-|$))[a-z0-9][a-z0-9-]{0,63}$/,
    "up to 64 lowercase letters, digits and hyphens, not starting with agency",
  )
  .describe(
    "Name of the skill: up to 64 lowercase letters, digits and hyphens. Names that start with `agency` are reserved.",
  );

const Skill = z.object({
  name: z.string(),
  description: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      id: z.string().describe("Id of the knowledge file with its text and history."),
      version: z.number(),
      size: z.number(),
    }),
  ),
  updatedAt: z.string(),
});

export const putSkill = operation("skill.put", "POST /api/companies/:companyId/skills", {
  summary: "Add a skill to the company, or replace it.",
  input: z.strictObject({
    companyId: CompanyId,
    name: SkillName,
    files: z
      .array(CompanyFile)
      .min(1)
      .max(mostSkillFiles)
      .describe(`All files of the skill, 1 to ${mostSkillFiles}; one of them is SKILL.md.`),
    allowCommands: Flag.optional().describe(
      "true accepts a skill that runs commands or gives a brain more rights. Read its files first. Default false.",
    ),
  }),
  output: Skill,
  carriesFiles: mostSkillFiles,
});

export const listSkills = operation("skill.list", "GET /api/companies/:companyId/skills", {
  summary: "List the skills of the company.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({ skills: z.array(Skill), nextCursor }),
  needs: "member",
  cli: { command: "skills list" },
});

export const removeSkill = operation("skill.remove", "DELETE /api/companies/:companyId/skills/:name", {
  summary: "Remove a skill. Sessions that start later don't have it. Its history stays.",
  input: z.strictObject({ companyId: CompanyId, name: SkillName }),
  output: Skill,
  cli: { command: "skills remove <name>", example: "style-guide" },
});
