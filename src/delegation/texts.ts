import { forbidden, invalid, refused, type Refusal } from "../contract/refusal.ts";
import { onOneLine } from "../contract/visible-text.ts";
import { plural, quotation, quoteBlock } from "../contract/phrases.ts";
import { named, namedFirst } from "../outcomes/texts.ts";

/** Everything this folder says: delegating, reclaiming, planning, and what agents are told when outcomes end. */
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
    "delegate_outcome needs exactly one of to and hire.",
    "Give to (a direct report), or hire (a new agent for this outcome).",
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

/** To the manager that is responsible again, after the agents that did the work have left. */
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
    `You are responsible for it again. ${plural(ended.length, "agent")} left with it. Read what they knew:`,
    ...ended.map(
      ({ name, state_file_id: state, log_file_id: log }) =>
        `- ${name}: state kb://${state}${log === null ? "" : `, log kb://${log}`}`,
    ),
  ].join("\n");

/** Why a session ended. */
export const workReclaimed = "its outcome was reclaimed";

/** To the agent that delegated the outcome. */
export const submitted = (
  who: string,
  outcome: Named & { readonly acceptance: string | null },
  result: string | null,
): string =>
  [
    `${who} submitted ${linked(outcome)} for your review. Check the work, then call complete_outcome, or reopen_outcome with what is missing.`,
    ...(result === null ? [] : ["", quotation(who, "result", result)]),
    ...(outcome.acceptance === null ? [] : ["", "Acceptance criteria:", quoteBlock(outcome.acceptance)]),
  ].join("\n");

/** To the owner. `dispute` is set if the work was sent back before and another agent decides about it now. */
export const reopened = (who: string, outcome: Named, reason: string, dispute: string | null): string =>
  `${who} reopened ${linked(outcome)}.\n\n${quotation(who, "reason", reason)}\n\n${dispute === null ? "It is yours to continue." : `Wait before you continue: ${dispute}.`}`;

export const lastReason = (reason: string): string => quotation("the reviewer", "last reason", reason);

/** To the person or agent whose message led to the outcome. The result or the rationale follows. */
export const done = ({ title }: Named): string => `Done: ${title}`;
export const closed = ({ title }: Named): string => `Closed without a result: ${title}`;

/** The rationale of an outcome that was closed because its parent was. */
export const closedWithParent = (parent: Named, rationale: string): string =>
  `Closed with its parent "${parent.title}" (${parent.id}): ${rationale}`;

export const othersWorkBelow = (outcome: Named, others: readonly Named[]): Refusal =>
  refused(
    `${named(outcome)} can't be closed. Other agents work on ${plural(others.length, "outcome")} below it: ${namedFirst(others)}.`,
    "Reclaim or close those first: reclaim_outcome, close_outcome.",
  );

/** Goes into the description of an integration that no longer waits for this part. */
export const partIsMissing = ({ title }: Named, rationale: string): string =>
  `The part "${title}" was closed without a result: ${onOneLine(rationale)}`;

/** To the agent that decides about outcomes which depend on a closed one. */
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
  refused(`${name} can't delegate to itself.`, "Do the work, or name a direct report.");

export const notEmployed = ({ name, status }: Agent & { readonly status: string }): Refusal =>
  refused(`${name} is ${status} and can't get work.`, "Choose an active report.");

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
