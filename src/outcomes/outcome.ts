import { Refusal } from "../contract/refusal.ts";
import type { Schema } from "../store/schema.ts";

/**
 * Rules of an outcome, without I/O.
 *
 *   open ──submit──▶ submitted ──complete──▶ completed
 *     │ ▲               │ │                     │
 *     │ └────reopen─────┘ └──close──▶ closed    │      reopen leads back to open from each of the three
 *     ├──complete──▶ completed                  │
 *     └──close──▶ closed ◀──────────────────────┘ (never: reopen first)
 *
 * Live means open or submitted: rights granted for the outcome stand. Blocked is a property of an open outcome.
 * A completed outcome has no live child; a live outcome has a live parent (the root excepted).
 */
export type OutcomeRow = Omit<Schema["outcomes"], "num"> & { num: number };

export function isLive(outcome: Pick<OutcomeRow, "status">): boolean {
  return outcome.status === "open" || outcome.status === "submitted";
}

export function demandLive(outcome: Pick<OutcomeRow, "id" | "status">): void {
  if (!isLive(outcome))
    throw new Refusal(
      "refused",
      `The outcome ${outcome.id} is ${outcome.status}.`,
      "Reopen it first, with the reason.",
    );
}

/** The company's root never ends; a standing mandate ends with its agent; an inbox outcome with its last message. */
export function demandEndable(outcome: Pick<OutcomeRow, "id" | "kind" | "status">): void {
  demandLive(outcome);
  if (outcome.kind === "perpetual")
    throw new Refusal(
      "refused",
      "The root outcome of a company never ends.",
      "Complete or close outcomes below it.",
    );
  if (outcome.kind === "mandate")
    throw new Refusal("refused", "A standing mandate ends with its agent.", "Terminate the agent instead.");
  if (outcome.kind === "inbox")
    throw new Refusal(
      "refused",
      "An inbox outcome completes itself.",
      "Acknowledge the messages in the inbox.",
    );
}

export function demandSubmittable(outcome: Pick<OutcomeRow, "id" | "kind" | "status" | "delegated">): void {
  demandEndable(outcome);
  if (outcome.status === "submitted")
    throw new Refusal(
      "conflict",
      "It is already submitted.",
      "Wait for the verification, or go on with other work.",
    );
  if (outcome.delegated === 0)
    throw new Refusal(
      "refused",
      "Nobody handed this outcome to you, so nobody has to verify it.",
      "Complete it yourself.",
    );
}

export function demandNoLiveChildren(
  outcome: Pick<OutcomeRow, "id">,
  children: readonly { id: string; title: string; kind: string }[],
): void {
  // The inbox of the agent that answers for it is not part of the work.
  const live = children.filter(({ kind }) => kind !== "inbox");
  if (live.length === 0) return;
  const named = live.slice(0, 5).map(({ id, title }) => `"${title.slice(0, 60)}" (${id})`);
  throw new Refusal(
    "refused",
    `The outcome ${outcome.id} has ${live.length} open outcome${live.length === 1 ? "" : "s"} below it: ${named.join(", ")}.`,
    "Complete or close them first.",
  );
}

export function demandReopenable(
  outcome: OutcomeRow,
  parents: readonly Pick<OutcomeRow, "id" | "status">[],
): void {
  if (outcome.status === "open")
    throw new Refusal("conflict", "The outcome is open.", "There is nothing to reopen.");
  if (outcome.kind === "mandate")
    throw new Refusal("refused", "The mandate of an agent that left is not revived.", "Make a new agent.");
  if (outcome.kind === "inbox")
    throw new Refusal(
      "refused",
      "An inbox outcome opens when a message arrives.",
      "Send its agent a message instead.",
    );
  if (isLive(outcome)) return;
  const completed = parents.find(({ status }) => status === "completed");
  if (completed !== undefined || !parents.some(isLive))
    throw new Refusal(
      "refused",
      `What it was a means to has ended (${(completed ?? parents[0])?.id ?? "no parent"}).`,
      "Reopen that outcome first.",
    );
}

/** The file of an outcome. JSON strings are valid YAML, so no value can break out of the front matter. */
export function render(
  outcome: OutcomeRow,
  around: {
    parents: readonly string[];
    children: readonly string[];
    dependsOn: readonly string[];
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
    `responsible: ${JSON.stringify(around.responsible)}`,
  ];
  const body = [`# ${outcome.title}`];
  if (outcome.description !== "") body.push("", outcome.description);
  if (outcome.acceptance !== null) body.push("", "## Acceptance criteria", "", outcome.acceptance);
  return `---\n${front.join("\n")}\n---\n\n${body.join("\n")}\n`;
}
