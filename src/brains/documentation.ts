import { z } from "zod";
import type { Brain } from "./brain.ts";

/**
 * Pages about the installed brains, for agents and people who hire. They are made from the modules, so they are never out of
 * date.
 */
export function indexText(brains: readonly Brain[], allowed: readonly string[]): string {
  return [
    "# Agent configuration",
    "",
    "These brains are installed here. Each page describes the keys of adapterConfig.",
    "",
    ...brains.map(
      ({ type }) =>
        `- ${type}: /llms/agent-configuration/${type}.txt${allowed.includes(type) ? "" : " (only the board may hire with it)"}`,
    ),
    "",
    "## How to hire",
    "",
    "1. Read the page of the brain you want.",
    "2. See how existing agents are configured: GET /api/companies/:companyId/agent-configurations (tool view_configurations).",
    "3. POST /api/companies/:companyId/agent-hires (tool hire_agent) with name, role and the other keys the agent needs.",
    "4. The answer has agent and approval. If there is an approval, the agent is pending_approval until the board decides. The decision reaches you by mail.",
    "5. If the board asks for a revision, read GET /api/approvals/:id/comments, answer there, and POST /api/approvals/:id/resubmit with the changed keys as payload.",
    "",
  ].join("\n");
}

export function pageText(brain: Brain): string {
  const schema = Schema.parse(z.toJSONSchema(brain.config, { io: "input", unrepresentable: "any" }));
  const keys = Object.entries(schema.properties ?? {});
  const isRequired = (key: string): boolean => schema.required?.includes(key) === true;
  const lines = (wanted: boolean): string[] => {
    const some = keys.filter(([key]) => isRequired(key) === wanted);
    return some.length === 0 ? ["(none)"] : some.map(([key, property]) => describe(key, property));
  };
  const example = (config: Readonly<Record<string, unknown>>): string =>
    JSON.stringify(
      { name: "Ada", role: "Engineer", adapterType: brain.type, adapterConfig: config },
      null,
      2,
    );
  return [
    `# ${brain.type}`,
    "",
    brain.documentation,
    "",
    "## Required keys of adapterConfig",
    "",
    ...lines(true),
    "",
    "## Optional keys",
    "",
    ...lines(false),
    "",
    "Any other key is refused.",
    "",
    "## Safety",
    "",
    ...brain.safety.map((note) => `- ${note}`),
    "",
    "## Examples of a hire",
    "",
    ...brain.examples.map((config) => example(config)),
    "",
  ].join("\n");
}

const Property = z.looseObject({
  type: z.string().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
});
const Schema = z.looseObject({
  properties: z.record(z.string(), Property).optional(),
  required: z.array(z.string()).optional(),
});

function describe(key: string, { type, description, default: preset }: z.infer<typeof Property>): string {
  const standard = preset === undefined ? "no default" : `default ${JSON.stringify(preset)}`;
  return `- ${key} (${type ?? "any"}, ${standard}): ${description ?? ""}`;
}
