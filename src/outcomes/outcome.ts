import { sql, type SqlBool } from "kysely";
import type { Row } from "../store/schema.ts";
import * as texts from "./texts.ts";

/**
 * The rules of an outcome, without I/O.
 *
 *   open ───────submit────▶ submitted    only a delegated outcome is submitted, for its manager to review
 *   open, submitted ──complete──▶ completed
 *   open, submitted ──close─────▶ closed    given up; a completed outcome must be reopened before it can be closed
 *   submitted, completed, closed ──reopen──▶ open
 *
 * "Live" means open or submitted; rights granted for an outcome are valid while it is live. "Blocked" is a property of an
 * open outcome, not a state. Two invariants: a completed outcome has no live child, and every live outcome except the
 * root has a live parent.
 */
export type OutcomeRow = Row<"outcomes">;

export function isLive(outcome: Pick<OutcomeRow, "status">): boolean {
  return outcome.status === "open" || outcome.status === "submitted";
}

/** Whether the outcome is a goal: the board delegated it to the root agent and verifies it. */
export function isGoal(outcome: Pick<OutcomeRow, "kind" | "delegated" | "delegated_by">): boolean {
  return outcome.kind === "work" && outcome.delegated === 1 && outcome.delegated_by === null;
}

/** isLive() in SQL. */
export const statusIsLive = sql<SqlBool>`status in ('open', 'submitted')`;

export function demandLive(outcome: Pick<OutcomeRow, "id" | "title" | "status">): void {
  if (!isLive(outcome)) throw texts.notLive(outcome);
}

/**
 * Only work can be submitted, completed or closed. The root never ends, a mandate ends with its agent, and an inbox ends when
 * it is empty.
 */
export function demandEndable(outcome: Pick<OutcomeRow, "id" | "title" | "kind" | "status">): void {
  demandLive(outcome);
  if (outcome.kind === "perpetual") throw texts.rootNeverEnds(outcome);
  if (outcome.kind === "mandate") throw texts.mandateEndsWithAgent(outcome);
  if (outcome.kind === "inbox") throw texts.inboxEndsByItself(outcome);
}

export function demandSubmittable(
  outcome: Pick<OutcomeRow, "id" | "title" | "kind" | "status" | "delegated">,
): void {
  demandEndable(outcome);
  if (outcome.status === "submitted") throw texts.alreadySubmitted(outcome);
  if (outcome.delegated === 0) throw texts.notDelegated(outcome);
}

export function demandNoLiveChildren(
  outcome: Pick<OutcomeRow, "id" | "title">,
  children: readonly { id: string; title: string; kind: string }[],
): void {
  // An agent's inbox is a child of its mandate, but not a part of the work.
  const live = children.filter(({ kind }) => kind !== "inbox");
  if (live.length === 0) return;
  throw texts.hasLiveChildren(outcome, live);
}

export function demandReopenable(
  outcome: OutcomeRow,
  parents: readonly Pick<OutcomeRow, "id" | "title" | "status">[],
): void {
  if (outcome.status === "open") throw texts.alreadyOpen(outcome);
  if (outcome.kind === "mandate") throw texts.mandateOfAgentThatLeft(outcome);
  if (outcome.kind === "inbox") throw texts.inboxOpensByItself(outcome);
  if (isLive(outcome)) return;
  const completed = parents.find(({ status }) => status === "completed");
  if (completed !== undefined || !parents.some(isLive))
    throw texts.parentEnded(outcome, completed ?? parents[0]);
}

/** The text of an outcome's file. Values are written as JSON strings, which are valid YAML, so no value can end the front matter. */
export function render(
  outcome: OutcomeRow,
  around: {
    parents: readonly string[];
    children: readonly string[];
    dependsOn: readonly string[];
    deliverables: readonly string[];
    responsible: string | null;
  },
): string {
  const list = (ids: readonly string[]): string => `[${ids.map((id) => JSON.stringify(id)).join(", ")}]`;
  const front = [
    `title: ${JSON.stringify(outcome.title)}`,
    `kind: ${outcome.kind}`,
    `status: ${outcome.status}`,
    ...(outcome.rationale === null ? [] : [`rationale: ${JSON.stringify(outcome.rationale)}`]),
    `urgent: ${outcome.urgent === 1}`,
    `important: ${outcome.important === 1}`,
    ...(outcome.blocked_reason === null ? [] : [`blocked: ${JSON.stringify(outcome.blocked_reason)}`]),
    `parents: ${list(around.parents)}`,
    `children: ${list(around.children)}`,
    `dependsOn: ${list(around.dependsOn)}`,
    ...(around.deliverables.length === 0 ? [] : [`deliverables: ${list(around.deliverables)}`]),
    `responsible: ${JSON.stringify(around.responsible)}`,
  ];
  const body = [`# ${outcome.title}`];
  if (outcome.description !== "") body.push("", outcome.description);
  if (outcome.acceptance !== null) body.push("", "## Acceptance criteria", "", outcome.acceptance);
  return `---\n${front.join("\n")}\n---\n\n${body.join("\n")}\n`;
}

/** Reclaiming is in delegation/, because it can end agents. */
export function demandDelegable(outcome: OutcomeRow): void {
  if (!isLive(outcome) || outcome.status === "submitted") throw texts.notOpen(outcome, "delegated");
  if (outcome.kind === "perpetual" || outcome.kind === "mandate" || outcome.delegated === 1)
    throw texts.alreadyDelegated(outcome);
  if (outcome.kind === "inbox") throw texts.inboxNotDelegable(outcome);
}
