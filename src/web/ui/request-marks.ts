import type { MarkName } from "./marks.ts";

export const requestMarks: Readonly<Record<string, MarkName>> = {
  pending: "pending",
  revision_requested: "wait",
  approved: "done",
  rejected: "failed",
  cancelled: "closed",
};
