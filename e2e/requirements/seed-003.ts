import type { Requirement } from "./seed-001.ts";

/**
 * Every statement of the plan for create_agent, in our terms. Its world is a company, its option request is an approval, and
 * its manager function is the way in which every agent is created. The document's own requirements are in seed-004.ts; this one
 * decides how they are met.
 */
const now = (id: string, text: string): Requirement => ({ id, text, status: "now" });
const atDoor = (id: string, text: string): Requirement => ({ ...now(id, text), atDoor: true });

export const seed003: readonly Requirement[] = [
  // Decisions
  atDoor("TOOL-01", "create_agent is listed and called like every other built-in tool."),
  atDoor(
    "TOOL-02",
    "The approval uses the mechanism that all approvals use: same list, same calls, same states.",
  ),
  atDoor("TOOL-03", "Inside, the arguments have one name each: name, autoReply, role and nextAgent."),
  now(
    "TOOL-04",
    "One function writes the prompt, so every door produces the same text for the same arguments.",
  ),
  atDoor("TOOL-05", "Without a next agent, or with an empty one, the agent hands over to a person."),
  atDoor("TOOL-06", "A next agent that is given replaces that default."),
  atDoor(
    "TOOL-07",
    "A next agent that can't be found never becomes a guess: the call is answered with an error.",
  ),
  atDoor("TOOL-08", "Brain and model are the company's settings for such agents, where these are set."),
  atDoor("TOOL-09", "Only where a setting is empty does the fixed default apply."),
  // Review of the decisions
  atDoor("TOOL-10", "The tool itself enforces the approval: no caller and no setting gets around it."),
  atDoor("TOOL-11", "A denial is a result that says nothing was created."),
  atDoor("TOOL-12", "A request that expires is a result that says nothing was created."),
  atDoor("TOOL-13", "Spellings with hyphen, underscore or space are accepted, and never stored or shown."),
  atDoor(
    "TOOL-14",
    "The agent is created in the ordinary way: it is stored, listed and on the ledger like any other.",
  ),
  // Scope
  now("TOOL-15", "People are asked in the form that exists; the tool needs no screen for itself."),
  now("TOOL-16", "The routes that create agents keep their arguments and answers."),
  // Order of the steps
  atDoor("TOOL-17", "The arguments are checked and normalized before any person is asked."),
  atDoor("TOOL-18", "No agent exists before the yes. A no ends the call without one."),
  atDoor("TOOL-19", "After the yes come the prompt, the agent and a structured result."),
  // Phase 1: the tool
  atDoor("TOOL-20", "The schema of the tool requires name and offers autoReply, role and nextAgent."),
  now("TOOL-21", "The prompt's first line has the name, and the role where one was given."),
  now(
    "TOOL-22",
    "After an empty line, the prompt demands its structure: the next agent after an @, then the answer.",
  ),
  atDoor("TOOL-23", "The person chooses between yes and no."),
  atDoor("TOOL-24", "autoReply is true unless the call says otherwise."),
  atDoor("TOOL-25", "Success, denial and error are JSON of one fixed shape."),
  // Phase 2: where it is registered
  atDoor(
    "TOOL-26",
    "Its arguments pass the same validation layer as those of other tools, which stay as they are.",
  ),
  // Phase 3: other spellings
  atDoor("TOOL-27", "auto-reply and auto_reply mean autoReply."),
  atDoor("TOOL-28", "next agent, next-agent and next_agent mean nextAgent."),
  atDoor("TOOL-29", "Another spelling counts only where the argument itself is absent."),
  atDoor("TOOL-30", "Other tools don't accept these spellings."),
  // Phase 4: tests
  atDoor("TOOL-31", "Tested: a call without a name fails."),
  atDoor("TOOL-32", "Tested: after a denial or an expiry there is no new agent."),
  now("TOOL-33", "Tested: the prompt with and without role and next agent, word for word."),
  now("TOOL-34", "Tested: brain and model with the settings filled and empty."),
  atDoor("TOOL-35", "Tested: a name that is taken is answered with the reason."),
  now("TOOL-36", "The tests need no model and no network."),
  // Phase 5 and exit criteria
  atDoor("TOOL-37", "Hires and their approvals work as before."),
  atDoor("TOOL-38", "The same call gives the same result, apart from ids and times."),
  // Risks
  now("TOOL-39", "Where no person can be reached, the answer is a denial or an error, never an agent."),
  atDoor("TOOL-40", "Brain and model are read from the company when the call is made."),
  atDoor("TOOL-41", "The role can't break the prompt: its whitespace is collapsed and its length limited."),
  atDoor("TOOL-42", "A collision is decided where all agents are created, and the answer says what to do."),
  // Validation by hand
  atDoor("TOOL-43", "On the command line, a person denies a request and no agent appears."),
  atDoor(
    "TOOL-44",
    "On the command line, a person approves a request, and the agent appears with the required prompt.",
  ),
];
