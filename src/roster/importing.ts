import { importCompany } from "../contract/roster.ts";
import type { Settings } from "../contract/companies.ts";
import { Refusal } from "../contract/refusal.ts";
import { type Resource, resourceId, resourceKind } from "../contract/resources.ts";
import type { StartingBrain } from "../brains/finding.ts";
import { chooseBrain } from "../hiring/employ.ts";
import { takeOn } from "../hiring/hiring.ts";
import { agentById, type AgentRow, saveAgent } from "../agents/table.ts";
import { carve } from "../budgets/carving.ts";
import { parseSettings } from "../dispatch/company-settings.ts";
import { guarded } from "../dispatch/guarded.ts";
import { type CallContext, callContext } from "../dispatch/context.ts";
import { memberById } from "../capabilities/members.ts";
import { grantRight } from "../permissions/giving.ts";
import { marker } from "../redaction/redact.ts";
import { foundCompany, settingsFor } from "../companies/founding.ts";
import { standingPurpose } from "../companies/texts.ts";
import { keepServer } from "../companies/mcp-servers.ts";
import { readSkills } from "../companies/skill.ts";
import { demandRead, demandRoomForSkill, keepNewFile, keepSkill } from "../companies/skill-operations.ts";
import { checkDefaultBrain, presentCompany } from "../companies/operations.ts";
import { contentTooLarge } from "../knowledge/texts.ts";
import { commandsIn } from "./commands.ts";
import { type Definition, readDefinition } from "./definition.ts";
import {
  changedText,
  demandNoSecrets,
  type Folder,
  Manifest,
  manifestFile,
  readFolder,
  renumber,
} from "./folder.ts";
import * as texts from "./texts.ts";
import { arrange, type Tree } from "./tree.ts";

/**
 * Makes a new company from a folder of files. Everything is checked first. The call is one transaction: an import happens
 * completely or not at all.
 */
const onImport = (starting: () => Promise<StartingBrain>) =>
  guarded(importCompany, async (call) => {
    const { tx, input } = call;
    const draft = await draftOf(readFolder(input.files), call.newId, starting);
    const { manifest, tree, settings, notices } = draft;
    const name = input.name ?? manifest?.name;
    if (name === undefined) throw texts.companyWithoutName();
    const commands = [
      ...commandsIn(settings, manifest, tree),
      ...draft.skills.flatMap((skill) => skill.commands),
    ];
    demandRead(commands, input.allowCommands === true);

    const id = call.newId();
    // The same call, inside the new company.
    const within: CallContext = {
      ...callContext(tx, { ...call, companyId: id, operation: importCompany.name }),
      settings: async () => settings,
    };
    const { root } = tree;
    const company = await foundCompany(within, {
      id,
      rootId: draft.idOf(root),
      name,
      settings: JSON.stringify(draft.stored),
      provider: draft.brain?.provider,
      root: {
        ...(root === undefined ? {} : describedBy(root)),
        ...(await inFile(root?.file, () => chooseBrain(within, root ?? {}))),
      },
      purpose: root === undefined || root.mandate === "" ? standingPurpose : root.mandate,
      mayHire: root?.grants === undefined,
    });
    await call.record(id, {
      name,
      rootAgent: company.root_agent_id,
      agents: tree.others.length + 1,
      files: draft.files.length,
      commands,
    });
    for (const server of manifest?.mcpServers ?? []) await keepServer(within, server);
    for (const { id: fileId, description, mediaType, content } of draft.files)
      await keepNewFile(within, { id: fileId, kind: "file", description, mediaType, content });
    for (const skill of draft.skills) await keepSkill(within, skill, draft.idOfSkill);
    await hireAll(within, draft);
    await giveAll(within, draft);
    await settleAll(within, draft);
    return {
      company: presentCompany(company),
      agents: tree.others.length + 1,
      files: draft.files.length,
      notices,
      brain: draft.brain === null ? null : { type: draft.brain.type, says: draft.brain.says },
    };
  });

export const importHandlers = (starting: () => Promise<StartingBrain>) => [onImport(starting)];

type Draft = Awaited<ReturnType<typeof draftOf>>;

/** Checks everything that can be checked before anything is created, and replaces the numbers in the files by ids. */
async function draftOf(folder: Folder, newId: () => string, starting: () => Promise<StartingBrain>) {
  const ids = new Map<string, string>();
  const give = (number: string, file: string): void => {
    if (ids.has(number)) throw texts.idTwice(file);
    ids.set(number, newId());
  };
  for (const { id, file } of folder.manifest?.knowledge ?? []) give(id, file);
  for (const { id, file } of folder.manifest?.skills ?? []) give(id, `skills/${file}`);
  for (const [file, content] of folder.definitions) {
    const { id } = readDefinition(file, content).definition;
    if (id !== undefined) give(id, file);
  }
  const manifest =
    folder.manifest === undefined
      ? undefined
      : Manifest.parse(JSON.parse(renumber(JSON.stringify(folder.manifest), ids)));
  if (manifest !== undefined) demandNoSecrets(manifestFile, manifest);
  const brain = manifest?.settings?.defaultAdapterType === undefined ? await starting() : null;
  const stored = { ...(brain === null ? {} : settingsFor(brain)), ...manifest?.settings };
  const settings = parseSettings(JSON.stringify(stored));
  await inFile(manifestFile, () => checkDefaultBrain(settings, manifest?.settings ?? {}));
  const read = [...folder.definitions].map(([file, content]) => {
    const one = readDefinition(file, renumber(content, ids));
    const { wrong: _, ...said } = one.definition;
    demandNoSecrets(file, said);
    return one;
  });
  const tree = arrange(read.map(({ definition }) => definition));
  const made = new Map([tree.root, ...definitionsOf(tree)].map((one) => [one, one?.id ?? newId()]));
  const files = (manifest?.knowledge ?? []).map((entry) => {
    const content = folder.knowledge.get(entry.file) ?? new Uint8Array();
    if (content.byteLength > settings.maxFileBytes)
      throw contentTooLarge(content.byteLength, settings.maxFileBytes);
    return { ...entry, content: localText(entry.file, content, ids) };
  });
  const skills = readSkills(
    [...folder.skills].map(([path, content]) => ({
      path,
      content: localText(`skills/${path}`, content, ids),
    })),
  );
  demandRoomForSkill(skills.flatMap((skill) => skill.files.map(({ content }) => content.byteLength)));
  const skillIds = new Map(manifest?.skills?.map(({ file, id }) => [file, id]));
  const notices = [...read.flatMap((one) => one.notices), ...noticesOf(settings, manifest, tree)];
  return {
    manifest,
    brain,
    stored,
    settings,
    tree,
    files,
    skills,
    notices,
    /** The id that the agent of a definition gets. Undefined means the root agent without a definition. */
    idOf: (definition: Definition | undefined): string => made.get(definition) ?? "",
    idOfSkill: (path: string): string => skillIds.get(path) ?? newId(),
  };
}

/** The content with the new ids. A secret in it is refused. */
function localText(file: string, content: Uint8Array, ids: ReadonlyMap<string, string>): Uint8Array {
  return changedText(content, (words) => {
    demandNoSecrets(file, words);
    return renumber(words, ids);
  });
}

function noticesOf(settings: Settings, manifest: Manifest | undefined, tree: Tree): string[] {
  const all = definitionsOf(tree);
  return [
    ...(settings.requireBoardApprovalForNewAgents ? [] : [texts.hiresWithoutApproval]),
    ...(hasMarker(settings) ? [texts.secretInSettings(manifestFile)] : []),
    ...all
      .filter(({ adapterConfig }) => hasMarker(adapterConfig))
      .map(({ name }) => texts.pausedForSecret(name)),
    ...all.flatMap(({ name, grants = [], byTools }) =>
      grants
        .filter(({ resource }) => byTools.includes(resource) && isMissing(manifest, resource))
        .map(({ resource }) => texts.unknownServer(name, resourceId(resource))),
    ),
  ];
}

/** Whether the folder lacks a server. The company is new, so it has no other servers. */
const isMissing = (manifest: Manifest | undefined, resource: Resource): boolean =>
  resourceKind(resource) === "mcp" &&
  manifest?.mcpServers.some(({ name }) => name === resourceId(resource)) !== true;

/** Hires every boss before its reports, in the order of the tree. */
async function hireAll(call: CallContext, { tree, idOf }: Draft): Promise<void> {
  const budget = tree.root?.budget;
  if (budget !== undefined)
    await inFile(tree.root?.file, async () =>
      carve(call.tx, await agentById(call.tx, idOf(tree.root)), budget),
    );
  for (const { definition, boss } of tree.others) {
    const member = await memberById(call.tx, idOf(boss ?? tree.root));
    if (member === undefined) throw new Error("A boss is created before its reports.");
    const {
      file,
      wrong: _w,
      id: _i,
      reportsTo: _r,
      grants: _g,
      byTools: _b,
      autoReply: _a,
      ...input
    } = definition;
    await inFile(file, () => takeOn(call, { input, boss: member, waits: false, id: idOf(definition) }));
  }
}

/** Grants rights after all agents exist: a right to write to an agent needs that agent. */
async function giveAll(call: CallContext, { tree, idOf, manifest }: Draft): Promise<void> {
  for (const definition of definitionsOf(tree)) {
    const receiver = await memberById(call.tx, idOf(definition));
    if (receiver === undefined) throw new Error("An agent that was just created is missing.");
    for (const { resource, level } of definition.grants ?? [])
      if (!definition.byTools.includes(resource) || !isMissing(manifest, resource))
        await inFile(definition.file, () => grantRight(call, { giver: null, receiver, resource, level }));
  }
}

async function settleAll(call: CallContext, { tree, idOf }: Draft): Promise<void> {
  for (const definition of definitionsOf(tree)) {
    const agent = await agentById(call.tx, idOf(definition));
    const paused = hasMarker(definition.adapterConfig);
    const status: AgentRow["status"] = paused ? "paused" : agent.status;
    await saveAgent(call.tx, agent, { status, auto_reply: definition.autoReply === true ? 1 : 0 });
    if (paused)
      await call.record(agent.id, { reason: "a secret is missing in the configuration" }, "agent.pause");
  }
}

const definitionsOf = ({ root, others }: Tree): Definition[] => [
  ...(root === undefined ? [] : [root]),
  ...others.map(({ definition }) => definition),
];

function describedBy(definition: Definition): Partial<AgentRow> {
  const { name, role, title, capabilities, prompt, model, effort, budget } = definition;
  return {
    name,
    role,
    title: title ?? null,
    capabilities: capabilities ?? null,
    prompt: prompt ?? null,
    model: model ?? null,
    effort: effort ?? null,
    budget: budget === undefined ? null : JSON.stringify(budget),
  };
}

const hasMarker = (value: unknown): boolean => JSON.stringify(value ?? null).includes(marker);

/** Adds the name of the file to a refusal. */
async function inFile<T>(file: string | undefined, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal) || file === undefined) throw error;
    throw new Refusal(
      error.code === "not_found" ? "invalid" : error.code,
      `${file}: ${error.message}`,
      error.hint,
    );
  }
}
