import * as contract from "../contract/companies.ts";
import type { CallContext } from "../dispatch/context.ts";
import { stateOf } from "../dispatch/company-settings.ts";
import { guarded } from "../dispatch/guarded.ts";
import { sql } from "kysely";
import { redactText } from "../redaction/redact.ts";
import { updating } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import { companyById, presentCompany } from "./operations.ts";
import * as texts from "./texts.ts";

/**
 * Stops and restarts a company:
 *
 *   active ──freeze──▶ frozen ──archive──▶ archived
 *   active ◀──thaw──── frozen ◀──unarchive─┘     (active ──archive──▶ archived freezes it on the way)
 *
 * While a company is frozen, no session starts (runtime/work.ts) and agents change nothing (dispatch/dispatch.ts). Mail is
 * delivered on time and wakes no agent. Freezing ends the running sessions; their nodes kill the processes. In an archived
 * company, the board can change nothing either, and deferred mail waits.
 */
const onFreeze = guarded(contract.freezeCompany, async (call) => {
  const row = await companyById(call.tx, call.companyId);
  if (row.frozen_at !== null) throw texts.alreadyFrozen(row);
  const reason = call.input.reason === undefined ? null : redactText(call.input.reason);
  return save(call, { ...row, frozen_at: call.tx.now, frozen_reason: reason }, { reason });
});

const onThaw = guarded(contract.thawCompany, async (call) => {
  const row = await companyById(call.tx, call.companyId);
  if (row.frozen_at === null) throw texts.notFrozen(row);
  return save(call, { ...row, frozen_at: null, frozen_reason: null });
});

const onArchive = guarded(contract.archiveCompany, async (call) => {
  const row = await companyById(call.tx, call.companyId);
  return save(call, { ...row, frozen_at: row.frozen_at ?? call.tx.now, archived_at: call.tx.now });
});

const onUnarchive = guarded(contract.unarchiveCompany, async (call) => {
  const row = await companyById(call.tx, call.companyId);
  if (row.archived_at === null) throw texts.notArchived(row);
  return save(call, { ...row, archived_at: null });
});

export const freezeHandlers = [onFreeze, onThaw, onArchive, onUnarchive];

async function save(call: CallContext, row: Row<"companies">, data: Record<string, unknown> = {}) {
  const { tx } = call;
  const { id, frozen_at, frozen_reason, archived_at } = row;
  await tx.run(updateState, { id, frozen_at, frozen_reason, archived_at });
  if (stateOf(row) !== "active")
    await tx.run(endAllSessions, { company_id: id, ended_at: tx.now, end_reason: companyFrozen });
  await call.record(id, data);
  return presentCompany(row);
}

/** The reason for the end of such a session, which does not count as one without progress. */
export const companyFrozen = "the company was frozen";

const updateState = updating("companies", ["frozen_at", "frozen_reason", "archived_at"], ["id"]);

const endAllSessions = updating(
  "sessions",
  ["ended_at", "end_reason"],
  ["company_id"],
  sql`and ended_at is null`,
);
