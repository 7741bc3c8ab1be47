#!/usr/bin/env node
import { enableCompileCache } from "node:module";

// The second start reads compiled code instead of compiling it again.
enableCompileCache();

const { run } = await import("./run.ts");
process.exitCode = await run(process.argv.slice(2), process.env, {
  out: (text) => process.stdout.write(`${text}\n`),
  err: (text) => process.stderr.write(`${text}\n`),
  readStdin: async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
  },
});
