// Loaded with --import. Plants the bug that AGENCY_PLANT describes in the text of the modules while they are loaded. The
// files stay unchanged. An edit that does not fit exactly once, or whose module is never loaded, ends the process.
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { changedModules, type Edit } from "./resolve.ts";

const edits: Edit[] = JSON.parse(process.env["AGENCY_PLANT"] ?? "[]");
/** In a whole test run, some processes never load the module. */
const mayMiss = process.env["AGENCY_PLANT_ANYWHERE"] === "1";
const changed = planned();
const planted = new Set<string>();

registerHooks({
  load(url, context, nextLoad) {
    const file = url.startsWith("file:") ? fileURLToPath(url) : "";
    const source = changed.get(file);
    if (source === undefined) return nextLoad(url, context);
    planted.add(file);
    return { format: "module-typescript", shortCircuit: true, source };
  },
});

process.on("exit", () => {
  const left = [...changed.keys()].filter((file) => !planted.has(file));
  if (left.length > 0 && !mayMiss) fail(`never loaded: ${left.join(", ")}`);
});

function planned(): Map<string, string> {
  try {
    return changedModules(edits);
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

function fail(why: string): never {
  process.stderr.write(`cannot plant the bug: ${why}\n`);
  process.exit(70);
}
