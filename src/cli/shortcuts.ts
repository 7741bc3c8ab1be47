import { spawn } from "node:child_process";
import { platform } from "node:os";
import type { Command } from "commander";
import { acknowledgeMessage } from "../contract/mail.ts";
import { updateOutcome } from "../contract/outcomes.ts";
import { linkPerson } from "../contract/people.ts";
import { viewSession, viewTranscript } from "../contract/sessions.ts";
import { idNamed } from "./resolving.ts";
import { clientOf, type Context, nounOf, print } from "./terminal.ts";
import { companyFlag, example, jsonFlag } from "./texts.ts";
import { drawTranscript } from "./work-screens.ts";

/** Short commands for the most frequent actions. Each makes one call that another command makes with more typing. */
interface Flags {
  readonly company?: string;
  readonly json?: true;
}

export function addShortcuts(program: Command, context: Context): void {
  const { env } = context;
  const command = (name: string, description: string, ...usages: string[]): Command =>
    program
      .command(name)
      .description(description)
      .option(...companyFlag)
      .option(...jsonFlag)
      .addHelpText("after", example(...usages));
  const named = (noun: string, given: string, { company }: Flags): Promise<string> =>
    idNamed(context, clientOf(env), noun, given, company);

  command("unblock", "Unblock an outcome, so work on it continues.", "agency unblock O41")
    .argument("<outcome>", "Id, short id or title of the outcome.")
    .action(async (given: string, flags: Flags) => {
      const id = await named("outcome", given, flags);
      const outcome = await clientOf(env).call(updateOutcome, { id, blocked: null });
      print(context, flags, outcome, `"${outcome.title}" is not blocked any more.`);
    });
  command(
    "done",
    "Acknowledge a message that you have dealt with.",
    "agency done M3",
    'agency done M3 "Answered by phone."',
  )
    .argument("<message>", "Id or short id of the message.")
    .argument("[result]", "Result, which the sender can see.")
    .action(async (given: string, result: string | undefined, flags: Flags) => {
      const id = await named("message", given, flags);
      const message = await clientOf(env).call(acknowledgeMessage, { id, ...(result && { result }) });
      print(context, flags, message, `Message ${id} from ${message.from.name} is done.`);
    });
  program
    .command("open")
    .description("Open the dashboard in your browser, signed in. Without a browser: print the link.")
    .option("--print", "Only print the link.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency open"))
    .action(async (flags: { print?: true; json?: true }) => {
      const made = await clientOf(env).call(linkPerson, { id: "me" });
      const isOpened = flags.print !== true && flags.json !== true && (await opens(made.link, env));
      print(
        context,
        flags,
        made,
        isOpened ? "The dashboard opens in your browser." : `Open this link within 10 minutes: ${made.link}`,
      );
    });
  nounOf(program, "sessions")
    .command("follow")
    .description("Follow what a session says and does until it ends.")
    .argument("<session>", "Id or short id of the session.")
    .option(...companyFlag)
    .addHelpText("after", example("agency sessions follow S12"))
    .action(async (given: string, flags: Flags) => {
      const id = await named("session", given, flags);
      const client = clientOf(env);
      let isLeaving = false;
      const release = context.terminal.onInterrupt?.(() => (isLeaving = true));
      try {
        for (let after: number | undefined; ;) {
          const { endedAt, endReason } = await client.call(viewSession, { id });
          const page = await client.call(viewTranscript, { id, ...(after !== undefined && { after }) });
          if (page.entries.length > 0) context.terminal.exact(drawTranscript(page));
          after = page.next;
          if (endedAt !== null) return context.terminal.out(`The session ended: ${endReason ?? "done"}.`);
          if (isLeaving) return context.terminal.out("You stopped following. The session continues.");
          await new Promise((resolve) => setTimeout(resolve, 500));
        }
      } finally {
        release?.();
      }
    });
}

/** Whether a browser was started. A machine without a screen has no browser. */
function opens(link: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const isMac = platform() === "darwin";
  if (!isMac && env["DISPLAY"] === undefined && env["WAYLAND_DISPLAY"] === undefined)
    return Promise.resolve(false);
  return new Promise((resolve) => {
    const child = spawn(isMac ? "open" : "xdg-open", [link], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}
