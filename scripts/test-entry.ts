// The program of a test process. It runs one test file after another. The runner names them over a channel.
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runFile, send } from "./test-harness.ts";

const harness = pathToFileURL(join(import.meta.dirname, "test-harness.ts")).href;
registerHooks({
  resolve: (name, context, next) =>
    next(name === "node:test" && context.parentURL !== harness ? harness : name, context),
});

for (let file = await nextFile(); file !== undefined; file = await nextFile()) {
  const { href } = pathToFileURL(join(process.cwd(), file));
  await runFile(file, () => import(href));
}

function nextFile(): Promise<string | undefined> {
  return new Promise((resolve) => {
    process.once("message", ({ file }: { file?: string }) => resolve(file));
    send({ type: "next" });
  });
}
