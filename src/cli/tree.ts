import type { Command } from "commander";
import { viewCompany } from "../contract/companies.ts";
import { type OutcomeSummary, viewSubtree } from "../contract/outcomes.ts";
import { idNamed } from "./resolving.ts";
import { clientOf, companyOf, type Context, print } from "./terminal.ts";
import { companyFlag, example, jsonFlag } from "./texts.ts";

export function addTree(program: Command, context: Context): void {
  program
    .command("tree")
    .description("Show the outcomes as a tree, with the agent responsible for each.")
    .argument("[id]", "Outcome to start from. Defaults to the company's root outcome.")
    .option(...companyFlag)
    .option("--all", "Include completed and closed outcomes.")
    .option("--limit <number>", "Maximum number of outcomes to show.", Number, 1000)
    .option(...jsonFlag)
    .addHelpText("after", example("agency tree --all"))
    .action(
      async (id: string | undefined, flags: { company?: string; all?: true; limit: number; json?: true }) => {
        const client = clientOf(context.env);
        const rootOf = async (companyId: string) => client.call(viewCompany, { companyId });
        const start =
          id !== undefined
            ? await idNamed(context, client, "outcome", id, flags.company)
            : (await rootOf(await companyOf(client, flags.company))).rootOutcomeId;
        const subtree = await client.call(viewSubtree, { id: start, limit: flags.limit });
        print(context, flags, subtree, drawTree(start, subtree, flags.all === true));
      },
    );
}

type Subtree = { outcomes: (OutcomeSummary & { parents: string[] })[]; truncated: boolean };

/** An outcome with several parents is drawn below each of them. Its children are drawn only the first time. */
export function drawTree(start: string, subtree: Subtree, all: boolean): string {
  const byId = new Map(subtree.outcomes.map((outcome) => [outcome.id, outcome]));
  const children = new Map<string, string[]>();
  for (const { id, parents, status } of subtree.outcomes) {
    if (!all && (status === "completed" || status === "closed")) continue;
    for (const parent of parents) children.set(parent, [...(children.get(parent) ?? []), id]);
  }
  const lines: string[] = [];
  const drawn = new Set<string>();
  const draw = (id: string, indent: string, branch: string): void => {
    const outcome = byId.get(id);
    if (outcome === undefined) return;
    const again = drawn.has(id) && (children.get(id)?.length ?? 0) > 0;
    lines.push(`${indent}${branch}${label(outcome)}${again ? " (see above)" : ""}`);
    if (again) return;
    drawn.add(id);
    const below = children.get(id) ?? [];
    const deeper = branch === "" ? "" : `${indent}${branch === "└─ " ? "   " : "│  "}`;
    for (const [index, child] of below.entries())
      draw(child, deeper, index === below.length - 1 ? "└─ " : "├─ ");
  };
  draw(start, "", "");
  if (subtree.truncated) lines.push("… and more. Raise --limit, or start from an outcome further down.");
  return lines.join("\n");
}

function label(outcome: OutcomeSummary): string {
  const marks = [
    outcome.urgent ? "urgent" : "",
    outcome.important ? "important" : "",
    outcome.blocked === null ? "" : `blocked: ${outcome.blocked.reason}`,
  ];
  const extra = marks.filter((mark) => mark !== "").join(", ");
  return `${outcome.title} [${outcome.status}] ${outcome.responsible?.name ?? "unassigned"}${extra === "" ? "" : ` (${extra})`}`;
}
