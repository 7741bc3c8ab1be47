import { join } from "node:path";
import type { Client } from "../client/client.ts";
import { createCompany, listCompanies } from "../contract/companies.ts";
import type { Output } from "../contract/operation.ts";
import { importCompany } from "../contract/roster.ts";
import { definitionsIn, skillsIn } from "./folder.ts";

/**
 * Returns a company of this daemon. If there is none yet, creates one from the home's `agents` and `skills` folders, or an
 * empty one. The folders are read only this once: from then on the database says who is employed.
 */
export async function firstCompany(
  client: Client,
  options: { home: string; name: string; allowCommands?: boolean; say?: (notice: string) => void },
): Promise<Output<typeof createCompany>> {
  const [company] = (await client.call(listCompanies, { limit: 1 })).companies;
  if (company !== undefined) return company;
  const { name } = options;
  const key = { key: "first-company" };
  const files = [
    ...definitionsIn(join(options.home, "agents")),
    ...skillsIn(join(options.home, "skills")).map((file) => ({ ...file, path: `skills/${file.path}` })),
  ];
  if (files.length === 0) return client.call(createCompany, { name }, key);
  const allowCommands = options.allowCommands === true;
  const made = await client.call(importCompany, { name, files, allowCommands }, key);
  for (const notice of made.notices) options.say?.(notice);
  return made.company;
}
