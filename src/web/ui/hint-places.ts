/**
 * The places in the dashboard for what commands do. Hints name commands, because people read them in a terminal too. Here the
 * first command with a place becomes a button. test/hint-places.test.ts compares the table with the commands.
 */
export const hintPlaces: Readonly<Record<string, { readonly to: string; readonly text: string }>> = {
  access: { to: "/org", text: "Choose an agent" },
  agents: { to: "/org", text: "Open the organization" },
  approvals: { to: "/approvals", text: "Open approvals" },
  attention: { to: "/", text: "Open Home" },
  audit: { to: "/activity", text: "Open activity" },
  brains: { to: "/settings/brains", text: "Open brains" },
  budgets: { to: "/costs", text: "Open costs" },
  companies: { to: "/companies", text: "Open companies" },
  costs: { to: "/costs", text: "Open costs" },
  hire: { to: "/hire", text: "Open the form to hire" },
  inbox: { to: "/mail", text: "Open mail" },
  kb: { to: "/knowledge", text: "Open knowledge" },
  mail: { to: "/mail", text: "Open mail" },
  org: { to: "/org", text: "Open the organization" },
  outcomes: { to: "/outcomes", text: "Open outcomes" },
  people: { to: "/settings/people", text: "Open people" },
  providers: { to: "/settings/brains", text: "Open brains" },
  reorg: { to: "/org", text: "Open the organization" },
  repos: { to: "/settings/repos", text: "Open repositories" },
  secrets: { to: "/settings/secrets", text: "Open secrets" },
  send: { to: "/mail", text: "Open mail" },
  servers: { to: "/settings/servers", text: "Open MCP servers" },
  sessions: { to: "/sessions", text: "Open sessions" },
  thaw: { to: "/settings/company", text: "Open the company's settings" },
};

/** A command about one agent has its place on that agent's page. */
const onAgent: readonly (readonly [RegExp, string])[] = [
  [/^access \w+ ([0-9a-f-]{36})/, "rights"],
  [/^agents (?:update|budget) ([0-9a-f-]{36})/, "setup"],
  [/^agents \w+ ([0-9a-f-]{36})/, "now"],
];

export function placeOfHint(hint: string): { readonly to: string; readonly text: string } | undefined {
  for (const [, command = ""] of hint.matchAll(/\bagency ([a-z]+[^`\n]*)/g)) {
    for (const [pattern, tab] of onAgent) {
      const id = pattern.exec(command)?.[1];
      if (id !== undefined) return { to: `/agents/${id}/${tab}`, text: "Open the agent" };
    }
    const found = hintPlaces[/^[a-z]+/.exec(command)?.[0] ?? ""];
    if (found !== undefined) return found;
  }
  return undefined;
}
