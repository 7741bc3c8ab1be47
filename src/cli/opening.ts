import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { Interrupted, type Terminal } from "./terminal.ts";

/** The terminal of this process: prints, asks, and notices Ctrl-C. */
export function openTerminal(look: Pick<Terminal, "columns" | "isColoured">): Terminal {
  const isTerminal = process.stdout.isTTY;
  return {
    ...look,
    out: (text) => process.stdout.write(`${text}\n`),
    err: (text) => process.stderr.write(`${text}\n`),
    readStdin: async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
      return Buffer.concat(chunks);
    },
    onInterrupt: (handler) => {
      process.on("SIGINT", handler);
      return () => void process.off("SIGINT", handler);
    },
    ...(isTerminal ? { redraw: redrawing() } : { raw: (bytes: Buffer) => process.stdout.write(bytes) }),
    ...(process.stdin.isTTY && isTerminal ? { ask, askSecret } : {}),
  };
}

/** Moves up over the last drawn lines and clears them. An empty text leaves them in place. */
function redrawing(): (text: string) => void {
  let lines = 0;
  return (text) => {
    if (text === "") {
      lines = 0;
      return;
    }
    const up = lines === 0 ? "" : `\u001B[${lines}F`;
    process.stdout.write(`${up}\u001B[J${text}\n`);
    lines = text.split("\n").length;
  };
}

async function ask(question: string): Promise<string> {
  return answer(question, process.stdout);
}

/** The terminal does not echo: readline writes the typed characters to this stream. */
async function askSecret(question: string): Promise<string> {
  process.stdout.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  try {
    return await answer("", silent);
  } finally {
    process.stdout.write("\n");
  }
}

/** Ctrl-C and the end of the input cancel the question. */
function answer(question: string, output: NodeJS.WritableStream): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  return new Promise<string>((resolve, reject) => {
    lines.once("SIGINT", () => reject(new Interrupted()));
    lines.once("close", () => reject(new Interrupted()));
    lines.question(question).then(resolve, reject);
  }).finally(() => lines.close());
}
