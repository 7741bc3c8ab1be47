// The program of a test process. It runs one test file after another. The runner names them over a channel.
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

for (let file = await nextFile(); file !== undefined; file = await nextFile()) {
  const { href } = pathToFileURL(join(process.cwd(), file));
  const done = Promise.withResolvers<void>();
  void test(file, async (t) => {
    t.after(() => done.resolve());
    // Tests that the module declares while it loads become children of this test, and run before it ends.
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
