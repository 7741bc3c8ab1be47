import { JsonObject } from "../contract/words.ts";
import * as contract from "../contract/companies.ts";
import { inputSchema } from "../contract/json-schema.ts";
import { notFound } from "../contract/refusal.ts";
import { defaultSettings, parseSettings, stateOf, storedSettings } from "../dispatch/company-settings.ts";
import { guarded } from "../dispatch/guarded.ts";
import { redact } from "../redaction/redact.ts";
import { dashed } from "../agents/agent.ts";
import type { StartingBrain } from "../brains/finding.ts";
import { brainMarks, checkBrainConfig, findBrain } from "../brains/registry.ts";
import { demandCovers } from "../budgets/carving.ts";
import { afterChange } from "../budgets/halting.ts";
import { releaseAll } from "../budgets/outcome-limits.ts";
import { updating } from "../store/query.ts";
import { companyRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { foundCompany, settingsFor } from "./founding.ts";
import { standingPurpose } from "./texts.ts";

const onCreate = (starting: () => Promise<StartingBrain>) =>
  guarded(contract.createCompany, async (call) => {
    const brain = await starting();
    const { type, config, says, provider } = brain;
    const row = await foundCompany(call, {
      id: call.newId(),
      rootId: call.newId(),
      name: call.input.name,
      settings: JSON.stringify(settingsFor(brain)),
      provider,
      root: { brain_type: type, brain_config: checkBrainConfig(type, config) },
      purpose: standingPurpose,
      mayHire: true,
    });
    await call.record(row.id, { name: row.name, rootAgent: row.root_agent_id, brain: type });
    return { ...presentCompany(row), brain: { type, says } };
  });

const onView = guarded(contract.viewCompany, async ({ tx, companyId }) =>
  presentCompany(await companyById(tx, companyId)),
);

/** The defaults of the running version. They apply to every setting without a stored value. */
const onSettings = guarded(contract.describeSettings, async () => {
  const schema = inputSchema(contract.Settings);
  const properties = Object.entries(JsonObject.parse(schema["properties"])).map(([name, part]) => [
    name,
    { ...JsonObject.parse(part), default: JsonObject.parse(defaultSettings)[name] },
  ]);
  return { schema: { ...schema, required: undefined, properties: Object.fromEntries(properties) } };
});

const onUpdate = guarded(contract.updateCompany, async (call) => {
  const { tx, companyId, input } = call;
  const row = await companyById(tx, companyId);
  const { name, companyId: _, ...settings } = input;
  const changed = {
    ...row,
    name: name ?? row.name,
    settings: JSON.stringify(merged(storedSettings(row.settings), settings)),
  };
  checkDefaultBrain(parseSettings(changed.settings), settings);
  await tx.run(updateRow, { id: row.id, name: changed.name, settings: changed.settings });
  if (settings.monthlyBudget !== undefined) {
    await demandCovers(tx, companyId, parseSettings(changed.settings));
    await afterChange(call, companyId);
  }
  if (settings.maxOutcomeUsd !== undefined) await releaseAll(call);
  await call.record(companyId, {
    ...(name === undefined ? {} : { name }),
    ...JsonObject.parse(redact(settings, brainMarks).value),
  });
  return presentCompany(changed);
});

/** A change of a budget affects only the measures that it names. */
function merged(stored: ReturnType<typeof storedSettings>, said: ReturnType<typeof storedSettings>) {
  return {
    ...stored,
    ...said,
    monthlyBudget: { ...stored.monthlyBudget, ...said.monthlyBudget },
    sessionBudget: { ...stored.sessionBudget, ...said.sessionBudget },
  };
}

/** Brains that agents get by default, or may hire with, must be installed and configured correctly. */
export function checkDefaultBrain(
  settings: contract.Settings,
  changed: Readonly<Record<string, unknown>>,
): void {
  const { defaultAdapterType, defaultAdapterConfig, allowedAdapterTypes, chatLLMProvider } = settings;
  if ("defaultAdapterType" in changed || "defaultAdapterConfig" in changed)
    checkBrainConfig(defaultAdapterType, defaultAdapterConfig);
  for (const type of allowedAdapterTypes) findBrain(type);
  if (chatLLMProvider !== null) findBrain(chatLLMProvider);
}

/** `starting` returns the brain of a company whose founder names none. */
export const companyHandlers = (starting: () => Promise<StartingBrain>) => [
  onCreate(starting),
  onView,
  onSettings,
  onUpdate,
];

export function presentCompany(row: Row<"companies">) {
  return {
    id: row.id,
    name: row.name,
    slug: dashed(row.name),
    state: stateOf(row),
    frozenAt: timeOf(row.frozen_at),
    frozenReason: row.frozen_reason,
    archivedAt: timeOf(row.archived_at),
    settings: withoutSecrets(parseSettings(row.settings)),
    rootAgentId: row.root_agent_id,
    rootOutcomeId: row.root_outcome_id,
    createdAt: new Date(row.created_at).toISOString(),
  };
}

const timeOf = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

/** Every agent of the company may read the settings, and the configuration of a brain may hold secrets. */
function withoutSecrets(settings: contract.Settings): contract.Settings {
  return contract.Settings.parse(redact(settings, brainMarks).value);
}

export async function companyById(tx: ReadTx, id: string): Promise<Row<"companies">> {
  const row = await tx.first(companyRow, { id });
  if (row === undefined) throw notFound("company", id);
  return row;
}

const updateRow = updating("companies", ["name", "settings"], ["id"]);
