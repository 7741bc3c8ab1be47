/**
 * The label of each operation that the attention list offers. test/ability-words.test.ts compares the two. An operation that is
 * offered for two purposes has a second label, for calls with this input.
 */
export const abilityWords: Readonly<Record<string, string>> = {
  "agent.resume": "Resume",
  "agent.set_budget": "Raise the budget",
  "agent.update": "Change the brain",
  "approval.approve": "Approve",
  "approval.cancel": "Withdraw",
  "approval.reject": "Reject",
  "approval.request_revision": "Request revision",
  "approval.resubmit": "Submit again",
  "company.thaw": "Thaw",
  "company.unarchive": "Unarchive",
  "company.update": "Raise the limit",
  "goal.set_budget": "Raise the budget",
  "mail.acknowledge": "Mark as done",
  "mail.send": "Write a message",
  "mail.send inReplyTo": "Answer",
  "mcp_server.sign_in": "Sign in",
  "mcp_server.test": "Test again",
  "outcome.close": "Close",
  "outcome.complete": "Complete",
  "outcome.decide": "Decide",
  "outcome.delegate": "Delegate",
  "outcome.reopen": "Reopen what it waits for",
  "outcome.submit": "Submit",
  "outcome.update": "Unblock",
  "outcome.update blocked.reason": "Say what blocks it",
  "permission.grant": "Allow",
  "secret.set": "Set the secret",
};

interface Labelled {
  readonly name: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  readonly asks: readonly string[];
}

export function abilityLabel({ name, body, asks }: Labelled): string {
  const inputs = [...asks, ...Object.keys(body ?? {})];
  const special = inputs
    .map((input) => abilityWords[`${name} ${input}`])
    .find((words) => words !== undefined);
  return special ?? abilityWords[name] ?? name.split(".").at(-1)?.replaceAll("_", " ") ?? name;
}
