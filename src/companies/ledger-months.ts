import { exportEvents, removeEvents } from "../contract/ledger.ts";
import { guarded } from "../dispatch/guarded.ts";
import { numberCursor } from "../dispatch/page.ts";
import { firstAt, listAfter } from "../events/ledger.ts";
import * as removal from "../events/removed.ts";
import { genesis } from "../store/chain.ts";
import type { ReadTx } from "../store/store.ts";
import * as texts from "./texts.ts";

/** Months of a company's ledger. The board exports them and then removes them from the database, oldest first. */
const onExport = guarded(exportEvents, async ({ tx, companyId, input }) => {
  const { month } = input;
  const { first, last, removedBefore, stretch } = await rangeOf(tx, companyId, month);
  const gone = (await tx.all(removal.removedMonths, { companyId })).find((each) => each.month === month);
  if (gone !== undefined) throw texts.monthRemoved(month, gone.file, first <= last);
  if (first > last) throw texts.nothingInMonth(month);
  const at = async (seq: number) => tx.first(listAfter, { companyId, after: seq - 1, limit: 1 });
  const previous =
    first === removedBefore + 1 ? (stretch?.hash ?? genesis) : ((await at(first - 1))?.hash ?? "");
  const head = { companyId, month, first, last, previous, hash: (await at(last))?.hash ?? "" };
  const after = Math.max(first - 1, numberCursor(input.cursor, 0));
  const limit = Math.min(removal.mostInStretch, last - after);
  const rows = limit < 1 ? [] : await tx.all(listAfter, { companyId, after, limit });
  const end = rows.at(-1)?.seq ?? last;
  return {
    ...head,
    seal: removal.sealOfMonth(tx.mac, head),
    lines: rows.map(removal.exportLine),
    nextCursor: end < last ? String(end) : null,
  };
});

const onRemove = guarded(removeEvents, async ({ tx, actor, companyId, input, record }) => {
  const { month, until, digest, fileName: file } = input;
  const { first, last, removedBefore, stretch } = await rangeOf(tx, companyId, month);
  // The answer to an earlier call may have been lost.
  if (until <= removedBefore) return { removed: 0, kept: 0 };
  if (until > last) throw texts.notInMonth(month, until);
  const after = removedBefore;
  const rows = await tx.all(listAfter, { companyId, after, limit: removal.mostInStretch });
  const [oldest] = rows;
  if (oldest !== undefined && first > oldest.seq) throw texts.earlierMonth(removal.utcMonth(oldest.at));
  const chosen = rows.filter(({ seq }) => seq <= until);
  if (chosen.at(-1)?.seq !== until) throw texts.tooManyEvents(removal.mostInStretch);
  if (!removal.isChain(tx.mac, stretch?.hash ?? genesis, after, chosen)) throw texts.changedMonth(month);
  if (removal.digestOfLines(chosen.map(removal.exportLine)) !== digest) throw texts.notExported(month);
  const done = await removal.removeStretch(tx, chosen, {
    company_id: companyId,
    month,
    digest,
    file,
    person_id: actor.personId,
  });
  await record(null, { month, first: after + 1, last: until, digest, file, ...done });
  return done;
});

/** The event numbers of a past month, without those already removed. If there are none, `first` is greater than `last`. */
async function rangeOf(tx: ReadTx, companyId: string, month: string) {
  const start = Date.parse(`${month}-01T00:00:00Z`);
  const end = new Date(start);
  end.setUTCMonth(end.getUTCMonth() + 1);
  if (end.getTime() > tx.now) throw texts.monthNotOver(month);
  const stretch = await tx.first(removal.lastRemoved, { company_id: companyId });
  const removedBefore = stretch?.last_seq ?? 0;
  const first = Math.max(removedBefore + 1, await firstAt(tx, companyId, start));
  const last = (await firstAt(tx, companyId, end.getTime())) - 1;
  return { first, last, removedBefore, stretch };
}

export const ledgerMonthHandlers = [onExport, onRemove];
