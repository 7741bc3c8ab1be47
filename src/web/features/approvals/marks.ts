import type { MarkName } from "../../ui/status.tsx";

export const marks: Readonly<Record<string, MarkName>> = {
  pending: "pending",
  revision_requested: "wait",
  approved: "done",
  rejected: "failed",
  cancelled: "closed",
};
