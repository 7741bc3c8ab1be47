import { conflict, forbidden, invalid, refused, type Refusal } from "../contract/refusal.ts";
import { onOneLine } from "../contract/visible-text.ts";
import { plural, quotation, quoteBlock } from "../contract/phrases.ts";
import type { Deliverable } from "../contract/outcomes.ts";
import type { Verdict } from "../contract/delegation.ts";
import { deliveredLines, named } from "../outcomes/texts.ts";

/** All texts of this folder: for delegating, reclaiming and planning, and notices about outcomes that ended. */
interface Named {
  readonly id: string;
  readonly title: string;
}
interface Agent {
  readonly id: string;
  readonly name: string;
  readonly role: string;
}

const linked = ({ id, title }: Named): string => `"${title}" (kb://${id})`;

export const toOrHire = (): Refusal =>
  invalid(
    "delegate_outcome needs exactly one of `to` and `hire`.",
    "Give `to` (a direct report), or `hire` (a new agent for this outcome).",
  );

export const mayNotHire = ({ name }: Pick<Agent, "name">): Refusal =>
  forbidden(
    `${name} doesn't have the permission to hire (org:hire).`,
    'Delegate to a direct report, or ask for the permission: request_permission {"resource":"org:hire","reason":"…"}.',
  );

export const notReclaimable = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} can't be reclaimed: it was not delegated.`,
    "view_outcome shows who is responsible for an outcome and who delegated it.",
  );

export const rootMandateNotReclaimable = ({ name }: Pick<Agent, "name">): Refusal =>
  refused(
    `${name} is the root agent. It reports to the board, so its mandate can't be reclaimed.`,
    "Pause the agent (agency agents pause), or change its role (agency agents update).",
  );

export const unassigned = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} is unassigned: no agent is responsible for it.`,
    "Create the outcome again below an agent's mandate: create_outcome.",
  );

/** To the agent that was responsible. */
export const reclaimed = (who: string, outcome: Named, reason: string): string =>
  `${who} reclaimed ${linked(outcome)}.\n\n${quotation(who, "reason", reason)}\n\nYou are no longer responsible for it. Stop working on it.`;

/** To the owners of work that was reclaimed with `top`. */
export const reclaimedWithIt = (who: string, top: Named, own: readonly Named[], reason: string): string =>
  own.every(({ id }) => id === top.id)
    ? reclaimed(who, top, reason)
    : [
        `${who} reclaimed ${linked(top)} and everything below it.`,
        "",
        quotation(who, "reason", reason),
        "",
        "You are no longer responsible for these outcomes. Stop working on them:",
        ...own.slice(0, 20).map((one) => `- ${linked(one)}`),
      ].join("\n");

/** To the manager that gets the work back, because the board reclaimed it. */
export const reclaimedForYou = (who: string, outcome: Named, reason: string): string =>
  `${who} reclaimed ${linked(outcome)}.\n\n${quotation(who, "reason", reason)}\n\nYou are responsible for it again.`;

/** To the manager that gets the work back, after the agents that did it have left. */
export const mandateReclaimed = (
  who: string,
  outcome: Named,
  reason: string,
  ended: readonly { name: string; state_file_id: string; log_file_id: string | null }[],
): string =>
  [
    `${who} reclaimed ${linked(outcome)}.`,
    "",
    quotation(who, "reason", reason),
    "",
    `You are responsible for it again. ${plural(ended.length, "agent")} left with it. Read their documents:`,
    ...ended.map(
      ({ name, state_file_id: state, log_file_id: log }) =>
        `- ${name}: state kb://${state}${log === null ? "" : `, log kb://${log}`}`,
    ),
  ].join("\n");

/** The reason why a session ended. */
export const workReclaimed = "its outcome was reclaimed";

/** To the agent that delegated the outcome, or to the board (`isBoard`). */
export const submitted = (
  who: string,
  outcome: Named & { readonly acceptance: string | null },
  result: string | null,
  { delivered, isBoard }: { readonly delivered: readonly Deliverable[]; readonly isBoard: boolean },
): string =>
  [
    `${who} submitted ${linked(outcome)} for your review. Check the work, then decide:`,
    isBoard
      ? `agency decide ${outcome.id} pass, or agency decide ${outcome.id} rework --note "what is missing".`
      : `decide_outcome {"id":"${outcome.id}","verdict":"pass"}, or "rework" with a note that says what is missing.`,
    ...(result === null ? [] : ["", quotation(who, "result", result)]),
    ...(delivered.length === 0
      ? []
      : [
          "",
          isBoard ? "Deliverables:" : "Deliverables, which you can read with read_file:",
          deliveredLines(delivered),
        ]),
    ...(outcome.acceptance === null ? [] : ["", "Acceptance criteria:", quoteBlock(outcome.acceptance)]),
  ].join("\n");

/** To the owner. `dispute` is set if the work was sent back before and another agent now decides about it. */
export const reopened = (who: string, outcome: Named, reason: string, dispute: string | null): string =>
  `${who} reopened ${linked(outcome)}.\n\n${quotation(who, "reason", reason)}\n\n${dispute === null ? "Continue with it." : `Wait before you continue: ${dispute}.`}`;

export const lastReason = (reason: string): string => quotation("the reviewer", "last reason", reason);

/** To the person or agent whose message led to the outcome. The result or the rationale follows. */
export const done = ({ title }: Named): string => `Done: ${title}`;
export const closed = ({ title }: Named): string => `Closed without a result: ${title}`;

/** The rationale of an outcome that was closed because its parent was. */
export const closedWithParent = (parent: Named, rationale: string): string =>
  `Closed with its parent "${parent.title}" (${parent.id}): ${rationale}`;

/** To an owner whose work another agent or the board closed. `own` are its outcomes that ended with `top`. */
export const closedByOther = (who: string, top: Named, own: readonly Named[], rationale: string): string =>
  [
    `${who} closed ${linked(top)}${own.every(({ id }) => id === top.id) ? "" : " and everything below it"}.`,
    ...(own.every(({ id }) => id === top.id)
      ? []
      : ["", "Closed outcomes of yours:", ...own.slice(0, 20).map((one) => `- ${linked(one)}`)]),
    "",
    quotation(who, "rationale", rationale),
    "",
    "Stop working on it. All rights that were granted for it have ended.",
  ].join("\n");

/** The reason why a session is asked to stop. It is a clause, because other texts continue it. */
export const workEnded = "the work it was started for has ended";

/** To the manager or the board (`isBoard`) that has to decide about escalated work. */
export function askToDecide(
  { id, title }: Named,
  { reason, reviewer, isBoard }: { reason: string; reviewer: string; isBoard: boolean },
): string {
  const how = isBoard
    ? `Decide it: agency decide ${id} pass, or rework or close with --note "…".`
    : [
        `Decide it: decide_outcome {"id":"${id}","verdict":"pass"}, or "rework" or "close" with a note.`,
        `Without tools, end a session with the line "VERDICT[${id}]: PASS", or with "VERDICT[${id}]: REWORK" or "VERDICT[${id}]: CLOSE" followed by the reason.`,
        `${reviewer} reviewed the work and waits for your decision.`,
      ].join("\n");
  return `"${title}" (kb://${id}) needs your decision: ${onOneLine(reason)}.\n\n${how}`;
}

/** The events that settle submitted or escalated work. */
export const decisions: Readonly<Record<string, string>> = {
  "outcome.complete": "accepted it",
  "outcome.reopen": "sent it back",
  "outcome.close": "closed it",
  "outcome.reclaim": "reclaimed it",
};

export const alreadyDecided = (
  outcome: Named & { readonly status: string },
  { who, did, at }: { readonly who: string; readonly did: string; readonly at: string },
): Refusal =>
  conflict(
    `${named(outcome)} no longer waits for a decision: ${who} ${did} at ${at}. It is ${outcome.status}.`,
    `view_outcome {"id":"${outcome.id}"} shows its history.`,
    { status: outcome.status, decidedBy: who, decision: did, at },
  );

export const notSubmitted = (outcome: Named): Refusal =>
  refused(
    `${named(outcome)} was neither submitted nor escalated, so there is nothing to decide.`,
    "Wait until its owner submits it, or write to the owner: send_message.",
  );

/** To the agent that closes `outcome`, which is above its mandate `own`. */
export const closesCaller = (outcome: Named, own: Named): Refusal =>
  refused(
    `${named(outcome)} includes ${named(own)}, for which you were hired. Closing the first would also terminate you.`,
    "Ask your manager to close it: send_message.",
  );

export const notTheDecider = (outcome: Named, decider: string): Refusal =>
  forbidden(
    `${decider} decides about ${named(outcome)}, not you.`,
    "Write to your manager if you know something that matters for the decision: send_message to boss.",
  );

export const noteMissing = (verdict: string): Refusal =>
  invalid(
    `The verdict ${verdict} needs a note with at least one visible character.`,
    verdict === "rework" ? "Say in `note` what is missing." : "Say in `note` why the outcome is given up.",
  );

/** To the reviewer, after its manager or the board decided in its place. */
export const decidedForYou = (who: string, outcome: Named, verdict: Verdict, note: string | null): string =>
  [
    `${who} decided about ${linked(outcome)}: ${{ pass: "the work is accepted", rework: "its owner continues with it", close: "it is closed" }[verdict]}.`,
    ...(note === null ? [] : ["", quotation(who, "note", note)]),
  ].join("\n");

/** Added to the description of an integration that no longer waits for this part. */
export const partIsMissing = ({ title }: Named, rationale: string): string =>
  `The part "${title}" was closed without a result: ${onOneLine(rationale)}`;

/** To the agent that decides about outcomes that depend on a closed one. */
export const dependencyClosed = (
  who: string,
  closedOne: Named,
  rationale: string,
  waiting: readonly Named[],
): string =>
  [
    `${linked(closedOne)} was closed.`,
    "",
    quotation(who, "rationale", rationale),
    "",
    "These outcomes depend on it and can't continue. Change their dependencies (update_outcome with dependsOn), or close them:",
    ...waiting.slice(0, 20).map((outcome) => `- ${linked(outcome)}`),
  ].join("\n");

export const integrationTitle = ({ title }: Named): string =>
  `Integrate: ${title}`.slice(0, 300).toWellFormed();

export const integrationDescription = (whole: Named): string =>
  `Combine the results of the parts into the result of ${linked(whole)}.`;

export const alreadyDivided = (whole: Named, integration: Named): Refusal =>
  refused(
    `${named(whole)} is already divided into parts. ${named(integration)} waits for them.`,
    "Wait for the results of the parts, or close that integration first: close_outcome.",
  );

export const partsInACircle = (parts: readonly { readonly title: string }[]): Refusal =>
  refused(
    `These parts wait for each other in a circle: ${parts.map(({ title }) => `"${title.slice(0, 60)}"`).join(", ")}.`,
    "Remove one of the dependencies (dependsOn).",
  );

export const roleMandate = (role: string, manager: Pick<Agent, "name">, task: string): string =>
  `Does the work of ${role} for ${manager.name}, starting with: ${task}`;

export const noSuchTask = (reference: string | number, several: boolean): Refusal =>
  invalid(
    `${several ? "Several tasks of this plan are" : "No task of this plan is"} called "${String(reference).slice(0, 100)}".`,
    "Name a task by its exact title, or by its position in the list, counted from 0.",
  );

export const severalInRole = (manager: Agent, role: string, found: readonly Agent[]): Refusal =>
  refused(
    `${found.length} reports of ${manager.name} have the role ${role}: ${found.map(({ id, name }) => `${name} (${id})`).join(", ")}.`,
    "Name one of them by its id.",
  );

export const neitherReportNorRole = (
  manager: Agent,
  meant: Pick<Agent, "name" | "role">,
  reference: string,
  hint: string,
): Refusal =>
  refused(
    `${meant.name} (${meant.role}) is not a direct report of ${manager.name}, and "${reference.slice(0, 100)}" is not a role.`,
    `${hint} To hire an agent, name a role that the team lacks.`,
  );

export const notToItself = ({ name }: Agent): Refusal =>
  refused(`${name} can't delegate to itself.`, "Do the work yourself, or name a direct report: list_roster.");

export const notEmployed = ({ name, status }: Agent & { readonly status: string }): Refusal =>
  refused(`${name} is ${status} and can't get work.`, "Choose an active report: list_roster.");

export const reportsToAnother = (manager: Agent, found: Agent, itsManager: Agent): Refusal =>
  refused(
    `${found.name} reports to ${itsManager.name}, not to ${manager.name}.`,
    `Work goes down one level at a time. Delegate to ${itsManager.name} (${itsManager.id}).`,
  );

export const noSuchReport = (
  manager: Agent,
  reference: string,
  reports: readonly { slug: string }[],
): Refusal =>
  refused(
    `${manager.name} has no direct report called "${reference.slice(0, 100)}".`,
    reports.length === 0
      ? `${manager.name} has no reports yet. Hire one: hire_agent.`
      : `${manager.name}'s direct reports: ${reports.map(({ slug }) => slug).join(", ")}.`,
  );

export const notAGoal = (outcome: Named): Refusal =>
  refused(
    `"${outcome.title}" is not a goal, so it has no budget.`,
    "Run `agency goals` to see the goals. To limit an agent, run `agency agents budget`.",
  );
