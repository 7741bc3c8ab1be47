import type { MarkName } from "./status.tsx";

export const requestMarks: Readonly<Record<string, MarkName>> = {
  pending: "pending",
  revision_requested: "wait",
  approved: "done",
  rejected: "failed",
  cancelled: "closed",
};
