import type { MarkName } from "./marks.ts";
import { fullTime } from "./time.tsx";

interface Receipts {
  readonly deliverAt: string;
  readonly deliveredAt: string | null;
  readonly readAt: string | null;
  readonly acknowledgedAt: string | null;
  readonly cancelledAt: string | null;
  readonly failure: string | null;
  readonly result: string | null;
}

/** If a message became an outcome, its receipt has the outcome's id. The link beside it leads there. */
const withoutIds = (text: string): string =>
  text.replace(/\boutcome [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "it became an outcome");

/** The progress of a message, as a mark and a sentence. */
export function receiptOf(one: Receipts): { mark: MarkName; label: string } {
  if (one.failure !== null) return { mark: "failed", label: `Not delivered: ${one.failure}` };
  if (one.cancelledAt !== null) return { mark: "closed", label: "Cancelled before it was delivered" };
  if (one.acknowledgedAt !== null)
    return { mark: "done", label: one.result === null ? "Done" : `Done: ${withoutIds(one.result)}` };
  if (one.readAt !== null) return { mark: "submitted", label: "Read, not done yet" };
  if (one.deliveredAt !== null) return { mark: "idle", label: "Delivered, not read yet" };
  return { mark: "wait", label: `Will be delivered ${fullTime(one.deliverAt)}` };
}
