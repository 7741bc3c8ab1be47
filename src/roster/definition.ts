import { stringify } from "yaml";
import { z } from "zod";
import { problemsIn, sentencesOf } from "../contract/problems.ts";
import { hireGrants, hireShape } from "../contract/hiring.ts";
import type { Refusal } from "../contract/refusal.ts";
import { Id, Name, text } from "../contract/words.ts";
import { readFrontMatter, wrongAt } from "../knowledge/front-matter.ts";

/**
 * The definition of an agent: a Markdown file whose front matter says who it is and whose body is its mandate. A file
 * without `role` is read as a sub-agent of Claude Code: what we know of it is taken, the rest is named in a notice. In a
 * file of ours a key that nobody knows is refused, because a slip of the pen would otherwise go unseen.
 */
export interface Definition extends Front {
  readonly file: string;
  readonly mandate: string;
  /** A refusal that names the file and the line of a key. */
  readonly wrong: (key: string, what: string, hint: string) => Refusal;
}

type Front = Omit<z.infer<typeof Own>, "description" | "tools">;

export const mostDefinitionBytes = 200_000;
const Mandate = text(20_000);

const Tools = z
  .union([z.string().transform((list) => list.split(",")), z.array(z.string())])
  .transform((list) => list.map((tool) => tool.trim()).filter((tool) => tool !== ""));

const Own = z.strictObject({
  ...hireShape,
  /** Only where another file of the same company refers to it. */
  id: Id.optional(),
  reportsTo: Name.optional(),
  description: hireShape.capabilities,
  tools: Tools.optional(),
  grants: hireGrants,
  autoReply: z.boolean().optional(),
});

const claudeKeys = ["name", "description", "tools", "model", "effort"] as const;

export function readDefinition(file: string, content: string): { definition: Definition; notices: string[] } {
  const front = readFrontMatter(file, content);
  if (front === undefined)
    throw wrongAt(
      file,
      1,
      "it does not begin with front matter.",
      "Begin with ---, name: and role:, and ---.",
    );
  const { values, lineOf } = front;
  const isClaude = !("role" in values);
  const notices: string[] = [];
  let given: Record<string, unknown> = values;
  if (isClaude) {
    const known = Object.entries(values).filter(([key]) => claudeKeys.some((name) => name === key));
    const ignored = Object.keys(values).filter((key) => !claudeKeys.some((name) => name === key));
    if (ignored.length > 0) notices.push(`${file}: ignored ${ignored.join(", ")}.`);
    given = { ...Object.fromEntries(known), role: values["name"] };
    if (given["model"] === "inherit") delete given["model"];
  }
  const parsed = Own.safeParse(given, { reportInput: true });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const unknown = issue?.code === "unrecognized_keys" ? issue.keys : [];
    const key = String(unknown[0] ?? issue?.path[0] ?? "name");
    throw wrongAt(
      file,
      lineOf(key),
      unknown.length > 0
        ? `the key ${key} is unknown.`
        : sentencesOf(problemsIn(Own, parsed.error).slice(0, 1)),
      `A definition takes ${Object.keys(Own.shape).join(", ")}.`,
    );
  }
  const mandate = Mandate.safeParse(front.body.trim());
  if (!mandate.success)
    throw wrongAt(
      file,
      front.bodyLine,
      "the mandate is not valid text or too long.",
      "Use 20000 characters at most.",
    );
  const { description, tools = [], ...rest } = parsed.data;
  const capabilities = rest.capabilities ?? description;
  const granted = grantsFor(tools);
  const own = tools.filter((tool) => resourceOf(tool) === null);
  if (own.length > 0)
    notices.push(
      `${file}: ${own.join(", ")} ${own.length === 1 ? "is a tool" : "are tools"} of the brain, which decides on that itself.`,
    );
  return {
    notices,
    definition: {
      ...rest,
      ...(capabilities === undefined ? {} : { capabilities }),
      ...(rest.grants === undefined && granted.length === 0
        ? {}
        : { grants: [...(rest.grants ?? []), ...granted] }),
      file,
      mandate: mandate.data,
      wrong: (key, what, hint) => wrongAt(file, lineOf(key), what, hint),
    },
  };
}

export function writeDefinition(front: Readonly<Record<string, unknown>>, mandate: string): string {
  const said = Object.fromEntries(
    Object.entries(front).filter(([, value]) => value !== null && value !== undefined),
  );
  return `---\n${stringify(said, { lineWidth: 0 })}---\n\n${mandate.trim()}\n`;
}

/** Tools that are rights here: those of an MCP server, and the brain's own sub-agents. */
function grantsFor(tools: readonly string[]): NonNullable<Front["grants"]> {
  const resources = new Set(tools.map(resourceOf).filter((resource) => resource !== null));
  return [...resources].map((resource) => ({ resource }));
}

function resourceOf(tool: string): `mcp:${string}` | "org:consult" | null {
  if (/^(?:Task|Agent)(?:\(.*\))?$/.test(tool)) return "org:consult";
  const server = /^mcp__([A-Za-z0-9][A-Za-z0-9-]*(?:_[A-Za-z0-9-]+)*)(?:__.*)?$/.exec(tool)?.[1];
  return server === undefined ? null : `mcp:${server}`;
}
