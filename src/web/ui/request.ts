import type { ops } from "virtual:operations";
import type { Answer } from "../data/operations.ts";
import { counted } from "./figures.tsx";
import { askedIn, hireIn } from "./requested.ts";

export type Request = Answer<typeof ops.viewApproval>;

/** The name of the agent that a request is about. */
export function nameIn(request: Request): string | null {
  const name =
    askedIn(request)["name"] ?? request.changes.fields.find(({ field }) => field === "name")?.after;
  return typeof name === "string" ? name : null;
}

export function titleOf(request: Request): string {
  switch (request.type) {
    case "hire_agent":
    case "create_agent":
      return hireIn(request) ?? "Hire an agent";
    case "change_agent":
      return request.changes.summary[0] ?? "Change an agent";
    case "approve_ceo_strategy":
      return `Plan of ${request.requestedBy?.name ?? "the root agent"}`;
    case "budget_override":
      return request.changes.summary[0] ?? "Raise a budget";
  }
}

export type RequestChoice = "approve" | "revise" | "reject";

/** The text about a decision, from the answer to it. `heldUp` is the number of outcomes that waited for it. */
export function decidedWords(
  decided: Answer<typeof ops.approve>,
  verdict: RequestChoice,
  heldUp: number,
): string {
  const isHire = decided.type === "hire_agent" || decided.type === "create_agent";
  const asked = isHire ? askedIn(decided)["name"] : undefined;
  const name = typeof asked === "string" ? asked : null;
  const requester = decided.requestedBy?.name ?? "the board";
  if (verdict === "revise") return `Sent back to ${requester} with your note.`;
  if (verdict === "reject") return name === null ? "Rejected." : `${name} is not hired.`;
  const done = name === null ? "Approved. The change is in effect." : `${name} is hired.`;
  if (heldUp === 0) return done;
  return `${done} ${counted(heldUp, "outcome")} that waited ${heldUp === 1 ? "continues" : "continue"}.`;
}
