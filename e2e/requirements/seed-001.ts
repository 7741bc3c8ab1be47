/**
 * Every requirement of the first design document (agents, outcomes, knowledge, rights, mail), in our terms (docs/glossary.md).
 * The document's Handler is an agent, and its Agent is a session. Tests cite the ids, in their names or in a line `// covers
 * …`. test/requirements.test.ts checks that each present requirement is cited.
 */
export interface Requirement {
  readonly id: string;
  readonly text: string;
  readonly status: "now" | `later: ${string}`;
  /** A test of the built daemon (e2e/) must cite it: over HTTP, MCP or the command line. */
  readonly atDoor?: true;
}

const now = (id: string, text: string): Requirement => ({ id, text, status: "now" });
const atDoor = (id: string, text: string): Requirement => ({ ...now(id, text), atDoor: true });
const later = (issue: string, id: string, text: string): Requirement => ({
  id,
  text,
  status: `later: ${issue}`,
});

const knowledge: readonly Requirement[] = [
  now("KB-01", "The knowledge base holds files of every kind, each under a UUID."),
  now("KB-02", "Each file has a description."),
  now("KB-03", "An agent has one of three levels on a file: none, read, write."),
  now("KB-04", "none: it sees the id and the description, never the content."),
  now("KB-05", "read: it reads the content and the description."),
  now("KB-06", "write: it reads, and adds new versions."),
  now("KB-07", "Each call is checked against the rights of that moment before anything else happens."),
  now("KB-08", "A file is a folder named by its id; each version lies in it under the hash of its content."),
  now("KB-09", "The database says which version number has which hash."),
  now("KB-10", "An agent that may read a file can see its earlier versions."),
  now(
    "KB-11",
    "Overwriting takes the version and hash last seen, and succeeds only while they are the newest.",
  ),
  now("KB-12", "Any number of readers read at once."),
  atDoor(
    "KB-13",
    "A session can't write to the store's files on disk. Every write passes through the knowledge tool, which checks the right.",
  ),
  now("KB-14", "A session writes by naming a file in its own workspace."),
  now("KB-15", "A permitted write takes the bytes over, adds a version and moves the file to it."),
  now("KB-16", "A right to a file that is granted or revoked counts from the next call, with no restart."),
  atDoor(
    "KB-17",
    "The file's access log has every read of its content, whichever tool returned it: which agent, which session, and when.",
  ),
  atDoor("KB-18", "The file's access log has every write: which agent, which session, and when."),
  atDoor(
    "KB-19",
    "Listing shows every file the agent can read or write and no other, and returns a path on the file system for each. The path is a read-only copy in the workspace, never the store's own file.",
  ),
  now("KB-20", "Browsing searches the descriptions of everything the agent may know of."),
  now("KB-21", "Reading answers content, version number and hash."),
  now("KB-22", "Writing takes id, path and the pair last seen."),
  now("KB-23", "Creating takes a path and a description, and answers the new id."),
  now("KB-24", "History lists every version with number, hash and time."),
  now("KB-25", "An earlier version is read by its number."),
  now("KB-26", "Documents refer to each other as kb:// and the id; other addresses are ordinary links."),
];

const repositories: readonly Requirement[] = [
  atDoor("REPO-01", "Repositories are a tool of their own, apart from knowledge."),
  now("REPO-02", "A clone comes from a local cache, fast."),
  now("REPO-03", "Several agents that need a repository cause one fetch from its origin."),
  atDoor("REPO-04", "A session clones into its workspace, to work there."),
];

const outcomes: readonly Requirement[] = [
  now("OUT-01", "All work, large and small, is an outcome: a change to be made in the world."),
  now("OUT-02", "An outcome is a Markdown file of the knowledge base, under the same id."),
  now(
    "OUT-03",
    "The file says what it is, its status, the reason if it was closed, its parents and children.",
  ),
  now("OUT-04", "Outcomes form an acyclic graph: children are how, parents are why."),
  now("OUT-05", "An outcome may have several parents."),
  now("OUT-06", "An agent that sees that an outcome will not work out closes it and tries another."),
  now("OUT-07", "Outcomes are split as deep as needed, and need not be split at all."),
  now("OUT-08", "Agents, unlike outcomes, form a strict tree."),
  now("OUT-09", "Each outcome has exactly one responsible agent."),
  now("OUT-10", "An agent can ask which live outcomes it is responsible for."),
  now("OUT-11", "Delegation moves responsibility for the outcome and for what is below it."),
  atDoor(
    "OUT-12",
    "Every outcome has a history, the company's root and mandates included. It says when the outcome was created, by which agent and session.",
  ),
  atDoor(
    "OUT-13",
    "The history says when an outcome was changed, by which agent and session, and what changed.",
  ),
  now("OUT-14", "The history says when an outcome was completed or closed, by which agent and why."),
  now("OUT-15", "An agent that may read an outcome sees its history."),
  now("OUT-16", "Outcomes that stand still can be found."),
  now("OUT-17", "Each call is checked: read on what one was handed, write on what one makes below."),
  now("OUT-18", "Viewing shows the outcome, parents, children, responsible agent and history."),
  now("OUT-19", "Every chain of whys up to the root can be read."),
  now("OUT-20", "An outcome can be read with all below it."),
  now("OUT-21", "Creating one below another makes its creator responsible, and is on record."),
  now("OUT-22", "Description, state and relations can be changed, and the change is on record."),
  now("OUT-23", "Completing is on record."),
  now("OUT-24", "Closing writes the reason into the file and the history, for every reader."),
];

const capabilities: readonly Requirement[] = [
  now("CAP-01", "One place decides every access: knowledge, outcomes and mail ask it."),
  now("CAP-02", "An agent's id is the id of the outcome it was made for."),
  now("CAP-03", "A session is known as agent and session together, on record with all it does."),
  now("CAP-04", "A right is about one thing: a file, an outcome, a mail route, an MCP server."),
  now("CAP-05", "What an agent holds it can grant to a direct report."),
  now("CAP-06", "A right given for an outcome ends when that completes or closes."),
  now("CAP-07", "A grant may be narrower than what its giver holds, never wider."),
  now("CAP-08", "Who lacks a right asks its boss, by message."),
  now("CAP-09", "A boss that holds it grants it for an outcome."),
  now("CAP-10", "A boss that lacks it asks its own boss."),
  now("CAP-11", "The right comes down level by level, tied to an outcome at each."),
  now("CAP-12", "When the outcome ends, what was granted for it is gone on every level."),
  now("CAP-13", "Rights that will be needed are granted with the delegation."),
  now("CAP-14", "Writing to an agent is a right. Every agent has it for its boss and direct reports."),
  now("CAP-15", "The routes between boss and report exist from the moment the report does."),
  now("CAP-16", "No agent writes to an arbitrary agent of the tree."),
  now("CAP-17", "Every session has all base tools; it is the single call that is checked."),
  now("CAP-18", "A changed right takes effect when the call is tried again."),
  now("CAP-19", "MCP servers are the exception: they are in a session's settings."),
  atDoor(
    "CAP-20",
    "Granting an MCP server, and revoking it, changes the settings of the agent's next session. A server that the company doesn't have can't be granted.",
  ),
  atDoor("CAP-21", "A message tells a running session that an MCP server was granted or revoked."),
  atDoor(
    "CAP-22",
    "That session saves its state and ends, after 60 seconds at the latest. Another one starts with the new settings.",
  ),
  atDoor(
    "CAP-23",
    "An agent can list every right it holds at that moment: those it was granted, and those that follow from structure.",
  ),
  now("CAP-24", "Granting needs that the giver holds it, may narrow it, and is tied to an outcome."),
  later("sealed tokens", "CAP-25", "Each agent has its own secret, which proves who it is."),
];

const mail: readonly Requirement[] = [
  now("MSG-01", "Sending does not wait for the reader; reading is another call."),
  now("MSG-02", "A message is a knowledge file: durable, versioned, on record."),
  now("MSG-03", "A message is sent by the id of its file."),
  now("MSG-04", "Sending checks the right to write to that receiver."),
  now("MSG-05", "A deferred message is held back and delivered at its time."),
  now("MSG-06", "An agent can send itself a message for later."),
  now("MSG-07", "Reading the inbox lists what waits."),
  now("MSG-08", "A message makes one outcome to process the inbox, unless there is one."),
  now("MSG-09", "By that outcome an agent without a session is started."),
];

const secrets: readonly Requirement[] = [
  now("SEC-01", "Secrets are given to the daemon when it starts."),
  now("SEC-02", "They are decrypted once and stay in memory."),
  atDoor("SEC-03", "Only servers the agent holds a right to get theirs."),
  atDoor("SEC-04", "They reach the server when it starts, without a look-up at their source for each."),
  atDoor("SEC-05", "The session uses the server and never sees the secret."),
  atDoor(
    "SEC-06",
    "A server that fails, or whose secret is missing, is named by why and by the attention list.",
  ),
  atDoor("SEC-07", "Each call of a server is checked and recorded. A right that ends, ends it."),
];

const agents: readonly Requirement[] = [
  now("AGT-01", "An agent is durable: it has an identity, an inbox, responsibilities and rights."),
  now("AGT-02", "It reads the outcome it was handed and cannot change it; its boss can."),
  now("AGT-03", "It writes the outcomes it makes below."),
  now("AGT-04", "It has an inbox."),
  now("AGT-05", "It has a state document."),
  now("AGT-06", "It has a log."),
  now("AGT-07", "It has exactly one boss, who made it; only the root has none among the agents."),
  now("AGT-08", "It may hand an outcome to a new agent, which thereby comes to be."),
  now("AGT-09", "It has at most one live session."),
  now("AGT-10", "Without a session and with something workable, it is started."),
];

const sessions: readonly Requirement[] = [
  now("SES-01", "A session is one short run on behalf of an agent, with its own id in the record."),
  now("SES-02", "Its workspace is its own and goes away with it."),
  now("SES-03", "What is not in the knowledge base is gone when it ends."),
  now("SES-04", "All sessions of an agent get the same system prompt, which can therefore be cached."),
  now("SES-05", "It goes round inbox and work while something is workable, and then ends."),
  now("SES-06", "Before a session ends, it updates the state document and submits its summary."),
  now("SES-07", "If it must end earlier, another session continues while there is work."),
  now("SES-08", "The inbox is sorted into outcomes, not worked on."),
  now("SES-09", "Every session has the base tools, at one door."),
  now("SES-10", "Further MCP servers come by grants."),
  now("SES-11", "Its settings are made for it: its workspace, the base servers, those it was granted."),
];

const documents: readonly Requirement[] = [
  now("STA-01", "The state document is a knowledge file its agent reads and writes."),
  now("STA-02", "A session begins with what the state document says."),
  now("STA-03", "A session brings it up to date before it ends."),
  now("STA-04", "It allows one session to continue where the last one stopped."),
  now("STA-05", "It is kept short."),
  now("STA-06", "If it is stale, its earlier versions and the log help; the next session is told."),
  now("LOG-01", "The log is a knowledge file with an entry for each session."),
  now("LOG-02", "The agent reads it; only the system writes it."),
  now("LOG-03", "A session submits its summary through a tool, and the summary is appended to the log."),
  now("LOG-04", "The log has every session, also those that said nothing."),
  now("LOG-05", "A session can look things up in it."),
];

const board: readonly Requirement[] = [
  now("ROOT-01", "A company begins with one perpetual outcome, which is never completed."),
  now("ROOT-02", "The root agent answers for it and is otherwise an agent like any other."),
  now("ROOT-03", "Its boss is the board: people."),
  now("ROOT-04", "The board has an inbox for what the root agent writes."),
  now("ROOT-05", "The board writes to the root agent: work, answers, direction."),
  now("ROOT-06", "A message of the board starts the root agent as any message does."),
  now("ROOT-07", "The root agent splits, delegates and manages as any agent does."),
  now("UNI-01", "Every boundary speaks the same protocol, so boss and report may be people or programs."),
  now("UNI-02", "An agent can be tested alone: write to it as its boss, look at what it does."),
  now("UNI-03", "A layer of management can be put in without the reports noticing."),
  now("UNI-04", "A layer can be taken out: its work and its reports go to its boss."),
  later("federation", "UNI-05", "Parts of the tree run elsewhere and speak the same protocol."),
  atDoor(
    "UNI-06",
    "Several people hold positions at different points of one tree at the same time. Each acts with their own credential, and is the manager of the agents below.",
  ),
  atDoor(
    "UNI-07",
    "Several people share the board's inbox, and the root agent needn't know which one answers.",
  ),
  now(
    "UNI-08",
    "Parts of the tree are split and merged, and a position changes from person to program and back. Other agents don't change.",
  ),
  now("CLI-01", "The command line reads the board's inbox and writes to the root agent."),
  now("CLI-02", "It shows agents and what they do, outcomes, the graph, sessions, inboxes, the record."),
  now("CLI-03", "It reaches past the root: a message to any agent, a look at any outcome and any log."),
  now("CLI-04", "Other interfaces rest on the same operations."),
];

const delegation: readonly Requirement[] = [
  now("DEL-01", "Delegating an outcome to a new agent makes an agent with that outcome's id."),
  now("DEL-02", "The agent that delegates it is the new agent's boss."),
  now("DEL-03", "The boss chooses which rights go with it."),
  now("DEL-04", "They live as long as the outcome does."),
  now("DEL-05", "The outcome and all below it get the new responsible agent."),
  now("DEL-06", "The boss loses write on what is below."),
  now("DEL-07", "The boss keeps write on the outcome itself."),
  now("DEL-08", "The boss keeps read on all below."),
  now("DEL-09", "The new agent reads its outcome and cannot change it."),
  now("DEL-10", "The new agent writes what is below."),
  atDoor("DEL-11", "The new agent reads every outcome above its own, along every parent, up to the root."),
  now("DEL-12", "It can write to its boss at once."),
  now("DEL-13", "It can ask its boss for more rights."),
  now("BND-01", "A boss cannot create, change or close anything inside what it delegated."),
  now("BND-02", "A boss has no dealings with its reports' reports."),
  now("BND-03", "A boss can write to its report."),
  now("BND-04", "A boss can see how the delegated outcome stands."),
  atDoor(
    "BND-05",
    "A boss can complete or close the outcome it delegated. It can close it even while its report has delegated parts of it.",
  ),
  now("BND-06", "A boss can stop its report and take the outcome back."),
  now("BND-07", "A boss that is not satisfied talks to the agent, or gives the outcome to another one."),
];

const endings: readonly Requirement[] = [
  now(
    "END-01",
    "Who has accomplished its outcome asks its boss to verify; the boss completes it, and the agent ends.",
  ),
  now("END-02", "Who sees that its own part fails closes it and finds another way."),
  now("END-03", "Who sees that its whole outcome fails tells its boss, who decides."),
  now("END-04", "What happened is in the log, and the reason in the outcome's own file."),
  now("STOP-01", "Taking an outcome back stops the report's session."),
  now("STOP-02", "It stops every session below."),
  now("STOP-03", "The agents are deactivated, not deleted."),
  now("STOP-04", "The boss owns the outcome and all below again, with write."),
  now("STOP-05", "All rights of those agents for it end."),
  atDoor(
    "STOP-06",
    "The state document, the log and the outcome histories of every deactivated agent stay, and sessions of the boss can read them.",
  ),
];

const prompt: readonly Requirement[] = [
  now("PRO-01", "The prompt names the agent's outcome and its boss."),
  now("PRO-02", "It explains the outcome tools, and that what was delegated is not to be changed."),
  now("PRO-03", "It explains the knowledge tools."),
  now("PRO-04", "It explains mail: boss, direct reports, oneself later."),
  now("PRO-05", "It explains delegation and taking back."),
  now("PRO-06", "It explains rights: seeing and granting them."),
  now("PRO-07", "It names the repository tool."),
  now("PRO-08", "It explains the state document."),
  now("PRO-09", "It explains the log and the summary."),
  now("PRO-10", "It sets the loop: inbox, work, again, end."),
  now("PRO-11", "It sets the order of work by urgency and importance."),
  now("PRO-12", "It says that messages are sent and forgotten."),
  now("PRO-13", "It says that the session is short-lived and what lasts must be stored."),
  now("PRO-14", "It asks for a short and current state document before the end."),
  now("PRO-15", "It asks for a summary of what was done and why."),
  now("PRO-16", "It asks for least privilege, granted with the delegation."),
  now("PRO-17", "It says that outcomes are hypotheses."),
  now("PRO-18", "It asks to escalate and never just to stop."),
  now("PRO-19", "It puts the inbox before the work."),
  now("PRO-20", "It says that a new MCP server needs a new session."),
  now("PRO-21", "It says how to finish: results stored, state and summary, then ask the boss."),
  now("PRO-22", "It says that the current folder is the workspace."),
];

const notes: readonly Requirement[] = [
  now("NOTE-01", "Agents are asked to keep knowledge in small, linked files."),
  now("NOTE-02", "Measures show when an agent should delegate more."),
  now(
    "NOTE-05",
    "An agent that keeps busy without coming closer to an outcome gets longer pauses and is stopped.",
  ),
  now("NOTE-06", "What one outcome may cost can be limited."),
  now("NOTE-03", "Siblings do not write to each other; their boss mediates."),
  later("approvals", "NOTE-04", "A single use of a right can need a person's yes."),
];

export const seed001: readonly Requirement[] = [
  knowledge,
  repositories,
  outcomes,
  capabilities,
  mail,
  secrets,
  agents,
  sessions,
  documents,
  board,
  delegation,
  endings,
  prompt,
  notes,
].flat();
