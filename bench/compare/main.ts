// `npm run bench:compare` gives the same work to Agency and to other systems, in turns, and writes docs/benchmarks.md.
// It fetches the other systems from the npm registry into a temporary folder. Nothing else does.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeFileSync } from "node:fs";
import { agency } from "./agency.ts";
import { asPage } from "./page.ts";
import { paperclip } from "./paperclip.ts";
import { compare } from "./turns.ts";

const root = join(import.meta.dirname, "../..");
const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "4" },
    output: { type: "string", default: join(root, "docs/benchmarks.md") },
    /** A folder node_modules in which Paperclip is installed already. It is fetched otherwise. */
    paperclip: { type: "string" },
  },
});

const peer = paperclip();
const compared = await compare({
  drivers: [
    agency("SQLite"),
    agency("PostgreSQL"),
    flags.paperclip === undefined ? peer : { ...peer, install: async () => flags.paperclip ?? "" },
  ],
  rounds: Number(flags.rounds),
  seconds: Number(flags.seconds),
  say: (line) => console.error(line),
});
writeFileSync(flags.output, asPage(compared));
execFileSync(join(root, "node_modules/.bin/oxfmt"), [flags.output], { stdio: "inherit" });
console.error(`Written to ${flags.output}`);
