import type { Requirement } from "./seed-001.ts";

/**
 * Every requirement and acceptance criterion of the document on create_agent, in our terms. Its world is a company, its user is
 * the board, and its toolset is the tools of a session.
 */
const now = (id: string, text: string): Requirement => ({ id, text, status: "now" });

export const seed004: readonly Requirement[] = [
  // REQ-1
  now("CRA-01", "create_agent is among the tools of every session."),
  now("CRA-02", "It is found where the other tools are, whatever else is configured, or nothing."),
  // REQ-2
  now("CRA-03", "It takes the name of the new agent, and cannot do without."),
  now("CRA-04", "A call without a name is answered with a validation error that says so."),
  now("CRA-05", "It may be told whether the new agent replies by itself."),
  now("CRA-06", "A call may say the role of the new agent, and which agent it replies to."),
  now("CRA-07", "Other spellings of an argument mean the argument that is stored and used."),
  now("CRA-08", "An argument of a wrong type is answered with a validation error that names it."),
  now("CRA-09", "A call that is not valid creates nothing, and no person is asked."),
  // REQ-3
  now(
    "CRA-10",
    "Every call needs a person's explicit yes, whichever agent calls and whatever the settings are.",
  ),
  now("CRA-11", "After a no there is no agent, and the result is a denial."),
  now("CRA-12", "Without an answer in time there is no agent, and the result is a denial."),
  now("CRA-13", "A person answers it where and how they answer every other approval."),
  now("CRA-14", "That it was asked, and how it was decided, is on record like everything else."),
  // REQ-4
  now("CRA-15", "A yes makes exactly one agent."),
  now("CRA-16", "It is made from what was given."),
  now(
    "CRA-17",
    "It has all that any other agent has: a mandate, a boss, a state document, a status, an inbox.",
  ),
  now("CRA-18", "Its brain is the one the company set for such agents, where it set one."),
  now("CRA-19", "Its model is the one the company set for such agents, where it set one."),
  now("CRA-20", "Where nothing is set, it gets the company's default, the same every time."),
  now("CRA-21", "A name that is taken is answered with an error that says so."),
  now("CRA-22", "A conflict leaves nothing behind, not even in part."),
  // REQ-5
  now("CRA-23", "The system prompt has exactly the required lines."),
  now("CRA-24", "The prompt calls it by the given name."),
  now("CRA-25", "The prompt says the role, where one was given."),
  now("CRA-26", "The prompt addresses the next agent, where one was given."),
  now("CRA-27", "Where none was given, the prompt addresses a person, always."),
  now("CRA-28", "The description of the tool says so."),
  // REQ-6
  now("CRA-29", "A success is structured, and names the new agent by id, name and slug."),
  now("CRA-30", "It says what took effect: autoReply, role, the next agent, brain, model and prompt."),
  // Non-functional
  now("CRA-31", "The same input makes the same agent."),
  now("CRA-32", "One call, however often it is repeated, asks once and makes at most one agent."),
  now("CRA-33", "An error says what is wrong and what can be done."),
  now("CRA-34", "The other ways to make an agent work as before."),
  // Acceptance
  now("CRA-35", "A session of a company without its own MCP servers lists create_agent."),
  now("CRA-36", "A call without a name is rejected."),
  now("CRA-37", "autoReply, role and next agent are taken, and may be left out."),
  now("CRA-38", "No agent comes from it without an approval."),
  now("CRA-39", "A denied call creates nothing and answers with the denial."),
  now("CRA-40", "An approved call creates one agent, stored as expected."),
  now("CRA-41", "An approved call uses the company's brain and model for such agents."),
  now("CRA-42", "The prompt matches the template."),
  now("CRA-43", "Role and next agent fill their places in the template."),
  now("CRA-44", "Without a next agent the documented default stands there."),
  now("CRA-45", "Calls that collide fail safely, without writing a part."),
];
