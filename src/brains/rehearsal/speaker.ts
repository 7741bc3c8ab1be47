import { sampleFile } from "./samples.ts";

/**
 * The final output of a rehearsal without tools. It depends only on the briefing (runtime/final-output/assignment.ts):
 *   - a message from the board: hire a writer and a checker, and delegate a part to each
 *   - a submission: pass it
 *   - work: a short sample, or the given results of others combined
 */
export function say(told: string): string {
  const verdicts = [...told.matchAll(/^### .*\(outcome ([0-9a-f-]{36})\)$/gm)]
    .filter(({ index }) => index > sectionAt(told, "Submissions waiting for your verdict"))
    .map(([, id]) => `VERDICT[${id ?? ""}]: PASS`);
  const work = /^## Your work now: (".*") \((\w+) [0-9a-f-]{36}\)$/m.exec(told);
  if (work !== null) return [...verdicts, ...resultOf(told, String(JSON.parse(work[1] ?? '""')))].join("\n");
  const goal = /^From the board:\n> (.+)$/m.exec(told)?.[1];
  if (goal === undefined) return verdicts.length === 0 ? "Noted." : verdicts.join("\n");
  return [
    ...verdicts,
    "HIRE[Writer]: Write the drafts.",
    "HIRE[Checker]: Check the drafts.",
    `DELEGATE[Writer]: Draft: ${goal}`,
    `DELEGATE[Checker]: List the points to check: ${goal}`,
  ].join("\n");
}

function sectionAt(told: string, title: string): number {
  const at = told.indexOf(`## ${title}`);
  return at < 0 ? Number.POSITIVE_INFINITY : at;
}

function resultOf(told: string, title: string): string[] {
  const from = sectionAt(told, "Results to build on");
  const until = sectionAt(told, "If you have no tools");
  if (from === Number.POSITIVE_INFINITY) return [sampleFile(title)];
  const results = told
    .slice(from, until)
    .split("\n")
    .filter((line) => line.startsWith("> "))
    .map((line) => line.slice(2));
  return [`# ${title}`, "", "Combined from:", "", ...results];
}
