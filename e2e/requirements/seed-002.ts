import type { Requirement } from "./seed-001.ts";

/**
 * Every statement of the document on hiring and delegation, in our terms. Its lead is the root agent, a manager is an agent
 * with reports, a task is an outcome, and the emitted text of an agent is the final output of a session.
 */
const now = (id: string, text: string): Requirement => ({ id, text, status: "now" });

const atDoor = (id: string, text: string): Requirement => ({ ...now(id, text), atDoor: true });
export const seed002: readonly Requirement[] = [
  // The two ways an organization grows
  now("ORG-01", "The organization isn't a fixed team: it hires the agents it needs while it works."),
  now("ORG-02", "Work goes down the reporting tree, and what comes back is reviewed and integrated."),
  // The roster
  now("ORG-03", "A file, roster.json, says who is employed."),
  now("ORG-04", "The first start employs the agents that definition files describe."),
  now("ORG-05", "After that the files are not read again: who is employed is what was recorded."),
  now("ORG-06", "Hires survive a restart."),
  now("ORG-07", "Departures survive a restart."),
  now("ORG-08", "Every hire is on the ledger."),
  now("ORG-09", "Every departure is on the ledger."),
  { id: "ORG-10", text: "The dashboard shows the roster.", status: "now" },
  // Hiring
  now("ORG-11", "There is a most number of agents, 16 unless the company says otherwise."),
  atDoor(
    "ORG-12",
    "An agent can't hire beyond that number in any way: by a plan, a HIRE line, hire_agent, create_agent, or delegating to a new agent.",
  ),
  now("ORG-13", "No way to hire works without the right to hire."),
  now("ORG-14", "A plan that gives a task to a role the team lacks hires an agent for it."),
  now("ORG-15", "A task of a plan can say which model its hire thinks with."),
  now("ORG-16", "A task of a plan can say how hard its hire thinks."),
  now("ORG-17", "A hire for which nothing was said has the company's default brain."),
  now("ORG-18", "A line HIRE[role]: mandate in the final output hires, for the root agent and for managers."),
  now("ORG-19", "Such a line can say model and effort."),
  now("ORG-20", "The effort is one of low, medium, high, xhigh and max; another is refused."),
  now("ORG-21", "A root agent alone can so build a whole team."),
  now("ORG-22", "A hired agent reports to the agent that hired it."),
  now("ORG-23", "One output hires and delegates to the new one: hires go before delegations."),
  now("ORG-24", "Hiring is offered only to those who may hire."),
  now("ORG-25", "Hiring is not offered, and does not work, on an integration outcome."),
  now(
    "ORG-26",
    "Among the reports of one manager a role is hired once; repeating the line hires no second agent.",
  ),
  now("ORG-27", "The brain of a hire is kept: it is on the roster, and the same after a restart."),
  // Delegation
  now("ORG-28", "A line DELEGATE[id or role]: subtask in the final output hands work to a report."),
  now("ORG-29", "Each delegation becomes a separate outcome, for which that report is responsible."),
  now("ORG-30", "It remembers who delegated it."),
  now("ORG-31", "It remembers the outcome it was delegated from."),
  now("ORG-32", "It is one level deeper than that outcome."),
  now("ORG-33", "The manager gets one integration outcome that depends on all it delegated."),
  now("ORG-34", "The integration runs only when the reports are done."),
  now("ORG-35", "The integration is given what the reports delivered."),
  now("ORG-36", "The report does the work; the manager that delegated it reviews it."),
  // The rules
  now("ORG-37", "Only direct reports can be delegated to; work goes down one level at a time."),
  now("ORG-38", "A role that several reports have is rejected, not guessed; an id is asked for."),
  now("ORG-39", "An integration has the depth of the outcome it integrates for."),
  now("ORG-40", "An integration cannot delegate again."),
  now("ORG-41", "What depended on the original outcome depends on the integration from then on."),
  now("ORG-42", "Results of several levels come up through each integration; none is dropped."),
  now("ORG-43", "One outcome makes at most maxDelegations, 3 unless the company says otherwise."),
  now("ORG-44", "Chains are at most maxDelegationDepth deep, 2 unless the company says otherwise."),
  // Consultants
  now("ORG-45", "An agent can be allowed its brain's own sub-agents, for help within its session."),
  now("ORG-46", "That needs a separate right, org:consult."),
  now("ORG-47", "Such consultants end with the session and are never on the roster."),
  now("ORG-48", "What they cost counts for the agent that used them."),
  // Leaving
  now("ORG-49", "When an agent leaves, its reports answer to its boss from then on."),
  now("ORG-50", "What it had delegated is reviewed by its boss from then on."),
  now(
    "ORG-51",
    "Each open outcome it was responsible for goes to another agent or is blocked with the reason.",
  ),
  now("ORG-52", "A departure never stops the scheduler: everybody else works on."),
  {
    id: "ORG-53",
    text: "People hire and dismiss from the dashboard, too.",
    status: "now",
  },
];
