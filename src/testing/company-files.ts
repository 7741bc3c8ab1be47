import type { CompanyFile } from "../contract/roster.ts";

/** Files of an exported company, for tests of the import. */
export const definition = (name: string, more = ""): CompanyFile => ({
  path: `agents/${name.toLowerCase()}.md`,
  content: `---\nname: ${name}\nrole: worker\n${more}---\nDo the work of ${name}.\n`,
});
export const manifest = (more: Record<string, unknown> = {}): CompanyFile => ({
  path: "company.json",
  content: JSON.stringify({
    format: "agency-company/1",
    name: "Elsewhere",
    settings: {},
    mcpServers: [],
    knowledge: [],
    ...more,
  }),
});
