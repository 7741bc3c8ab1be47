// The program of a `process` brain without tools, for tests. It reads its briefing and prints lines that depend on its role.
// PRINTER_LINES is JSON, {"<role>": ["line", …]}: the lines that a role prints when it gets work, but not when it combines
// results or verifies. The key "<role>, asked" has the lines for messages alone. Without lines it prints a result.
import { text } from "node:stream/consumers";

const told = await text(process.stdin);
const [, name = "", role = ""] = /^You are (.+?) \((.+?)\), agent/.exec(told) ?? [];
const work = /^## Your work now: (".*") \((\w+) [0-9a-f-]{36}\)$/m.exec(told);
const all = JSON.parse(process.env.PRINTER_LINES ?? "{}");
const lines = (work === null ? all[`${role}, asked`] : undefined) ?? all[role] ?? [];
const results = told.split("## Results to build on")[1]?.split("## If you have no tools")[0] ?? "";
const quoted = results
  .split("\n")
  .filter((line) => line.startsWith("> "))
  .map((line) => line.slice(2));
const reviews = told.split("## Submissions waiting for your verdict")[1] ?? "";

for (const [, id] of reviews.matchAll(/^### .*\(outcome ([0-9a-f-]{36})\)$/gm))
  if (!told.includes("Never judge")) console.log(`VERDICT[${id}]: PASS`);
if (work !== null && (quoted.length > 0 || work[2] === "integration"))
  console.log(`${name} put together:\n${quoted.join("\n")}`);
else if (work !== null || /^From (?!Agency)/m.test(told))
  console.log(
    lines.length > 0 ? lines.join("\n") : `${name} did: ${work === null ? "?" : JSON.parse(work[1])}`,
  );
console.log(JSON.stringify({ usage: { inputTokens: told.length, outputTokens: 10, costUsd: 0.001 } }));
