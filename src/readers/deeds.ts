import type { By } from "../contract/actors.ts";
import type { Reference } from "../contract/words.ts";
import { nameOfBy } from "../capabilities/people.ts";

/** The sentence of an event: "Ada completed "The guide"." The star stands for its subject, `{key}` for a value of its data. */
const deeds: Readonly<Record<string, string>> = {
  "agent.bind": "became the person behind *",
  "agent.create": "created the agent *",
  "agent.create_key": "created an API key for *",
  "agent.delete": "deleted the agent *",
  "agent.hand_over": "handed the position of * over",
  "agent.hire": "hired *",
  "agent.move": "moved *",
  "agent.pause": "paused *",
  "agent.propose_change": "proposed a change of *",
  "agent.reclaim": "took back the work of *",
  "agent.request": "requested the agent *",
  "agent.resume": "resumed *",
  "agent.retire": "retired *",
  "agent.return": "brought * back",
  "agent.revoke_key": "revoked an API key of *",
  "agent.set_budget": "set the budget of *",
  "agent.set_permissions": "changed whether * can hire",
  "agent.terminate": "terminated *",
  "agent.update": "changed the agent *",
  "agent.vacate": "made the position of * vacant",
  "agent.wait_for_approval": "waited for the approval of *",
  "agent.wakeup": "woke * up",
  "approval.approve": "approved *",
  "approval.cancel": "cancelled *",
  "approval.comment": "commented on *",
  "approval.create": "asked for the approval of *",
  "approval.expire": "ended the request for *, because its time to decide was over",
  "approval.reject": "rejected *",
  "approval.request": "requested *",
  "approval.request_revision": "asked for a revision of *",
  "approval.resubmit": "resubmitted *",
  "approval.update": "changed *",
  "brain.test": "started a test of the brain {type}",
  "brain.tested": "ended the test of the brain {type}: it {status}",
  "budget.notice": "warned that the budget of * is nearly used up",
  "budget.release": "released what was reserved for a session of *",
  "company.archive": "archived *",
  "company.create": "created the company *",
  "company.export": "exported *",
  "company.freeze": "froze *",
  "company.import": "imported *",
  "company.thaw": "thawed *",
  "company.unarchive": "took * out of the archive",
  "company.update": "changed the settings of *",
  "doctor.fix": "repaired stored rows",
  "event.remove": "removed exported events from the record",
  "goal.create": "created the goal *",
  "goal.set_budget": "set the budget of the goal *",
  "growth.suggest": "suggested a hire to *",
  "knowledge.create": "created the file *",
  "knowledge.damaged": "found damaged content in *",
  "knowledge.delete": "deleted the file *",
  "knowledge.history": "listed the versions of *",
  "knowledge.list": "listed files",
  "knowledge.read": "read *",
  "knowledge.read_version": "read a version of *",
  "knowledge.search": "searched the files",
  "knowledge.write": "wrote *",
  "ledger.begin": "began the ledger",
  "ledger.rows": "recorded changed rows",
  "ledger.seal": "sealed the ledgers of all companies",
  "mail.acknowledge": "acknowledged a message",
  "mail.cancel": "cancelled a message to *",
  "mail.compact": "removed the text of an old message: *",
  "mail.conversation": "read a conversation with *",
  "mail.deliver": "delivered a message to *",
  "mail.drop": "dropped a message to *",
  "mail.fail": "could not deliver a message to *",
  "mail.mark_read": "marked messages as read",
  "mail.read_inbox": "read the inbox",
  "mail.renew": "renewed a notice to *",
  "mail.reply": "replied to *",
  "mail.send": "sent a message to *",
  "mail.send_deferred": "wrote a message for later to *",
  "mail.sent": "listed sent messages",
  "mail.view": "read a message to *",
  "mcp_server.answer": "got an answer from the MCP server {server}",
  "mcp_server.call": "called the MCP server {server}",
  "mcp_server.fail": "found that the MCP server {server} does not work",
  "mcp_server.recover": "found that the MCP server {server} works again",
  "mcp_server.change": "found that the MCP server {server} describes its tools differently",
  "mcp_server.sign_in": "made a link to sign in for the MCP server {server}",
  "mcp_server.signed_in": "signed in for the MCP server {server}",
  "mcp_server.test": "tested the MCP server {server}",
  "mcp_server.put": "set up the MCP server {server}",
  "mcp_server.remove": "removed the MCP server {server}",
  "model.refuse": "was refused the model provider {provider}",
  "net.connect": "connected to {host}",
  "net.refuse": "was refused a connection to {host}",
  "repo.add": "added the repository {repo}",
  "repo.clone": "cloned the repository {repo}",
  "repo.discard": "discarded commits of {repo} that were not published",
  "repo.fetch": "fetched the repository {repo}",
  "repo.publish": "published the branch {branch} of {repo}",
  "repo.push": "pushed the branch {branch} of {repo} to its origin",
  "repo.remove": "removed the repository {repo}",
  "repo.salvage": "kept commits of {repo} that were not published",
  "org.plan_work": "divided * into tasks",
  "outcome.close": "closed *",
  "outcome.complete": "completed *",
  "outcome.create": "created the outcome *",
  "outcome.decide": "decided about *",
  "outcome.delegate": "delegated *",
  "outcome.move": "moved *",
  "outcome.reclaim": "took back *",
  "outcome.reopen": "reopened *",
  "outcome.restore": "restored *",
  "outcome.stall": "blocked *, because its sessions made no progress",
  "outcome.submit": "submitted *",
  "outcome.update": "changed *",
  "outcome.view": "looked at *",
  "permission.grant": "granted a right to *",
  "permission.request": "asked for a right",
  "permission.revoke": "revoked a right of *",
  "person.create": "added the person *",
  "person.link": "made a sign-in link for *",
  "person.me": "looked at their sign-ins",
  "person.remove": "removed the person *",
  "person.sign_in": "signed in",
  "person.sign_out": "signed out",
  "person.update": "changed the person *",
  "provider.put": "set up the model provider {provider}",
  "provider.remove": "removed the settings of the model provider {provider}",
  "reorganization.apply": "reorganized: *",
  "reorganization.plan": "planned a reorganization",
  "reorganization.undo": "undid a reorganization: *",
  "reorganization.view": "looked at a reorganization: *",
  "secret.remove": "removed the secret {name}",
  "secret.set": "set the secret {name}",
  "session.brief": "was briefed with *",
  "session.end": "ended a session of *",
  "session.start": "started a session of *",
  "session.submit_summary": "submitted the summary of a session of *",
  "session.transcript": "read a transcript of *",
  "session.usage": "reported what a session of * used",
  "session.words": "recorded the last words of a session of *",
  "skill.put": "added the skill {skill}",
  "skill.remove": "removed the skill {skill}",
};

export const hasDeed = (operation: string): boolean => operation in deeds;

/** The kind of subject that events of a noun have. For all other events, it is an agent first. */
const kinds: Readonly<Record<string, string>> = {
  approval: "approval",
  company: "company",
  goal: "outcome",
  knowledge: "file",
  org: "outcome",
  outcome: "outcome",
  person: "person",
  reorganization: "reorganization",
};

/**
 * The subject of an event, among the things with that id. An agent and its mandate have the same id: an event about an agent
 * that was deleted since is not about the mandate.
 */
export function aboutIn(operation: string, things: readonly Reference[] | undefined): Reference | null {
  const kind = kinds[operation.split(".")[0] ?? ""] ?? "agent";
  const found = things?.find((thing) => thing.kind === kind);
  return found ?? things?.find((thing) => kind !== "agent" || thing.kind !== "outcome") ?? null;
}

export function deedSentence(
  by: By,
  about: Reference | null,
  { operation, subject, data }: { operation: string; subject: string | null; data: Record<string, unknown> },
): string {
  const who = nameOfBy(by);
  if (operation === "access.refused")
    return `${who} was refused ${String(data["operation"])}: ${String(data["message"])}`;
  const { kind, title } = about ?? {};
  const isName =
    kind === undefined || ["agent", "person", "company", "approval", "reorganization"].includes(kind);
  const lost = subject === null ? "something that you can't read" : "something that is gone";
  const known = subject === null || uuid.test(subject) ? lost : subject;
  const recorded = (key: string): string => (typeof data[key] === "string" ? data[key] : known);
  // Mail to the board is recorded for the company.
  const isToBoard = kind === "company" && operation.startsWith("mail.");
  const shown = isToBoard ? "the board" : (title ?? recorded("name"));
  const named = isName ? shown.replace(/^The /, "the ") : `"${shown.replaceAll('"', "'")}"`;
  const deed = deeds[operation] ?? `did ${operation}${subject === null ? "" : " on *"}`;
  // For a lost thing, the noun before the star is replaced as well: "something that is gone", not "the file something that
  // is gone".
  const places = shown === lost ? /(?:the \w+ )?\*|\{(\w+)\}/g : /\*|\{(\w+)\}/g;
  const says = deed.replace(places, (_, key?: string) => (key === undefined ? named : recorded(key)));
  return `${who} ${says}.`;
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
