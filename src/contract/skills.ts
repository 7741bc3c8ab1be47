import { z } from "zod";
import { operation } from "./operation.ts";
import { CompanyFile } from "./roster.ts";
import { CompanyId, Flag, nextCursor } from "./words.ts";

/** What a company's agents can read up on: folders with a SKILL.md, laid into every session's workspace. */

/** Of all skills of a company: each session gets them. */
export const mostSkillBytes = 4 * 1024 * 1024;
export const mostSkillFiles = 200;

export const SkillName = z
  .string()
  .regex(
    /^(?!agency(?:-|$))[a-z0-9][a-z0-9-]{0,63}$/,
    "small letters, digits and -, 64 at most; agency and agency-… are the program's own",
  );

const Skill = z.object({
  name: z.string(),
  description: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      id: z.string().describe("The knowledge file with its text and its history."),
      version: z.number(),
      size: z.number(),
    }),
  ),
  updatedAt: z.string(),
});

export const putSkill = operation({
  name: "skill.put",
  summary:
    "Give the company's agents a skill, or another version of one: all its files, SKILL.md among them.",
  input: z.strictObject({
    companyId: CompanyId,
    name: SkillName,
    files: z.array(CompanyFile).min(1).max(mostSkillFiles),
    allowCommands: Flag.optional().describe(
      "Take it also if it runs commands or widens what a brain may do. Read it first.",
    ),
  }),
  output: Skill,
  effect: "write",
  within: "company",
  needs: "board",
  http: { method: "POST", path: "/api/companies/:companyId/skills" },
});

export const listSkills = operation({
  name: "skill.list",
  summary: "The company's skills.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({ skills: z.array(Skill), nextCursor }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId/skills" },
  cli: { command: "skills list" },
});

export const removeSkill = operation({
  name: "skill.remove",
  summary: "Take a skill away; sessions that start from now on are without it. Its history stays.",
  input: z.strictObject({ companyId: CompanyId, name: SkillName }),
  output: Skill,
  effect: "write",
  within: "company",
  needs: "board",
  http: { method: "DELETE", path: "/api/companies/:companyId/skills/:name" },
  cli: { command: "skills remove", args: ["name"] },
});
