import { join } from "node:path";
import type { z } from "zod";
import type { Client } from "../client/client.ts";
import { type ChosenBrain, type Company, createCompany, listCompanies } from "../contract/companies.ts";
import { importCompany } from "../contract/roster.ts";
import { definitionsIn, skillsIn } from "./folder.ts";

/**
 * Returns a company of this daemon and, if it is new, the brain it got. If there is no company yet, creates one from the home's
 * `agents` and `skills` folders, or an empty one. The folders are read only this once: from then on the database decides who is
 * employed.
 */
export async function firstCompany(
  client: Client,
  options: { home: string; name: string; allowCommands?: boolean; say?: (notice: string) => void },
): Promise<{ company: z.infer<typeof Company>; brain?: z.infer<typeof ChosenBrain> | null }> {
  const { companies } = await client.call(listCompanies, { archived: true });
  const company = companies.find(({ state }) => state !== "archived") ?? companies[0];
  if (company !== undefined) return { company };
  const { name } = options;
  const key = { key: "first-company" };
  const files = [
    ...definitionsIn(join(options.home, "agents")),
    ...skillsIn(join(options.home, "skills")).map((file) => ({ ...file, path: `skills/${file.path}` })),
  ];
  if (files.length === 0) {
    const founded = await client.call(createCompany, { name }, key);
    return { company: founded, brain: founded.brain };
  }
  const allowCommands = options.allowCommands === true;
  const made = await client.call(importCompany, { name, files, allowCommands }, key);
  for (const notice of made.notices) options.say?.(notice);
  return made;
}
