import { plural } from "../contract/phrases.ts";
import { conflict, forbidden, invalid, limited, refused, type Refusal } from "../contract/refusal.ts";
import { onOneLine } from "../contract/visible-text.ts";

import type { ApprovalStatus } from "../contract/approvals.ts";
import type { HireConfiguration } from "../contract/hiring.ts";

/** All texts about hires, create_agent and configurations. */
interface Named {
  readonly name: string;
  readonly status: string;
}

const askForHiring =
  'Ask your manager for the right to hire: request_permission {"resource":"org:hire","reason":"…"}.';

export const notDeletable = ({ name, status }: Named): Refusal =>
  refused(
    status === "terminated"
      ? `${name} has worked here, so its record can't be deleted.`
      : `${name} is ${status} and can't be deleted.`,
    `Only an agent whose hire was rejected or cancelled can be deleted. To terminate any other agent: agency fire ${name}.`,
  );

export const managerGone = ({ name }: Pick<Named, "name">): Refusal =>
  conflict(
    `${name}'s manager has left or is not active, so the hire can't be approved.`,
    "Request a revision that names another manager, or reject the hire.",
  );

export const grantsNotHeld = (manager: string, name: string, why: string): Refusal =>
  conflict(
    `${manager} can't give ${name} the rights of this hire: ${why}`,
    `Grant ${manager} the right first, request a revision without it, or reject the hire.`,
  );

export const workIsBack = (outcome: { id: string; title: string }, name: string, reason: string): string =>
  `You are responsible for "${outcome.title}" (kb://${outcome.id}) again: the hire of ${name} was ${onOneLine(reason)}`;

export const boundToOutcome = (name: string): Refusal =>
  refused(
    `${name} is hired for one outcome, so its manager and mandate can't change.`,
    "Cancel the request, change the outcome, and delegate it again.",
  );

interface Headcount {
  readonly before: number;
  readonly after: number;
}

/** How many agents there are and would be. After the decision, the sentence is in the past tense. */
const agentsText = ({ before, after }: Headcount, status: ApprovalStatus): string =>
  status === "approved"
    ? `Agents: ${before} before, ${after} after.`
    : status === "rejected" || status === "cancelled"
      ? `Agents: ${before} then, ${after} if it had been approved.`
      : `Agents: ${before} now, ${after} after.`;

export const hireChanges = (
  hire: HireConfiguration,
  manager = "the board",
  count: Headcount,
  status: ApprovalStatus,
): string[] => [
  `${hire.name} (${hire.role}) will report to ${manager}.`,
  agentsText(count, status),
  `Brain: ${hire.adapterType}.`,
  `Rights: ${hire.grants.length === 0 ? "only those that come with the position" : hire.grants.map(({ resource, level }) => `${level} on ${resource}`).join(", ")}.`,
  `Budget: ${hire.budget === null ? "shared with its manager" : JSON.stringify(hire.budget)}.`,
  `Mandate: ${hire.mandate === "" ? "not described" : hire.mandate}`,
];

export const outsideYourTeam = (name: string): Refusal =>
  forbidden(
    `${name} is not you or an agent below you, so you can't hire for ${name}.`,
    "Leave reportsTo out, or name an agent below you. list_roster shows the organization.",
  );

export const cannotManage = ({ name, status }: Named): Refusal =>
  refused(`${name} is ${status} and can't have reports.`, "Choose an active manager.");

export const fixedInPayload = (key: string): Refusal =>
  invalid(
    `"${key}" can't change when a hire is resubmitted.`,
    "Send only keys of requestedConfigurationSnapshot.",
  );

export const invalidHire = (problems: string, keys: readonly string[]): Refusal =>
  invalid(`The changed hire is not valid. ${problems}`, `A hire has these keys: ${keys.join(", ")}.`);

export const grantBeyondYours = (resource: string, level: string): Refusal =>
  refused(
    `You can't give a hire ${level} on ${resource}, because you don't hold it.`,
    "Call list_permissions to see your rights, or request_permission to ask for more.",
  );

/** `more` is the number of agents that would be added to the count. A pending agent counts already. */
export const companyFull = (count: number, most: number, more: number): Refusal =>
  limited(
    `The company has ${plural(count, "agent")}, and agents can hire up to ${most}. Pending agents and requests count.`,
    `Delegate to an existing agent. Only the board can raise the limit: agency companies update --max-agents ${count + more}.`,
  );

export const roleFilled = (
  manager: string,
  role: string,
  report: { readonly id: string; readonly name: string; readonly status: string },
): Refusal =>
  refused(
    `${manager} already has a report with the role "${role}": ${report.name} (${report.id})${report.status === "pending_approval" ? ", pending approval" : ""}.`,
    `Delegate to ${report.name}, or hire for another role.`,
  );

export const fileNotYours = (path: string): Refusal =>
  refused(
    `You can't hire with ${path} in the command: its sessions could read that file, and yours can't.`,
    "Use a program on PATH, or the files that your own configuration names. The board can hire with any file.",
  );

export const brainNotAllowed = (type: string, allowed: readonly string[]): Refusal =>
  refused(
    `Agents can't hire with the brain "${type}" in this company.`,
    `Use one of: ${allowed.join(", ")}. The board can hire with any brain, or allow this one (setting allowedAdapterTypes).`,
  );

export const changeByRevision = (name: string): Refusal =>
  refused(
    `${name} is pending approval, so its configuration can't be edited.`,
    "Request a revision of the approval (agency revise). The requester then resubmits it.",
  );

export const onlyBoardAllowsHiring = (): Refusal =>
  forbidden("Only the board and the root agent decide who may hire.", askForHiring);

export const cannotHoldRights = ({ name, status }: Named): Refusal =>
  refused(`${name} is ${status} and can't hold rights.`, "Choose an active agent: list_roster.");

export const configurationsForHirers = (): Refusal =>
  forbidden(
    "Only agents that may hire can see how agents are configured.",
    `${askForHiring} list_roster shows names, roles and managers.`,
  );

/** Texts of create_agent. Its answers are JSON, so most of these are plain sentences and not refusals. */
export const onlyAgentsCreate = (): Refusal =>
  refused(
    "Only agents can call create_agent. The board answers.",
    "Create the agent directly: POST /api/companies/:companyId/agents, or `agency agents create`.",
  );

export const creating = {
  noSuchNext: (next: string) => `nextAgent: there is no active agent called "${next}" in this company.`,
  nameTaken: (name: string) => `The name "${name}" is taken. Choose another name.`,
  tooManyOpen: (most: number) =>
    `You have ${most} pending requests, the maximum. Wait for the board's decisions.`,
  brainBroken: (why: string) => `${why} The board can correct this with the setting defaultAdapterConfig.`,
  unknownKey: (key: string, known: readonly string[]) =>
    `create_agent has no argument "${key}". It takes: ${known.join(", ")}.`,
  wrongType: (key: string, type: string) => `${key} must be a ${type}.`,
  badText: (key: string) => `${key} must be valid Unicode without NUL characters.`,
  badWait: (most: number) => `waitSeconds must be from 0 to ${most}.`,
  nextIsItself: "nextAgent must be another agent than the new one.",
  pending: "A person has not decided yet. Call wait_for_approval with this requestId to keep waiting.",
};

/** `name` is that of the agent which asked for the new agent, or which the new agent should reply to. */
export const creationOutdated = (name: string, isRequester: boolean): Refusal =>
  conflict(
    isRequester
      ? `${name}, which asked for this agent, has left the company.`
      : `${name}, which the new agent should reply to, has left the company.`,
    isRequester
      ? "Reject the request."
      : "Reject the request. The requester can ask again with another nextAgent.",
  );

/** The prompt names the agent as it was called, and the mail route is to the agent itself. */
export const creationRenamed = (asked: string, now: string): Refusal =>
  conflict(
    `The agent should reply to @${asked}, which was renamed to ${now}.`,
    "Reject the request. The requester can make it again with the new name.",
  );

interface Creation {
  readonly name: string;
  readonly role: string | null;
  readonly provider: string;
  readonly model: string | null;
  readonly nextAgent: string;
  readonly autoReply: boolean;
}

export const creationChanges = (
  agent: Creation,
  manager = "the agent that asked",
  count: Headcount,
  status: ApprovalStatus,
): string[] => [
  `${agent.name}${agent.role === null ? "" : ` (${agent.role})`} will report to ${manager}.`,
  agentsText(count, status),
  `Brain: ${agent.provider}${agent.model === null ? "" : `, ${agent.model}`}.`,
  `It replies to @${agent.nextAgent} and may send mail there.${agent.autoReply ? " Replies are sent automatically." : ""}`,
  "Budget: shared with its manager.",
];

export const nothingToChange = (name: string): Refusal =>
  refused(
    `Nothing would change: ${name} already has these settings.`,
    "Name at least one setting with a new value, such as the prompt or the model.",
  );

export const onlyManagersPropose = (): Refusal =>
  forbidden(
    "Only managers propose changes. The board makes them directly.",
    "Change the agent: PATCH /api/agents/:id, or `agency agents update <agent>`.",
  );

export const alreadyProposed = (name: string, id: string): Refusal =>
  conflict(
    `A change of ${name} is pending already (approval ${id}).`,
    "Wait for the decision, or cancel it with cancel_approval and propose the change again.",
    { approval: id },
  );

export const noLongerManager = (manager: string, name: string): Refusal =>
  conflict(
    `${manager} is not ${name}'s manager any more, so this change can't be approved.`,
    "Reject the request. The present manager can propose the change again.",
  );

export const changeOutdated = (name: string, fields: readonly string[]): Refusal =>
  conflict(
    `${name}'s settings have changed since this was proposed: ${fields.join(", ")}.`,
    "Request a revision, which compares the proposal with the present settings, or reject it.",
    { changed: fields },
  );

export const invalidChange = (problems: string, keys: readonly string[]): Refusal =>
  invalid(
    `The revised change is not valid. ${problems}`,
    `A proposed change has these keys: ${keys.join(", ")}.`,
  );

export const proposalChanges = (
  name: string,
  manager = "The manager",
  fields: readonly string[],
  reason: string,
): string[] => [
  `${name}'s ${fields.map((field) => fieldWords[field] ?? field).join(", ")} will change.`,
  `${manager}'s reason: ${reason}`,
];

const fieldWords: Readonly<Record<string, string>> = {
  adapterType: "brain",
  adapterConfig: "brain configuration",
};

/** The reason why a mandate changed. */
export const hireRevised = "the hire was revised";

export const settingsChanged = "the agent's settings were changed";

export const noNextAgent = (name: string): Refusal =>
  refused(
    `${name} was not made with create_agent, so it has no next agent.`,
    "Change its prompt instead, and grant it a mail route: agency access grant.",
  );

export const promptAndNext = (): Refusal =>
  invalid(
    "prompt and nextAgent can't change together.",
    "nextAgent is a part of the prompt. Send one of them.",
  );
