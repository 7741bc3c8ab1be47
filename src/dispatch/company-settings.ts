import { sql } from "kysely";
import { inMap } from "../contract/in-map.ts";
import { selection } from "../store/query.ts";
import { companyRow } from "../store/row-by-id.ts";
import { type Row, tables } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { type CompanyState, Settings } from "../contract/companies.ts";

export const defaultSettings: Settings = {
  maxFileBytes: 10 * 1024 * 1024,
  maxAgentBytes: 1024 ** 3,
  maxCompanyBytes: 10 * 1024 ** 3,
  maxSessions: 4,
  maxSessionProcesses: 1024,
  maxSessionMemoryMb: 4096,
  maxSessionDiskMb: 4096,
  messageRetentionDays: 90,
  defaultAdapterType: "rehearsal",
  allowedAdapterTypes: ["rehearsal", "human"],
  requireBoardApprovalForNewAgents: true,
  maxAgents: 16,
  defaultAdapterConfig: {},
  chatLLMProvider: null,
  chatLLMModel: null,
  approvalExpirySeconds: 86_400,
  maxDelegations: 3,
  maxDelegationDepth: 2,
  maxOpenOutcomes: 200,
  growthSessionMinutes: 60,
  growthWaitingOutcomes: 10,
  growthInboxMessages: 20,
  growthWaitMinutes: 60,
  monthlyBudget: { usd: 1000, tokens: 1_000_000_000, sessions: 100_000 },
  sessionBudget: { usd: 1, tokens: 1_000_000 },
  maxOutcomeUsd: null,
};

export async function settingsOf(tx: ReadTx, companyId: string): Promise<Settings> {
  return parseSettings((await tx.first(companyRow, { id: companyId }))?.settings ?? "{}");
}

/** Whether the company works. A frozen one waits for the board; an archived one is only read. */
export async function companyState(tx: ReadTx, companyId: string) {
  const row = await tx.first(companyRow, { id: companyId });
  return {
    state: row === undefined ? ("active" as const) : stateOf(row),
    name: row?.name ?? "",
    reason: row?.frozen_reason ?? null,
    since: row?.archived_at ?? row?.frozen_at ?? 0,
  };
}

export const stateOf = (row: Pick<Row<"companies">, "frozen_at" | "archived_at">): CompanyState =>
  row.archived_at !== null ? "archived" : row.frozen_at !== null ? "frozen" : "active";

/** SQL condition for a query of this table: the company of the row is not archived. */
export const inUse = (table: "messages" | "approvals") => sql<boolean>`not exists (select 1 from companies c
  where c.id = ${sql.ref(`${table}.company_id`)} and c.archived_at is not null)`;

export async function anyCompany(tx: ReadTx): Promise<boolean> {
  return (await tx.first(someCompany, {})) !== undefined;
}

const someCompany = selection("companies", [], sql`limit 1`);

/** Only changed settings are stored. All others have the default of the running version. */
export function parseSettings(stored: string): Settings {
  // Every call reads the settings, and they seldom change.
  if (parsed.size === mostParsed) parsed.clear();
  return inMap(parsed, stored, () => {
    const said = storedSettings(stored);
    const settings = Settings.parse({
      ...defaultSettings,
      ...said,
      // A budget that sets only some of its limits keeps the defaults for the others, never "no limit".
      monthlyBudget: { ...defaultSettings.monthlyBudget, ...said.monthlyBudget },
      sessionBudget: { ...defaultSettings.sessionBudget, ...said.sessionBudget },
    });
    for (const part of Object.values(settings)) Object.freeze(part);
    return Object.freeze(settings);
  });
}
const parsed = new Map<string, Settings>();
const mostParsed = 1000;

export function storedSettings(stored: string): { [name in keyof Settings]?: Settings[name] | undefined } {
  return tables.companies.settings.parse(stored);
}
