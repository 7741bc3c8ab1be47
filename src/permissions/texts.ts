import { invalid, limited, refused, type Refusal } from "../contract/refusal.ts";
import { quotation } from "../contract/phrases.ts";
import type { Resource } from "../contract/resources.ts";

/** All texts of this folder. */
export const onlyAgents = (): Refusal =>
  refused(
    "Only agents can call this.",
    "The board uses agency access list <agent> and agency access explain <agent> <resource>.",
  );

export const whoseAccess = (): Refusal =>
  invalid("The call does not name the agent whose access to explain.", "Add `agent`: an id, slug or name.");

export const tooManyPermissionRequests = (most: number): Refusal =>
  limited(
    `You have ${most} pending permission requests, the maximum.`,
    "Wait for answers from your manager, and ask only for what the work needs.",
  );

/** To the manager, or to the board. */
export function permissionRequested(
  agent: { readonly id: string; readonly name: string; readonly boss_id: string | null },
  { resource, level, reason }: { resource: Resource; level: string; reason: string },
): string {
  const how =
    agent.boss_id === null
      ? `To grant it: agency access grant ${agent.id} ${resource} --level ${level}`
      : `To grant it: grant_permission ${JSON.stringify({ to: agent.id, resource, level })}. If you don't hold this right, ask your manager for it: request_permission.`;
  return `${agent.name} asks for ${level} on ${resource}.\n\n${quotation(agent.name, "reason", reason)}\n\n${how}`;
}

export const serverChanged = (server: string, isGranted: boolean): string =>
  `You may ${isGranted ? "now" : "no longer"} use the MCP server ${server}. This takes effect in your next session: save your state and end this one.`;

/** To an agent. `holder` is the agent further up whose right was revoked. Null if the agent's own right was. */
export const hiringEnded = (by: string, holder: string | null): string =>
  `You can no longer hire agents: ${
    holder === null
      ? `${by} revoked your right to hire`
      : `${by} revoked ${holder}'s right to hire, from which yours came`
  }. Your team stays as it is. If your work needs another agent, ask your manager: request_permission {"resource":"org:hire","reason":"…"}.`;

/** Reasons why an agent has a right without a grant. */
export const because = {
  delegatedToYou: (title: string): string =>
    `"${title}" was delegated to you. You can change what you create below it, and read its ancestors.`,
  youDelegated: (title: string): string =>
    `You delegated "${title}". You review it, and can read everything below it.`,
  ownDocument: (kind: string): string => `It is your ${kind === "log" ? "log" : "state document"}.`,
  reportsDocument: (name: string, kind: string): string =>
    `It is the ${kind === "log" ? "log" : "state document"} of ${name}, who reports to you.`,
  inherited: (name: string): string =>
    `${name} left the company, and you are the nearest manager above ${name}.`,
  manager: "It is your manager.",
  report: (name: string): string => `${name} reports to you.`,
  wroteToYou: (name: string): string => `${name} wrote to you. You can answer each message once.`,
  yourself: "You can leave yourself a message for later.",
};
