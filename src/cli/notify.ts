import { spawn } from "node:child_process";
import { onOneLine, shown } from "../contract/visible-text.ts";
import type { AttentionItem } from "../contract/attention.ts";
import { notifyFailed } from "./texts.ts";

/**
 * Runs the person's own command when something new needs a person (`agency up --notify-command`). Texts of agents never become
 * part of the command: they are in the environment, as one line, and on standard input, as JSON. The command has the
 * environment of the daemon without its credentials.
 */
export function notifier(
  command: string,
  { env, url, say }: { env: NodeJS.ProcessEnv; url: () => string; say: (trouble: string) => void },
): (notice: { company: string; items: readonly AttentionItem[] }) => Promise<void> {
  const inherited = Object.fromEntries(Object.entries(env).filter(([name]) => !isPrivate.test(name)));
  return ({ company, items }) => {
    const [first] = items;
    const more = items.length > 1 ? ` (and ${items.length - 1} more)` : "";
    const child = spawn("sh", ["-c", command], {
      env: {
        ...inherited,
        AGENCY_NOTICE: shown(onOneLine(`${company}: ${first?.title ?? ""}${more}`)).slice(0, 500),
        AGENCY_NOTICE_COUNT: String(items.length),
        AGENCY_NOTICE_URL: url(),
      },
      stdio: ["pipe", "ignore", "pipe"],
      timeout: longest,
      killSignal: "SIGKILL",
    });
    let trouble = "";
    child.stderr
      .setEncoding("utf8")
      .on("data", (chunk: string) => (trouble = (trouble + chunk).slice(0, 500)));
    // A command that does not read its input closes the pipe.
    child.stdin.on("error", () => undefined);
    child.stdin.end(
      JSON.stringify({
        company,
        items: items.map(({ kind, title, reason, since, subject, abilities }) => ({
          kind,
          title,
          reason,
          since,
          id: subject.id,
          commands: abilities.flatMap((each) => each.command ?? []),
        })),
      }),
    );
    return new Promise((resolve) => {
      const ended = (code: number | null, why: string): void => {
        if (code !== 0) say(notifyFailed(onOneLine(why)));
        resolve();
      };
      child.once("error", (error) => ended(null, error.message));
      child.once("close", (code) =>
        ended(
          code,
          trouble || (code === null ? "It took longer than 10 seconds." : `It ended with ${code}.`),
        ),
      );
    });
  };
}

const longest = 10_000;
const isPrivate = /^AGENCY_|^DATABASE_(?:DIRECT_)?URL|^NODE_|TOKEN|SECRET|PASSWORD|_KEY$/i;
