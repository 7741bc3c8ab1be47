import { sql } from "kysely";
import { levelOf } from "../capabilities/table.ts";
import { tables } from "../store/schema.ts";
import { JsonObject } from "../contract/words.ts";
import { type CompanyFile, exportCompany, mostFileBytes } from "../contract/roster.ts";
import type { HireConfiguration } from "../contract/hiring.ts";
import { resourceId, resourceKind } from "../contract/resources.ts";
import { configurationOf } from "../hiring/drafting.ts";
import type { AgentRow } from "../agents/table.ts";
import { parseSettings, storedSettings } from "../dispatch/company-settings.ts";
import { guarded } from "../dispatch/guarded.ts";
import { redact } from "../redaction/redact.ts";
import { brainMarks } from "../brains/registry.ts";
import { holds } from "../capabilities/rights.ts";
import { serversOf } from "../capabilities/grants.ts";
import { skillFiles } from "../companies/skill-operations.ts";
import { companyById } from "../companies/operations.ts";
import { encodeContent } from "../knowledge/content.ts";
import { selection } from "../store/query.ts";
import { writeDefinition } from "./definition.ts";
import {
  changedText,
  idsIn,
  type Manifest,
  manifestFile,
  numberedAgent,
  numberedFile,
  renumber,
} from "./folder.ts";
import { exportTooLarge, leftOutPending, leftOutRight } from "./texts.ts";

/**
 * Exports a company as files: its employed agents with the rights that a person or a boss granted for their mandates, the
 * knowledge files that people and agents created, and the skills. Outcomes, mail, state documents, logs and pending hires are
 * left out.
 */
const onExport = guarded(exportCompany, async (call) => {
  const { tx, companyId } = call;
  const company = await companyById(tx, companyId);
  const settings = parseSettings(company.settings);
  const agents = (await tx.all(employed, { company_id: companyId })).toSorted((a, b) =>
    a.slug < b.slug ? -1 : 1,
  );
  const files = await tx.all(ownFiles, { company_id: companyId });
  const ofSkills = await tx.all(skillFiles, { companyId });
  const size = [...files, ...ofSkills].reduce((sum, file) => sum + file.size, 0);
  if (size > mostFileBytes) throw exportTooLarge(size);

  const redacted: string[] = [];
  const leftOut: string[] = [];
  const shown = (file: string, value: unknown): unknown => {
    const result = redact(value, brainMarks);
    redacted.push(...result.redactedPaths.map((path) => (path === "" ? file : `${file}: ${path}`)));
    return result.value;
  };
  const contents: { path: string; content: Uint8Array }[] = [];
  const add = async (path: string, { id, hash }: { id: string; hash: string }): Promise<void> => {
    await call.record(id, { export: companyId }, "knowledge.read");
    const read = await tx.blobs.read(id, hash);
    contents.push({ path, content: changedText(read, (words) => String(shown(path, words))) });
  };
  const numbers = new Map<string, string>();
  for (const [index, { id }] of [...files, ...ofSkills].entries()) numbers.set(id, numberedFile(index + 1));
  for (const [index, { id, mandate_id }] of agents.entries()) {
    numbers.set(id, numberedAgent(index + 1));
    numbers.set(mandate_id, numberedAgent(index + 1));
  }

  const knowledge: Manifest["knowledge"] = [];
  for (const [index, row] of files.entries()) {
    const description = String(shown(manifestFile, row.description));
    const file = `knowledge/${fileName(index + 1, description, row.media_type)}`;
    knowledge.push({ file, id: row.id, description, mediaType: row.media_type });
    await add(file, row);
  }
  for (const row of ofSkills) await add(`skills/${row.path}`, row);
  const drafts: { file: string; agent: AgentRow; front: Record<string, unknown>; mandate: string }[] = [];
  for (const agent of agents) {
    const file = `agents/${Buffer.byteLength(agent.slug) > 200 ? agent.id.slice(0, 8) : agent.slug}.md`;
    const configuration = await configurationOf(tx, agent);
    const grants = [];
    for (const given of await tx.all(givenFor, { grantee_id: agent.id, scope_id: agent.mandate_id })) {
      const { resource } = given;
      const level = levelOf("grants", given);
      // A right whose chain is broken does not count: it must not become valid again in another company.
      if (travels(resource, numbers) && (await holds(tx, agent.id, resource, level)))
        grants.push({ resource, level });
      else leftOut.push(leftOutRight(agent.name, resource));
    }
    const front = { ...frontOf(agent, configuration, agents, settings), grants: grantsOf(agent, grants) };
    const { mandate, ...said } = JsonObject.parse(shown(file, { ...front, mandate: configuration.mandate }));
    drafts.push({ file, agent, front: said, mandate: String(mandate) });
  }
  const stated = {
    format: "agency-company/1",
    ...JsonObject.parse(
      shown(manifestFile, {
        name: company.name,
        settings: storedSettings(company.settings),
        mcpServers: (await tx.all(serversOf, { company_id: companyId })).map(({ name, config }) => ({
          name,
          config: tables.mcp_servers.config.parse(config),
        })),
      }),
    ),
    knowledge,
  };

  const words = [
    JSON.stringify(stated),
    ...drafts.map(({ front, mandate }) => JSON.stringify([front, mandate])),
    ...contents
      .map(({ content }) => encodeContent(content))
      .map((one) => (one.encoding === "utf8" ? one.content : "")),
  ];
  const meant = new Set(words.flatMap(idsIn));
  const named = ofSkills.filter(({ id }) => meant.has(id)).map(({ path, id }) => ({ file: path, id }));
  const manifest = { ...stated, ...(named.length === 0 ? {} : { skills: named }) };
  const text = (path: string, content: string): CompanyFile => ({
    path,
    content: renumber(content, numbers),
  });
  const output: CompanyFile[] = [
    text(manifestFile, `${JSON.stringify(manifest, null, 2)}\n`),
    ...drafts.map(({ file, agent, front, mandate }) =>
      text(
        file,
        writeDefinition(
          meant.has(agent.id) || meant.has(agent.mandate_id) ? { ...front, id: agent.id } : front,
          mandate,
        ),
      ),
    ),
    ...contents.map(({ path, content }) => ({
      path,
      ...encodeContent(changedText(content, (body) => renumber(body, numbers))),
    })),
  ];
  const pending = await tx.all(waiting, { company_id: companyId });
  leftOut.push(...pending.map(({ name }) => leftOutPending(name)));
  await call.record(companyId, {
    agents: agents.length,
    files: files.length,
    skillFiles: ofSkills.length,
    redacted: redacted.length,
  });
  return { files: output, redacted: [...new Set(redacted)], leftOut };
});

export const exportHandlers = [onExport];

/** A brain equal to the company's default is left out. In another company, the agent then gets the default there. */
function frontOf(
  agent: AgentRow,
  configuration: HireConfiguration,
  agents: readonly AgentRow[],
  settings: ReturnType<typeof parseSettings>,
): Record<string, unknown> {
  const { name, role, title, capabilities, prompt, adapterType, adapterConfig, model, effort, budget } =
    configuration;
  const boss = agents.find(({ id }) => id === agent.boss_id);
  const isDefault =
    adapterType === settings.defaultAdapterType &&
    JSON.stringify(adapterConfig) === JSON.stringify(settings.defaultAdapterConfig);
  return {
    name,
    role,
    title,
    reportsTo: agent.boss_id === null ? "board" : boss?.name,
    model,
    effort,
    capabilities,
    ...(isDefault ? {} : { adapterType, adapterConfig }),
    budget,
    autoReply: agent.auto_reply === 1 ? true : null,
    prompt,
  };
}

/** The root agent's definition always lists its grants: without a list, an import gives it the right to hire. */
function grantsOf(agent: AgentRow, grants: HireConfiguration["grants"]): HireConfiguration["grants"] | null {
  return grants.length === 0 && agent.boss_id !== null ? null : grants;
}

function travels(
  resource: HireConfiguration["grants"][number]["resource"],
  numbers: ReadonlyMap<string, string>,
): boolean {
  const kind = resourceKind(resource);
  if (kind === "outcome") return false;
  return (kind !== "kb" && kind !== "mail") || resource === "mail:board" || numbers.has(resourceId(resource));
}

function fileName(number: number, description: string, mediaType: string): string {
  const words = description
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 40)
    .replace(/^-+|-+$/g, "");
  const ending = endings[mediaType.toLowerCase()] ?? (mediaType.startsWith("text/") ? "txt" : "bin");
  return `${String(number).padStart(4, "0")}${words === "" ? "" : `-${words}`}.${ending}`;
}

const endings: Readonly<Record<string, string>> = {
  "text/markdown": "md",
  "application/json": "json",
  "text/csv": "csv",
  "text/html": "html",
  "image/png": "png",
  "image/jpeg": "jpg",
  "application/pdf": "pdf",
};

const employed = selection("agents", ["company_id"], sql`and status in ('idle', 'paused')`);

const waiting = selection("agents", ["company_id"], sql`and status = 'pending_approval' order by name`);

const ownFiles = selection(
  "files",
  ["company_id"],
  sql`and kind = 'file' and deleted_at is null order by num`,
);

/** Includes the rights to files the agent created. After an import, those become granted rights. */
const givenFor = selection("grants", ["grantee_id", "scope_id"], sql`and revoked_at is null order by num`);
