// Loaded with --import: plants the bug that AGENCY_PLANT describes, in the text of the modules as they are loaded. The
// tree itself stays as it is. An edit that does not fit exactly once, or whose module is never loaded, ends the process.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export interface Edit {
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const edits: Edit[] = JSON.parse(process.env["AGENCY_PLANT"] ?? "[]");
const planted = new Set<Edit>();

registerHooks({
  load(url, context, nextLoad) {
    const file = url.startsWith("file:") ? relative(root, fileURLToPath(url)).split(sep).join("/") : "";
    const wanted = edits.filter((edit) => edit.file === file);
    if (wanted.length === 0) return nextLoad(url, context);
    let source = readFileSync(fileURLToPath(url), "utf8");
    for (const edit of wanted) {
      const places = source.split(edit.find).length - 1;
      if (places !== 1) fail(`${file} holds ${places} times, not once: ${edit.find}`);
      source = source.replace(edit.find, () => edit.replace);
      planted.add(edit);
    }
    return { format: "module-typescript", shortCircuit: true, source };
  },
});

process.on("exit", () => {
  const left = edits.filter((edit) => !planted.has(edit));
  if (left.length > 0) fail(`never loaded: ${left.map(({ file }) => file).join(", ")}`);
});

function fail(why: string): never {
  process.stderr.write(`cannot plant the bug: ${why}\n`);
  process.exit(70);
}
