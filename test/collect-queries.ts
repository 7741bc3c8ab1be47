// Loads every module of the product and prints its queries as JSON, with the SQL for each store. This needs a separate
// process, because a module builds its queries only once, when it is loaded.
import { globSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Query, watchQueries } from "../src/store/query.ts";

const root = join(import.meta.dirname, "..");
const made: Query<never, unknown>[] = [];
watchQueries((query) => void made.push(query));
// The simulator runs only on SQLite, the dashboard in a browser. A main.ts, plain.ts, gate.ts or *-process.ts is a program, and
// loading it would run it.
const isModule = (file: string): boolean =>
  !/^src\/(?:simulator|testing|web)\/|(?:\.test|\/main|\/plain|\/gate|-process)\.ts$/.test(file);
for (const file of globSync("src/**/*.ts", { cwd: root }).filter(isModule).toSorted())
  await import(pathToFileURL(join(root, file)).href);
process.stdout.write(
  JSON.stringify(
    made.map((query) => ({ sqlite: query.on("sqlite").sql, postgres: query.on("postgres").sql })),
  ),
);
