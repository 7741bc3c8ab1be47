// What a test process runs: one test file after another, as the runner names them over the channel between the two.
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

for (let file = await nextFile(); file !== undefined; file = await nextFile()) {
  const { href } = pathToFileURL(join(process.cwd(), file));
  const done = Promise.withResolvers<void>();
  void test(file, async (t) => {
    t.after(() => done.resolve());
    // The tests that a module declares while it is loaded become children of this one, and run before it ends.
    await import(href);
  });
  await done.promise;
}

function nextFile(): Promise<string | undefined> {
  return new Promise((resolve) => {
    process.once("message", ({ file }: { file?: string }) => resolve(file));
    process.send?.({ type: "next" });
  });
}
