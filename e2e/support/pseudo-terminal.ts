// A program on a pseudo-terminal, like that of a person at a keyboard. `script` makes the terminal; every system with a shell
// has that program.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { platform } from "node:os";
import { stripVTControlCharacters } from "node:util";
import { allowed } from "../../src/testing/allowed.ts";

export interface Keyboard {
  /**
   * Waits until the text is on the screen, after everything that was waited for before. Returns the output up to it. Line
   * breaks in the text don't matter.
   */
  sees(text: string | RegExp): Promise<string>;
  /** Presses these keys. */
  types(keys: string): void;
  /** Waits until the program ends. */
  ends(): Promise<number | null>;
  /** The whole output so far, with its control characters. */
  screen(): string;
}

export const enter = "\r";
export const tab = "\t";
export const controlC = "\u0003";

/** Runs a command of the shell. Its environment is only the given one. */
export function onTerminal(
  command: string,
  options: { readonly env: NodeJS.ProcessEnv; readonly cwd?: string; readonly columns?: number },
): Keyboard {
  const line = `stty cols ${options.columns ?? 80} rows 40; ${command}`;
  const args = isUtilLinux() ? ["-qfec", line, "/dev/null"] : ["-q", "/dev/null", "sh", "-c", line];
  const child = spawn("script", args, {
    env: { TERM: "xterm-256color", SHELL: "/bin/sh", ...options.env },
    cwd: options.cwd,
    stdio: ["pipe", "pipe", "pipe"],
  });
  running.add(child);
  let output = "";
  let seen = 0;
  let code: number | null | undefined;
  let wake = (): void => undefined;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      wake();
    });
  const ended = once(child, "close").then(([given]: unknown[]) => {
    running.delete(child);
    code = typeof given === "number" ? given : null;
    wake();
    return code;
  });
  // An ended program takes no more keys. The next wait reports that.
  child.stdin.on("error", () => undefined);

  const within = async <T>(wanted: string, attempt: () => T | undefined): Promise<T> => {
    const until = performance.now() + allowed(20_000);
    for (;;) {
      const found = attempt();
      if (found !== undefined) return found;
      const left = until - performance.now();
      if (code !== undefined || left <= 0)
        throw new Error(
          `${wanted}, but ${code === undefined ? "it did not come" : `the program ended with ${code}`}. Since then:\n${plain(output).slice(seen)}`,
        );
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
        timer = setTimeout(resolve, left);
      });
      clearTimeout(timer);
    }
  };
  return {
    sees: (text) =>
      within(`The test waits for ${String(text)}`, () => {
        const rest = plain(output).slice(seen);
        const found = patternOf(text).exec(rest);
        if (found === null) return undefined;
        const until = found.index + found[0].length;
        seen += until;
        return rest.slice(0, until);
      }),
    types: (keys) => void child.stdin.write(keys),
    ends: () =>
      within("The test waits for the end", () => code).then(async (given) => {
        await ended;
        return given;
      }),
    screen: () => output,
  };
}

const patternOf = (text: string | RegExp): RegExp =>
  typeof text === "string" ? new RegExp(text.replace(/[^\w\s]/g, "\\$&").replaceAll(/\s+/g, "\\s+")) : text;

const plain = (output: string): string => stripVTControlCharacters(output).replaceAll("\r", "");

/** The option -f belongs to util-linux. The `script` of macOS and the BSDs writes at once anyway. */
const isUtilLinux = (): boolean =>
  platform() === "linux" ||
  spawnSync("script", ["--version"], { encoding: "utf8" }).stdout.includes("util-linux");

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
