import type { Requirement } from "./seed-001.ts";

/**
 * Every statement of the document on hiring governance, in our terms. Its CEO is the root agent, an issue is an outcome, an
 * adapter is a brain, and `can_create_agents` is the right org:hire.
 */
const now = (id: string, text: string): Requirement => ({ id, text, status: "now" });
const atDoor = (id: string, text: string): Requirement => ({ ...now(id, text), atDoor: true });

export const seed000: readonly Requirement[] = [
  // §3 decisions
  now("GOV-01", "A company has a setting that says whether a hire needs the board's approval."),
  now("GOV-02", "The setting is on unless the board turns it off."),
  now("GOV-03", "The setting isn't an argument of making a company; the board changes it afterwards."),
  now("GOV-04", "Hiring needs one explicit right."),
  now("GOV-05", "The root agent has it from the beginning."),
  now("GOV-06", "No other agent has it unless it was given."),
  now("GOV-07", "The board gives it to and takes it from any agent."),
  now("GOV-08", "The root agent does the same within its company."),
  now("GOV-09", "It is a right like every other; there are no roles with rights of their own beside it."),
  now("GOV-10", "An agent whose hire is undecided has a separate status, pending_approval."),
  now("GOV-11", "It is in the organization and can be looked at."),
  now("GOV-12", "It does not run."),
  now("GOV-13", "It is assigned nothing."),
  now("GOV-14", "No key is made for it."),
  now("GOV-15", "It is not resumed, or made active in any other way, but by its approval."),
  // §4 what is stored
  now("GOV-16", "The setting is shown among the company's others."),
  now("GOV-17", "Agents are listed by this status as by every other."),
  now("GOV-18", "An approval can be in revision."),
  now("GOV-19", "The approval of a hire names the agent, who asked for it, and the configuration asked for."),
  now("GOV-20", "An approval has a thread: who said what, an agent or a person, and when."),
  atDoor(
    "GOV-21",
    "Comments, requests for revision and the reasons of decisions stand in the thread with author and time. Nothing changes or removes them.",
  ),
  // §5 routes and rights
  now("GOV-22", "The board passes every check of the right to hire."),
  now("GOV-23", "An agent passes it if it holds the right itself, in its own company."),
  now("GOV-24", "Who may hire, only the board and the root agent decide."),
  now("GOV-25", "There is one operation for hires, of agents that may and of the board."),
  now("GOV-26", "With the setting on, it makes a pending agent and a pending approval and answers both."),
  now("GOV-27", "With the setting off, it makes an idle agent and no approval."),
  now("GOV-28", "The board may also create an agent directly, which needs no approval."),
  now("GOV-29", "An approval is viewed by its id."),
  now("GOV-30", "The board asks for a revision."),
  now("GOV-31", "The agent that asked for the hire resubmits it."),
  now("GOV-32", "Comments on an approval are written and listed."),
  now("GOV-33", "Approving a hire makes its agent idle."),
  now("GOV-34", "Rejecting a hire ends its agent; it never becomes active."),
  now("GOV-35", "A separate operation switches the right to hire, and accepts only that one key."),
  now("GOV-36", "The configurations of all agents, and of one, can be read."),
  now("GOV-37", "Only the board, the root agent and agents that may hire can read the configurations."),
  now("GOV-38", "Secrets in them are not shown: environments, keys, tokens, what looks like a JWT."),
  now("GOV-39", "The answer marks what was taken out."),
  now("GOV-40", "A page of plain text lists the installed brains, where each is explained, and how to hire."),
  now(
    "GOV-41",
    "A page for each brain has its required and optional keys, defaults, descriptions, safety notes and examples.",
  ),
  now("GOV-42", "The pages are for those who may read configurations."),
  // §6 brains
  now("GOV-43", "Each brain brings its own documentation; the pages are made from those installed."),
  // §7 dashboard
  now("GOV-44", "The advanced settings of a company have a switch for the approval of hires."),
  now("GOV-45", "The switch is not shown while a company is set up."),
  now("GOV-46", "An agent's page has a switch for its right to hire."),
  now("GOV-47", "A form for hires: role, name, title, boss, prompt, with the brains' pages beside it."),
  now("GOV-48", "After a hire it says whether it waits for the board or is ready."),
  now("GOV-49", "An approval has a page: thread, revision, decision with a note, timeline."),
  now("GOV-50", "The inbox leads to approvals."),
  now("GOV-51", "The page of a rejected hire offers to delete the agent, and asks again before it does."),
  now("GOV-52", "A decision carries a note."),
  now("GOV-53", "Only the board deletes an agent, and only one that was not approved."),
  now("GOV-54", "Deleting it leaves the approval and its thread."),
  atDoor(
    "GOV-74",
    "One timeline of an approval shows its creation, comments, revisions and decision, with who did each.",
  ),
  // §13 open decisions
  now("GOV-75", "An agent that can't read configurations still sees each agent's name, role and status."),
  now("GOV-76", "Agents that may hire read their own configuration as they read others', to compare them."),
  now("GOV-77", "An agent whose hire was rejected is terminated until the board deletes it."),
  // §8 skills
  now("GOV-55", "There is a skill for hiring, with a reference of the operations."),
  now("GOV-56", "It tells how to find brains, read configurations, write a prompt, choose a boss and hire."),
  now("GOV-78", "It asks to choose the brain and configuration that fit this installation best."),
  now("GOV-57", "It tells how to deal with a request for revision."),
  now("GOV-58", "The general skill leads to it."),
  // §9 invariants
  now("GOV-59", "A pending agent is neither invoked nor woken."),
  now("GOV-60", "A pending agent is not given outcomes."),
  now("GOV-61", "A pending agent neither gets nor uses a key."),
  now("GOV-62", "Only its approval makes a pending agent active, whatever else happens at the same time."),
  now("GOV-63", "A pending approval is approved, rejected, cancelled or sent back, and nothing else."),
  now("GOV-64", "One that was sent back is resubmitted, rejected or cancelled, and nothing else."),
  now("GOV-65", "Every mutation is on record."),
  // §11 tests
  now("GOV-66", "The gates of hiring, of reading configurations and of switching the right are tested."),
  now("GOV-67", "Hiring is tested with the setting on and off."),
  now("GOV-68", "The moves of an approval are tested, the cycle of revisions among them."),
  now("GOV-69", "That a pending agent can do nothing is tested for every operation there is."),
  now("GOV-70", "Redaction is tested."),
  now("GOV-71", "That the switch of the setting keeps its position is tested."),
  now("GOV-72", "Comments and revisions on an approval's page are tested."),
  now("GOV-73", "What the form for hires says, pending or ready, is tested."),
  now("GOV-79", "Pages show the status pending_approval and filter agents by it."),
];
