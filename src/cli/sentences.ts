import type { Operation } from "../contract/operation.ts";
import { removeProvider } from "../contract/providers.ts";
import { setPermissions } from "../contract/agents.ts";
import { type Drawing, plain } from "./look.ts";

/**
 * The answer to an action: one sentence, or two if something has to follow. `{key}` is a value of the result. An action without
 * a sentence here has a screen, or shows its result.
 */
const sentences: Readonly<Record<string, string | ((output: unknown) => string)>> = {
  "company.archive": "{name} is archived. To bring it back: agency companies unarchive {slug}",
  "company.unarchive":
    "{name} is out of the archive, and still frozen. To let it work: agency thaw --company {slug}",
  "company.freeze":
    "{name} is frozen: no session runs until you thaw it. To continue: agency thaw --company {slug}",
  "company.thaw": "{name} works again.",
  "company.update": "{name} is updated. To see its settings: agency companies view --company {slug}",
  "person.remove": "{name} is removed.",
  "person.update": "{name} is updated ({role}).",
  "secret.remove": "The secret {name} is removed.",
  "provider.remove": (output) =>
    removeProvider.output.parse(output).builtIn
      ? "The provider {name} has its default configuration again."
      : "The provider {name} is removed.",
  "mcp_server.put":
    "The server {name} is added. Agents use it once they hold a right: agency access grant <agent> mcp:{name}",
  "mcp_server.sign_in": "{says}",
  "mcp_server.remove":
    "The server {name} is removed. Running calls to it end, and agents can't call it any more.",
  "repo.add":
    "The repository {name} is added. Agents use it once they hold a right: agency access grant <agent> repo:{name}",
  "repo.fetch": "The repository {name} is fetched from {url}.",
  "repo.remove": "The repository {name} is removed. Its origin stays as it is.",
  "repo.discard": "The commits are discarded. To see {name}: agency repos",
  "skill.remove": "The skill {name} is removed.",
  "agent.create_key": "The key, shown only now: {key}",
  "agent.revoke_key": 'The key "{label}" is revoked. It does not work any more.',
  "agent.delete": "{name} is deleted.",
  "agent.pause": "{name} is paused. To resume: agency agents resume {slug}",
  "agent.resume": "{name} works again.",
  "agent.terminate": "{name} has left. Its manager has its reports, work and files.",
  "agent.update": "{name} is updated.",
  "agent.wakeup": "{name} was woken. It starts a session if it has work: agency why {slug}",
  "agent.set_permissions": (output) =>
    setPermissions.output.parse(output).permissions.canCreateAgents
      ? "{name} can now hire agents."
      : "{name} can't hire agents any longer.",
  "agent.set_budget": "The budget of {agent} is changed. To see all budgets: agency budgets",
  "agent.propose_change": "The change is proposed in request {id}. The board decides about it.",
  "agent.create": "{name} is hired.",
  "knowledge.create": "File {id} is created.",
  "knowledge.write": "File {id} has version {version} now.",
  "knowledge.delete": "File {id} is deleted. Its history stays.",
  "goal.set_budget": 'The budget of "{title}" is changed.',
  "outcome.close": '"{title}" is closed.',
  "outcome.complete": '"{title}" is completed.',
  "outcome.create": '{id} "{title}" is created. Responsible: {responsible}.',
  "outcome.decide": '"{title}" is {status} now.',
  "outcome.submit": '"{title}" is submitted. {delegatedBy} verifies the result.',
  "outcome.delegate": '"{title}" is delegated to {responsible}.',
  "outcome.reclaim": '"{title}" is back with {responsible}.',
  "outcome.reopen": '"{title}" is open again. {responsible} works on it.',
  "outcome.update": '"{title}" is updated.',
  "goal.create": '{id} "{title}" is created. {responsible} works on it. To follow it: agency follow {id}',
  "permission.grant": "{to} can now {level} {resource} (right {id}).",
  "permission.revoke": "{to} can't {level} {resource} any more.",
  "permission.request": "The request for {level} on {resource} is sent.",
  "approval.comment": "Your comment is added.",
  "reorganization.undo": "Undone: {summary}.",
};

/** Undefined if the result itself is the answer. */
export function sentenceOf({ name }: Operation, output: unknown, look: Drawing): string | undefined {
  const known = sentences[name];
  const text = typeof known === "function" ? known(output) : known;
  const filled = text?.replace(/\{([\w.]+)\}/g, (_, path: string) =>
    plain(
      path.split(".").reduce((value: unknown, key) => Object(value)[key], output),
      look,
    ),
  );
  // Links that the reader of the text can't open.
  const { unreadable = [] }: { unreadable?: readonly { says: string }[] } = Object(output);
  return filled && [filled, ...unreadable.map(({ says }) => says)].join("\n");
}
