import { onOneLine } from "../contract/visible-text.ts";
import type { FieldChanges } from "../contract/outcomes.ts";
import { plural, quoteBlock } from "../contract/phrases.ts";
import { conflict, limited, type Refusal, refused } from "../contract/refusal.ts";

/** All texts about outcomes that agents and people read. */
interface Named {
  readonly id: string;
  readonly title: string;
}
type WithStatus = Named & { readonly status: string };

/** The reader needs the title; the reader's next call needs the id. */
export const named = ({ id, title }: Named): string => `"${title.slice(0, 60).toWellFormed()}" (${id})`;

export const namedFirst = (outcomes: readonly Named[], most = 5): string =>
  outcomes.slice(0, most).map(named).join(", ");

const reopenFirst = ({ id }: Named): string => `Reopen it first: reopen_outcome {"id":"${id}","reason":"…"}.`;

export const notLive = (outcome: WithStatus): Refusal =>
  refused(
    `${named(outcome)} is ${outcome.status}. Only open and submitted outcomes can change.`,
    reopenFirst(outcome),
  );

export const rootNeverEnds = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} is the company's root outcome, which never ends.`,
    "Complete or close an outcome below it.",
  );

export const mandateEndsWithAgent = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} is an agent's mandate. It ends only when the agent leaves.`,
    `To end the agent, its manager calls reclaim_outcome {"id":"${outcome.id}","reason":"…"}.`,
  );

export const inboxEndsByItself = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} is an inbox. It completes when its last message is acknowledged.`,
    "Call read_inbox, then acknowledge_message for each message.",
  );

export const alreadySubmitted = (outcome: Named): Refusal =>
  conflict(
    `${named(outcome)} is already submitted.`,
    "Wait for the review. my_outcomes lists your other work.",
  );

export const notDelegated = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} can't be submitted: it was not delegated, so no manager reviews it.`,
    `Complete it instead: complete_outcome {"id":"${outcome.id}"}.`,
  );

export const hasLiveChildren = (outcome: Named, live: readonly Named[]): Refusal =>
  refused(
    `${named(outcome)} can't end yet. It has ${plural(live.length, "open outcome")} below it: ${namedFirst(live)}.`,
    "Complete or close them first: complete_outcome, close_outcome.",
  );

export const alreadyOpen = (outcome: Named): Refusal =>
  conflict(`${named(outcome)} is already open.`, "Continue to work on it.");

export const mandateOfAgentThatLeft = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} can't be reopened: it was the mandate of an agent that has left.`,
    "Hire a new agent: hire_agent.",
  );

export const inboxOpensByItself = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} is an inbox. It opens when a message arrives.`,
    "Write to its agent: send_message.",
  );

export const parentEnded = (outcome: Named, parent: WithStatus | undefined): Refusal =>
  refused(
    `${named(outcome)} can't be reopened: ${parent === undefined ? "it has no parent" : `its parent ${named(parent)} is ${parent.status}`}.`,
    parent === undefined ? "Create a new outcome: create_outcome." : reopenFirst(parent),
  );

/** `what` is "delegated", "blocked" or "divided into parts". */
export const notOpen = (outcome: WithStatus, what: string): Refusal =>
  refused(
    `${named(outcome)} is ${outcome.status}. Only an open outcome can be ${what}.`,
    reopenFirst(outcome),
  );

export const alreadyDelegated = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} was assigned to its current owner, who can't pass it on.`,
    `Create an outcome below it (create_outcome with "parents":["${outcome.id}"]) and delegate that one.`,
  );

export const inboxNotDelegable = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} is an inbox, which can't be delegated.`,
    "Create an outcome for the request in a message (create_outcome) and delegate that one.",
  );

/** `is` is "is already" or, for a move, "or the work below it would be". */
export const tooDeep = (outcome: Named, is: string, depth: number, limit: number): Refusal =>
  limited(
    `${named(outcome)} ${is} ${plural(depth, "delegation")} deep. The limit is ${limit} (maxDelegationDepth).`,
    "Do the work yourself, or submit what you have and say what is missing.",
  );

export const tooManyParts = (outcome: Named, delegated: number, more: number, limit: number): Refusal =>
  limited(
    `${named(outcome)} may have at most ${plural(limit, "delegated part")} (maxDelegations). It has ${delegated}, and you want to delegate ${more} more.`,
    "Do the rest yourself, or combine several parts into one.",
  );

export const combinesResults = (integration: Named): Refusal =>
  refused(
    `${named(integration)} combines the results of other outcomes. It can't be delegated, and no agent can be hired for it.`,
    "Combine the results yourself. If a part is missing, send that part back: reopen_outcome with the reason.",
  );

/** `who` is "You" or the name of an agent. */
export const tooManyOpen = (who: string, open: number, limit: number): Refusal =>
  limited(
    `${who} would be responsible for ${plural(open, "open outcome")}. The limit is ${limit} (maxOpenOutcomes).`,
    "Complete or close some first: complete_outcome, close_outcome.",
  );

export const blockedOnItself = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} can't wait for itself.`,
    "Put another outcome into blocked.on, or a time into blocked.until.",
  );

export const nothingBelowInbox = (inbox: Named): Refusal =>
  refused(
    `${named(inbox)} is an inbox, so it can't be a parent. It completes when it is empty.`,
    "Use your mandate or another outcome as the parent: my_outcomes lists yours.",
  );

export const ownerPending = (owner: { readonly name: string }): Refusal =>
  refused(
    `${owner.name} is waiting for approval. Until then ${owner.name}'s outcomes can't change.`,
    "Wait for the board's decision (agency approvals list), or take the outcome back: reclaim_outcome.",
  );

export const neverCompletes = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} was closed when its agent left, so it will never complete.`,
    "Depend on an outcome that is still open.",
  );

export const circular = (waiter: Named, target: Named): Refusal =>
  refused(
    `${named(waiter)} can't wait for ${named(target)}: it would then wait for itself.`,
    "A parent waits for its children, and an outcome waits for its dependencies. Leave out one of these links.",
  );

const withoutParents = "Call update_outcome again without parents.";

export const rootHasNoParents = (outcome: Named): Refusal =>
  refused(`${named(outcome)} is the root outcome, which has no parents.`, withoutParents);

export const inboxStaysInPlace = (outcome: Named): Refusal =>
  refused(`${named(outcome)} is an inbox. It stays below its agent's mandate.`, withoutParents);

export const mandateStaysInPlace = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} is an agent's mandate. It stays below the mandate of the agent's manager.`,
    `${withoutParents} To change who the agent reports to, use plan_reorganization.`,
  );

export const delegatedStaysInPlace = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} was delegated. Only the board can give it other parents.`,
    `Reclaim it first (reclaim_outcome {"id":"${outcome.id}","reason":"…"}), or ask the board.`,
  );

export const noOpenParent = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} needs an open parent, and none of these is open.`,
    "Add at least one open outcome to parents.",
  );

export const onlyAgentsHaveOutcomes = (): Refusal =>
  refused(
    "Only agents can call my_outcomes: the board is not responsible for any outcome.",
    "List a company's outcomes with agency outcomes list, or an agent's with agency agents outcomes <agent>.",
  );

export const notYoursToDecide = (outcome: Named, blockedReason: string): Refusal =>
  refused(
    `${named(outcome)} is waiting for a decision: ${blockedReason}.`,
    "The manager named above decides with decide_outcome. Continue with other work; you will get a message.",
  );

/** A blocked reason. It is a clause without a full stop, because other texts continue it. */
export const awaitsDecision = (why: string, decider: string, reviewer: string): string =>
  `${why}, so ${decider} (${reviewer}'s manager) decides what happens next`;

export const filesNotYours = (ids: readonly string[]): Refusal =>
  refused(
    `You can't deliver ${ids.length === 1 ? "this file" : "these files"}: ${ids.join(", ")}. A deliverable is a knowledge file you wrote, or one that was delivered to you from below.`,
    "Leave them out, or copy what matters into a file you create with create_file, and deliver that file.",
  );

export const tooManyDeliverables = (count: number, most: number): Refusal =>
  refused(
    `An outcome delivers at most ${plural(most, "file")}. You named ${count}.`,
    "Deliver one file that links to the others, and combine small files.",
  );

/** Added to the answer to a submission, about a link in its note to a file that is not a deliverable. */
export const howToShare = (id: string, readers: readonly { name: string }[], canOpen: boolean): string =>
  `${readers.map(({ name }) => name).join(", ")} can't open kb://${id}. ${
    canOpen
      ? `To share it, send it: send_message {"to":"boss","file":"${id}"}. Or copy what matters into a file of yours and submit again with files.`
      : "You can't open it either, or it was deleted. Check the id."
  }`;

/** One line for each deliverable, at most 20. The author wrote the description, so it is quoted. */
export const deliveredLines = (
  delivered: readonly { id: string; description: string; version: number }[],
): string =>
  [
    ...delivered
      .slice(0, 20)
      .map(
        ({ id, description, version }) =>
          `- ${JSON.stringify(onOneLine(description).slice(0, 100).toWellFormed())} kb://${id} (version ${version})`,
      ),
    ...(delivered.length > 20 ? [`- … and ${delivered.length - 20} more: call view_outcome.`] : []),
  ].join("\n");

/** To the owner, after another agent or the board changed its outcome. */
export const changedByOther = (who: string, outcome: Named, changes: FieldChanges): string =>
  [
    `${who} changed "${outcome.title}" (kb://${outcome.id}), which you are responsible for.`,
    "",
    ...Object.entries(changes).flatMap(([field, { before, after }]) => [
      `${field}, before:`,
      quoteBlock(valueOf(before)),
      `${field}, now:`,
      quoteBlock(valueOf(after)),
    ]),
    "",
    `Call view_outcome {"id":"${outcome.id}"} to see the whole outcome, and adjust your work to it.`,
  ].join("\n");

function valueOf(value: unknown): string {
  if (typeof value === "string") return value === "" ? "(empty)" : cutText(value);
  return value === null || (Array.isArray(value) && value.length === 0) ? "(none)" : JSON.stringify(value);
}

const cutText = (text: string): string =>
  text.length <= 1000 ? text : `${text.slice(0, 1000).toWellFormed()}…`;
