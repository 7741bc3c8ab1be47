import { createReadStream, createWriteStream } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { finished } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";

/** Files of lines, compressed with gzip and readable by their owner only: backups and exported months of the ledger. */

/** Writes to a draft beside the file. finish() puts it in place, complete and durable, and returns its size. */
export async function writeLines(path: string) {
  const draft = `${path}.part`;
  await rm(draft, { force: true });
  const file = createWriteStream(draft, { flags: "wx", mode: 0o600, flush: true });
  const zip = createGzip({ level: 3 });
  let failure: unknown;
  zip.pipe(file);
  const closed = finished(file).catch((error: unknown) => (failure = error));
  zip.on("error", (error) => (failure = error));
  return {
    put: async (line: string): Promise<void> => {
      if (failure !== undefined) throw failure;
      if (!zip.write(`${line}\n`))
        await Promise.race([new Promise((resolve) => zip.once("drain", resolve)), closed]);
    },
    finish: async (): Promise<number> => {
      zip.end();
      await closed;
      if (failure !== undefined) throw failure;
      await rename(draft, path);
      const folder = await open(dirname(path), "r");
      try {
        await folder.sync();
      } finally {
        await folder.close();
      }
      return (await stat(path)).size;
    },
    abandon: async (): Promise<void> => {
      zip.destroy();
      file.destroy();
      await rm(draft, { force: true });
    },
  };
}

/** Lines end with a newline only: text may contain other characters at which a terminal would break a line. */
export async function* zippedLines(
  path: string,
  damaged: (path: string, cause?: unknown) => Error,
): AsyncGenerator<string> {
  const file = createReadStream(path);
  const unzip = createGunzip();
  file.on("error", (error) => unzip.destroy(error));
  let begun: Buffer[] = [];
  try {
    for await (const chunk of file.pipe(unzip)) {
      let rest: Buffer = chunk;
      for (let at = rest.indexOf(10); at !== -1; at = rest.indexOf(10)) {
        begun.push(rest.subarray(0, at));
        yield Buffer.concat(begun).toString();
        begun = [];
        rest = rest.subarray(at + 1);
      }
      if (rest.byteLength > 0) begun.push(rest);
    }
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") throw error;
    throw damaged(path, error);
  } finally {
    file.destroy();
    unzip.destroy();
  }
  if (begun.length > 0) throw damaged(path);
}
