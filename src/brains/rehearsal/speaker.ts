/**
 * What the rehearsal prints when it has no tools. It looks only at what stands in its briefing:
 *   - a message to whoever answers to the board: hire a writer and a checker, and give each its part
 *   - work that was submitted: it passes
 *   - work: a result in a few words; where others' results are given, put together from them
 */
export function say(told: string): string {
  const verdicts = [...told.matchAll(/^### .*\(outcome ([0-9a-f-]{36})\)$/gm)]
    .filter(({ index }) => index > sectionAt(told, "Waiting for your verdict"))
    .map(([, id]) => `VERDICT[${id ?? ""}]: PASS`);
  const work = /^## Your work now: (".*") \((\w+) [0-9a-f-]{36}\)$/m.exec(told);
  if (work !== null) return [...verdicts, ...resultOf(told, String(JSON.parse(work[1] ?? '""')))].join("\n");
  const goal = /^From the board:\n> (.+)$/m.exec(told)?.[1];
  if (goal === undefined) return verdicts.length === 0 ? "Noted." : verdicts.join("\n");
  return [
    ...verdicts,
    "HIRE[Writer]: Drafts what we hand out.",
    "HIRE[Checker]: Checks what we hand out.",
    `DELEGATE[Writer]: Draft: ${goal}`,
    `DELEGATE[Checker]: List what has to be checked: ${goal}`,
  ].join("\n");
}

function sectionAt(told: string, title: string): number {
  const at = told.indexOf(`## ${title}`);
  return at < 0 ? Number.POSITIVE_INFINITY : at;
}

function resultOf(told: string, title: string): string[] {
  const from = sectionAt(told, "The results it builds on");
  const until = sectionAt(told, "If you have no tools");
  if (from === Number.POSITIVE_INFINITY)
    return [`# ${title}`, "", "This is a rehearsal: a model would have done the work here."];
  const results = told
    .slice(from, until)
    .split("\n")
    .filter((line) => line.startsWith("> "))
    .map((line) => line.slice(2));
  return [`# ${title}`, "", "Put together from:", "", ...results];
}
