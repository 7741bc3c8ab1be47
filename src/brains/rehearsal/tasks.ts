import type { Outcome } from "../../contract/outcomes.ts";
import type { PlanTask } from "../../contract/delegation.ts";
import { quoteBlock } from "../../contract/phrases.ts";
import { piecesOf, roleFor } from "./wording.ts";

/** How a rehearsal divides an outcome: one task for each piece of its wording, with an assignee. */

export interface Report {
  readonly id: string;
  readonly name: string;
  readonly role: string;
}

/**
 * A coordinator in the team gets the whole. Otherwise each piece goes to the report whose role or name fits best, else to the
 * one with the fewest pieces. Without a team the tasks name roles, and plan_work hires them. In the last task, a report that
 * did not do all the work checks the results.
 */
export function tasksFor(
  { title: full, description, acceptance }: Pick<Outcome, "title" | "description" | "acceptance">,
  team: readonly Report[],
  coordinator: string,
): PlanTask[] {
  const title = full.replace(/^Organize: /, "");
  const text = description.trim().startsWith(title.slice(0, 100)) ? description : `${title}\n${description}`;
  const criteria = acceptance === null ? {} : { acceptance };
  const leader = team.find(({ role }) => role === coordinator);
  if (leader !== undefined)
    return [
      { title: `Organize: ${title}`.slice(0, 300), assignee: leader.id, description: text, ...criteria },
    ];
  const named = piecesOf(text);
  const pieces = named.length === 0 ? [title] : named;
  const whole = `This is a part of "${title}".\n\n${quoteBlock(text)}`;
  const load = new Map<string, number>();
  const assigned = pieces.map((piece) => {
    const assignee = team.length === 0 ? roleFor(piece) : bestOf(team, piece, load).id;
    load.set(assignee, (load.get(assignee) ?? 0) + 1);
    return assignee;
  });
  const tasks: PlanTask[] = pieces.map((piece, place) => ({
    // A single piece would have the title of the whole.
    title: pieces.length === 1 ? `Draft: ${piece}` : piece,
    assignee: assigned[place] ?? "self",
    description: whole,
    acceptance: `- the result is a knowledge file\n- it covers this: ${piece}`,
    ...(isCheck(piece) ? { dependsOn: pieces.flatMap((one, index) => (isCheck(one) ? [] : [index])) } : {}),
  }));
  const others = team.filter(({ id }) => !load.has(id) || load.size > 1);
  if (pieces.some(isCheck) || (team.length > 0 && others.length === 0)) return tasks;
  const check = `Check: ${title}`.slice(0, 300);
  return [
    ...tasks,
    {
      title: check,
      assignee:
        team.length === 0 ? "Checker" : bestOf(others, "check review test verify quality editor", load).id,
      description: whole,
      ...criteria,
      dependsOn: pieces.map((_, place) => place),
    },
  ];
}

const isCheck = (piece: string): boolean => roleFor(piece) === "Checker";

function bestOf(team: readonly Report[], piece: string, load: ReadonlyMap<string, number>): Report {
  const [best] = team.toSorted(
    (a, b) => fit(b, piece) - fit(a, piece) || (load.get(a.id) ?? 0) - (load.get(b.id) ?? 0),
  );
  if (best === undefined) throw new Error("a team without reports has no best one");
  return best;
}

/** How many words of the role and the name begin like a word of the piece: "design" and "Designer". */
function fit({ role, name }: Report, piece: string): number {
  const stems = (words: string): string[] =>
    words
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u)
      .filter((word) => word.length > 2)
      .map((word) => word.slice(0, 4));
  const wanted = new Set(stems(`${piece} ${roleFor(piece)}`));
  return stems(`${role} ${name}`).filter((stem) => wanted.has(stem)).length;
}
