import * as contract from "../contract/organization.ts";
import { notFound } from "../contract/refusal.ts";
import { ranks } from "../contract/resources.ts";
import { guarded, parseSettings, storedSettings } from "../capabilities/guarded.ts";
import { cursorParts, defaultPage, pageAfter } from "../capabilities/page.ts";
import { redact } from "../capabilities/redaction.ts";
import { insertGrant } from "../capabilities/table.ts";
import { checkBrainConfig, findBrain } from "../brains/registry.ts";
import { demandCovers } from "../budgets/carving.ts";
import { afterChange } from "../agents/halting.ts";
import { chooseBrain, employ } from "../agents/employ.ts";
import { insertOutcome } from "../outcomes/table.ts";
import { dynamic, query } from "../store/query.ts";
import type { Schema } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/** A company begins with its root agent, which answers to the board, and the perpetual outcome that agent serves. */
const onCreate = guarded(contract.createCompany, async (call) => {
  const { tx, input } = call;
  const id = call.newId();
  const rootId = call.newId();
  const row = {
    id,
    name: input.name,
    settings: "{}",
    root_agent_id: rootId,
    root_outcome_id: rootId,
    created_at: tx.now,
  };
  await tx.run(insertRow, row);
  await insertOutcome(
    tx,
    {
      id: rootId,
      company_id: id,
      kind: "perpetual",
      title: `Help the board of ${input.name} accomplish its work`,
      description:
        "The standing purpose of this company. Everything the organization does serves it; it never ends.",
      acceptance: null,
      responsible_id: rootId,
      delegated: 1,
      delegated_by: null,
      urgent: 0,
      important: 0,
      parents: [],
      dependsOn: [],
    },
    call.actor,
  );
  await employ(
    tx,
    {
      id: rootId,
      companyId: id,
      name: "Root",
      role: "CEO",
      title: null,
      capabilities: null,
      prompt: null,
      brain: await chooseBrain(call, {}),
      model: null,
      effort: null,
      budget: null,
      autoReply: false,
      pending: false,
      bossId: null,
      mandateId: rootId,
      madeForMandate: false,
      generation: 1,
      stateFileId: call.newId(),
    },
    call.actor,
  );
  // Hiring is on for the root agent and off for everybody else, who get it as any other right: by a grant.
  await insertGrant(tx, {
    id: call.newId(),
    company_id: id,
    grantee_id: rootId,
    resource: "org:hire",
    level: ranks.use,
    scope_id: rootId,
    origin: "board",
    granted_by: null,
    parent_id: null,
    structural: 0,
    broken: 0,
    created_at: tx.now,
    revoked_at: null,
  });
  await call.record(id, { name: input.name, rootAgent: rootId });
  return present(row);
});

const onList = guarded(contract.listCompanies, async ({ tx, caller, input }) => {
  const own = caller.companyId;
  const [after = ""] = cursorParts(input.cursor, "id");
  const rows = await tx.all(
    dynamic((db) => {
      const list = db.selectFrom("companies").selectAll().where("id", ">", after);
      return (own === null ? list : list.where("id", "=", own))
        .orderBy("id")
        .limit((input.limit ?? defaultPage) + 1);
    }),
    {},
  );
  const { page, nextCursor } = pageAfter(rows, input.limit, (row) => row.id);
  return { companies: page.map(present), nextCursor };
});

const onView = guarded(contract.viewCompany, async ({ tx, companyId }) =>
  present(await companyById(tx, companyId)),
);

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
  await call.record(companyId, {
    ...(name === undefined ? {} : { name }),
    ...Object(redact(settings).value),
  });
  return present(changed);
});

/** Of a budget only the parts that are said change. */
function merged(stored: ReturnType<typeof storedSettings>, said: ReturnType<typeof storedSettings>) {
  return {
    ...stored,
    ...said,
    monthlyBudget: { ...stored.monthlyBudget, ...said.monthlyBudget },
    sessionBudget: { ...stored.sessionBudget, ...said.sessionBudget },
  };
}

/** Whatever brain agents get without being asked must be one they can have. */
function checkDefaultBrain(settings: contract.Settings, changed: Readonly<Record<string, unknown>>): void {
  const { defaultAdapterType, defaultAdapterConfig, allowedAdapterTypes, chatLLMProvider } = settings;
  if ("defaultAdapterType" in changed || "defaultAdapterConfig" in changed)
    checkBrainConfig(defaultAdapterType, defaultAdapterConfig);
  for (const type of allowedAdapterTypes) findBrain(type);
  if (chatLLMProvider !== null) findBrain(chatLLMProvider);
}

export const companyHandlers = [onCreate, onList, onView, onUpdate];

function present(row: Schema["companies"]) {
  return {
    id: row.id,
    name: row.name,
    settings: withoutSecrets(parseSettings(row.settings)),
    rootAgentId: row.root_agent_id,
    rootOutcomeId: row.root_outcome_id,
    createdAt: new Date(row.created_at).toISOString(),
  };
}

/** Every member may look at the settings, and the configuration of a brain may hold keys. */
function withoutSecrets(settings: contract.Settings): contract.Settings {
  return { ...settings, defaultAdapterConfig: { ...Object(redact(settings.defaultAdapterConfig).value) } };
}

async function companyById(tx: ReadTx, id: string): Promise<Schema["companies"]> {
  const row = await tx.first(byId, { id });
  if (row === undefined) throw notFound("company", id);
  return row;
}

const byId = query((db, p: { id: string }) => db.selectFrom("companies").selectAll().where("id", "=", p.id));

const insertRow = query((db, p: Schema["companies"]) =>
  db.insertInto("companies").values({
    id: p.id,
    name: p.name,
    settings: p.settings,
    root_agent_id: p.root_agent_id,
    root_outcome_id: p.root_outcome_id,
    created_at: p.created_at,
  }),
);

const updateRow = query((db, p: { id: string; name: string; settings: string }) =>
  db.updateTable("companies").set({ name: p.name, settings: p.settings }).where("id", "=", p.id),
);
