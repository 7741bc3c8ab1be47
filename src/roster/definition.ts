import { stringify } from "yaml";
import { z } from "zod";
import { problemsIn, sentencesOf } from "../contract/problems.ts";
import { hireGrants, hireShape } from "../contract/hiring.ts";
import { Id, Name, text } from "../contract/words.ts";
import { readFrontMatter, wrongAt } from "../knowledge/front-matter.ts";
import { didYouMean, nearest } from "../contract/nearest.ts";
import { brainTools, ignoredKeys, noFrontMatter, type WithLines, wrongMandate } from "./texts.ts";

/**
 * The definition of an agent: a Markdown file whose front matter describes the agent and whose body is its mandate. A file
 * without `role` is read as a sub-agent of Claude Code: known keys are used, and a notice names the others. In our own files an
 * unknown key is refused, because a typing mistake would otherwise go unnoticed.
 */
export interface Definition extends Front, WithLines {
  readonly file: string;
  readonly mandate: string;
  /** The rights that its `tools` name. A server that the company does not have is left out here, but refused in `grants`. */
  readonly byTools: readonly string[];
}

type Front = Omit<z.infer<typeof Own>, "description" | "tools">;

export const mostDefinitionBytes = 200_000;
const Mandate = text(20_000);

const Tools = z
  .union([z.string().transform((list) => list.split(",")), z.array(z.string())])
  .transform((list) => list.map((tool) => tool.trim()).filter((tool) => tool !== ""));

const Own = z.strictObject({
  ...hireShape,
  /** Present only if another file of the company refers to the agent. */
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
  if (front === undefined) throw noFrontMatter(file);
  const { values, lineOf } = front;
  const isClaude = !("role" in values);
  const notices: string[] = [];
  let given: Record<string, unknown> = values;
  if (isClaude) {
    const known = Object.entries(values).filter(([key]) => claudeKeys.some((name) => name === key));
    const ignored = Object.keys(values).filter((key) => !claudeKeys.some((name) => name === key));
    // In one of our own files, `rol: Writer` is a typing mistake and not a key of Claude Code.
    const [mistake] = ignored.filter((key) => nearest(key, Object.keys(Own.shape)).length > 0);
    if (mistake !== undefined)
      throw wrongAt(
        file,
        lineOf(mistake),
        `the key ${mistake} is unknown.`,
        didYouMean(mistake, Object.keys(Own.shape)),
      );
    if (ignored.length > 0) notices.push(ignoredKeys(file, ignored));
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
  if (!mandate.success) throw wrongMandate(file, front.bodyLine);
  const { description, tools = [], ...rest } = parsed.data;
  const capabilities = rest.capabilities ?? description;
  const granted = grantsFor(tools);
  const own = tools.filter((tool) => resourceOf(tool) === null);
  if (own.length > 0) notices.push(brainTools(file, own));
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
      byTools: granted.map(({ resource }) => resource),
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

/** The tools that are rights in Agency: tools of an MCP server, and the brain's sub-agents. */
function grantsFor(tools: readonly string[]): NonNullable<Front["grants"]> {
  const resources = new Set(tools.map(resourceOf).filter((resource) => resource !== null));
  return [...resources].map((resource) => ({ resource }));
}

function resourceOf(tool: string): `mcp:${string}` | "org:consult" | null {
  if (/^(?:Task|Agent)(?:\(.*\))?$/.test(tool)) return "org:consult";
  const server = /^mcp__([A-Za-z0-9][A-Za-z0-9-]*(?:_[A-Za-z0-9-]+)*)(?:__.*)?$/.exec(tool)?.[1];
  return server === undefined ? null : `mcp:${server}`;
}
