import { spawn, type StdioOptions } from "node:child_process";
import { closeSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { type Command, Option } from "commander";
import { type Client, createClient, NoDaemon } from "../client/client.ts";
import { makeHomeFolder } from "../client/home-folder.ts";
import { listCompanies } from "../contract/companies.ts";
import { linkPerson } from "../contract/people.ts";
import { plural } from "../contract/phrases.ts";
import { Refusal } from "../contract/refusal.ts";
import { listSessions } from "../contract/sessions.ts";
import { firstCompany } from "./first-company.ts";
import { returnMemoryWhenIdle } from "./idle-memory.ts";
import { isolationOf, sandboxNotice } from "./isolation.ts";
import { type Context, daemonOptions, descriptorsIn, portOf, print } from "./terminal.ts";
import { daemonLog, keepLogShort, openLog } from "./daemon-log.ts";
import { clockTime, eventLine } from "./logs.ts";
import { notifier } from "./notify.ts";
import {
  didNotStart,
  example,
  howToSignIn,
  jsonFlag,
  noDatabaseYet,
  notDrainSeconds,
  notNodeSessions,
  notStopSeconds,
  ownerHasLeft,
  startsSlowly,
  stopsSlowly,
  waitsForStop,
} from "./texts.ts";
import { announcedIn, entryPoint, homeOf, tokenOf } from "./where.ts";

/** `agency up` runs the daemon in the foreground until a signal stops it, and creates the first company. */
export function addUp(program: Command, context: Context): void {
  program
    .command("up")
    .description("Start Agency. The first start creates the home folder and a company.")
    .addOption(
      new Option("--port <number>", "Port to listen on. Defaults to AGENCY_PORT, then 4600.").argParser(
        Number,
      ),
    )
    .option(
      "--address <ip>",
      "IP address to listen on. Defaults to AGENCY_ADDRESS, then 127.0.0.1. Any address except loopback also needs --origin.",
    )
    .addOption(
      new Option(
        "--origin <address>",
        "Public https:// address of Agency behind a TLS proxy. Repeatable; links use the first. Defaults to AGENCY_ORIGIN.",
      ).argParser((one: string, before: string[] | undefined) => [...(before ?? []), one]),
    )
    .option("--home <folder>", "Folder for all data. Defaults to AGENCY_HOME, then ~/.agency.")
    .option("--no-agents", "Answer calls but start no sessions. Same as AGENCY_AGENTS=off.")
    .addOption(
      new Option(
        "--node-sessions <number>",
        "Maximum number of sessions here at the same time, for all companies. Default: AGENCY_NODE_SESSIONS, then no limit.",
      ),
    )
    .option("--company <name>", "Name of the first company.", "My company")
    .option("--brain <type>", "Brain of new companies. Default: AGENCY_BRAIN, then the first working brain.")
    .option(
      "--allow-commands",
      "Let agents defined in <home>/agents/*.md run commands. Read the files first.",
    )
    .option(
      "--allow-unsandboxed",
      "Run programs of agents even without a sandbox. Same as AGENCY_ALLOW_UNSANDBOXED=1.",
    )
    .option(
      "--notify-command <command>",
      "Shell command to run when something new needs a person. Defaults to AGENCY_NOTIFY_COMMAND.",
    )
    .option("--detach", "Run in the background. `agency stop` ends it, `agency logs --daemon` shows its log.")
    .option("--json", "Print the address as JSON.")
    .addHelpText(
      "after",
      example("agency up", "agency up --detach --port 4700", "agency up --brain rehearsal"),
    )
    .action(
      async (flags: {
        port?: number;
        address?: string;
        origin?: string[];
        home?: string;
        agents: boolean;
        nodeSessions?: string;
        company: string;
        brain?: string;
        allowCommands?: true;
        allowUnsandboxed?: true;
        notifyCommand?: string;
        detach?: true;
        json?: true;
      }) => {
        const { env, terminal } = context;
        if (flags.detach === true) return detach(context, flags);
        // Loading the program creates so many objects that V8 would grow the space for new ones to 16 MB and keep it. Keeping
        // that space small until the daemon is ready saves 13 MB at rest. Under load it may still grow.
        setFlagsFromString("--semi-space-growth-factor=1");
        const { startDaemon } = await import("../daemon/daemon.ts");
        const { logLine } = await import("../daemon/log-lines.ts");
        const { telemetryIn } = await import("../daemon/telemetry-settings.ts");
        const { resolveHost } = await import("../capabilities/hosts.ts");
        const home = flags.home ?? homeOf(env);
        const options = daemonOptions(context, logLine, flags.brain);
        const drainSeconds = drainSecondsIn(env);
        // People other than the one who starts the daemon may read a log. So a log has JSON lines and no sign-in link.
        const isTerminal = terminal.columns !== undefined;
        const say = (about: string, text: string): void => {
          if (flags.json !== true)
            terminal.out(isTerminal ? text : logLine({ level: "info", about, says: text.trim() }));
        };
        const warn = (text: string): void =>
          isTerminal ? terminal.err(text) : options.log({ level: "info", about: "start", says: text });
        const command = flags.notifyCommand ?? env["AGENCY_NOTIFY_COMMAND"] ?? "";
        let url = "";
        let isReady = false;
        const daemon = await startDaemon({
          ...options,
          home,
          port: flags.port ?? portOf(env),
          address: flags.address ?? (env["AGENCY_ADDRESS"] || undefined),
          origins: flags.origin ?? wordsIn(env["AGENCY_ORIGIN"]),
          resolve: resolveHost,
          ...isolationOf(context, flags),
          schedule: flags.agents && env["AGENCY_AGENTS"] !== "off",
          maxSessions: nodeSessionsIn(flags.nodeSessions ?? env["AGENCY_NODE_SESSIONS"]),
          failAt: env["AGENCY_FAIL_AT"],
          telemetry: telemetryIn(env),
          // Nothing may be written any more, so the process ends without an orderly stop. The sessions of this node were taken over long ago.
          tooOld: (error) => {
            const says = error instanceof Refusal ? `${error.message} ${error.hint}` : String(error);
            options.log({ level: "error", about: "version", says });
            process.exit(1);
          },
          reports: {
            tell: ({ at, says }) => {
              if (isReady) say("event", isTerminal ? eventLine(clockTime(at), says, terminal.columns) : says);
            },
            notify: command === "" ? undefined : notifier(command, { env, url: () => url, say: warn }),
          },
        }).catch((error: unknown) => {
          // Otherwise the daemon would wait for space on the disk.
          throw error instanceof Refusal && error.code === "unavailable" ? noDatabaseYet() : error;
        });
        url = daemon.origin;
        keepLogShort(home);
        const client = createClient({ url: daemon.url, token: daemon.token });
        const stopped = untilStopped(drainSeconds, daemon, client, (text) => say("stop", text));
        const found = await firstCompany(client, {
          home,
          name: flags.company,
          allowCommands: flags.allowCommands === true,
          say: warn,
        }).catch(async (error: unknown) => {
          // The owner of the board token was removed, or has lost the board role. Others can still sign in.
          if (error instanceof Refusal && ["unauthenticated", "forbidden"].includes(error.code)) return null;
          // Without its first company the daemon is useless: stop it and show the error.
          await daemon.stop();
          throw error;
        });
        const link = isTerminal ? await signInLink(client) : null;
        setFlagsFromString("--semi-space-growth-factor=2");
        returnMemoryWhenIdle(daemon.rest);
        if (flags.json === true)
          terminal.out(
            JSON.stringify({
              url: daemon.url,
              origin: daemon.origin,
              home,
              companyId: found?.company.id ?? null,
              brain: found?.brain ?? null,
              sandbox: daemon.sandbox(),
              signInLink: link,
            }),
          );
        const lines = [
          `Agency is running at ${daemon.url} (data in ${home}).`,
          ...(daemon.origin === daemon.url ? [] : [`People reach it at ${daemon.origin}.`]),
          ...(found === null
            ? [ownerHasLeft]
            : [`Company: ${found.company.name}. You are its board. Its root agent reports to you.`]),
          ...(found?.brain ? [found.brain.says] : []),
          ...sandboxNotice(daemon.sandbox()),
          ...signInLines(link),
        ];
        const next = [
          ``,
          `Next, in another terminal: agency run "Write a guide to bread"`,
          `If the command \`agency\` is not installed, use \`npx agency\`.`,
          `Press Ctrl-C to stop. What happens here is shown below.`,
          ``,
        ];
        say("start", isTerminal ? [...lines, ...next].join("\n") : lines.join(" "));
        isReady = true;
        await stopped;
      },
    );
}

/** On a full disk, no link can be made. The daemon runs nevertheless. */
const signInLink = (client: Client): Promise<string | null> =>
  client.call(linkPerson, { id: "me" }).then(
    (made) => made.link,
    () => null,
  );

const signInLines = (link: string | null): string[] =>
  link === null ? [howToSignIn] : [`Dashboard (the link works once, for 10 minutes):`, `  ${link}`];

const wordsIn = (text = ""): string[] => text.split(/[\s,]+/).filter((word) => word !== "");

function nodeSessionsIn(given: string | undefined): number | undefined {
  if (given === undefined || given === "") return undefined;
  const most = Number(given);
  if (!Number.isInteger(most) || most < 1) throw notNodeSessions(given);
  return most;
}

/** How long running sessions may save their state while the daemon stops. */
function drainSecondsIn(env: NodeJS.ProcessEnv): number {
  const given = env["AGENCY_DRAIN_SECONDS"] ?? "";
  if (given === "") return 30;
  const seconds = Number(given);
  if (!Number.isFinite(seconds) || seconds < 0) throw notDrainSeconds(given);
  return seconds;
}

/**
 * Resolves when a signal has stopped the daemon. Running sessions may first end by themselves, and the person is told which
 * ones. The second signal ends them at once.
 */
function untilStopped(
  seconds: number,
  daemon: { stop(drainMilliseconds?: number): Promise<void> },
  client: Client,
  say: (text: string) => void,
): Promise<void> {
  let isStopping = false;
  let isStopped = false;
  const tellWhoWorks = async (): Promise<void> => {
    for (let before = ""; !isStopped; await new Promise((resolve) => setTimeout(resolve, 300))) {
      const working = await whoWorks(client).catch(() => "");
      if (working !== "" && working !== before && !isStopped)
        say(`Waiting up to ${plural(seconds, "second")} for ${working}. Ctrl-C again ends the work now.`);
      before = working;
    }
  };
  return new Promise((resolve, reject) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.on(signal, () => {
        if (isStopping) {
          say("Ending the running sessions.");
          return void daemon.stop();
        }
        isStopping = true;
        say("\nStopping. No new sessions start; open work continues at the next start.");
        if (seconds > 0) void tellWhoWorks();
        void daemon
          .stop(seconds * 1000)
          .finally(() => (isStopped = true))
          .then(() => {
            say("Stopped.");
            resolve();
          }, reject);
      });
  });
}

/** The working agents with their work: `Ada ("The guide"), Bob`. */
async function whoWorks(client: Client): Promise<string> {
  const names: string[] = [];
  for (const { id: companyId } of (await client.call(listCompanies, { limit: 1000 })).companies)
    for (const { agent, outcome } of (await client.call(listSessions, { companyId, live: true, limit: 100 }))
      .sessions)
      names.push(outcome?.title == null ? agent.name : `${agent.name} ("${outcome.title}")`);
  return names.slice(0, 5).join(", ") + (names.length > 5 ? ` and ${names.length - 5} more` : "");
}

/** Starts the same command again without the flag, as a process that outlives this one, and waits until it answers. */
async function detach(context: Context, flags: { home?: string; json?: true }): Promise<void> {
  const home = flags.home ?? homeOf(context.env);
  makeHomeFolder(home);
  const log = join(home, daemonLog);
  const output = openLog(home);
  const args = process.argv.slice(2).filter((arg) => arg !== "--detach" && arg !== "--json");
  const child = spawn(process.execPath, [entryPoint(), ...args], {
    detached: true,
    stdio: streamsFor(output, descriptorsIn(context.env)),
    env: { ...context.env },
  });
  closeSync(output);
  let ended: number | null | undefined;
  child.once("exit", (code) => (ended = code));
  for (let wait = 0; wait < 300; wait++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { url, pid } = announcedIn(home);
    if (url !== undefined && pid === child.pid) {
      child.unref();
      const isShown = context.terminal.columns !== undefined && flags.json !== true;
      const client = createClient({ url, token: tokenOf({ AGENCY_HOME: home }) });
      return print(
        context,
        flags,
        { url, pid, home, log },
        `Agency is running at ${url} in the background (data in ${home}).`,
        ...signInLines(isShown ? await signInLink(client) : null),
        "Check it: agency status. Stop it: agency stop",
      );
    }
    if (ended !== undefined)
      throw didNotStart(readFileSync(log, "utf8").trimEnd().split("\n").slice(-5).join("\n"));
  }
  child.unref();
  throw startsSlowly(child.pid ?? 0, log);
}

/** The streams of a process that prints to `output` and inherits these descriptors under the same numbers. */
function streamsFor(output: number, descriptors: readonly number[]): StdioOptions {
  const streams: (number | "ignore")[] = ["ignore", output, output];
  for (const descriptor of descriptors) {
    while (streams.length <= descriptor) streams.push("ignore");
    streams[descriptor] = descriptor;
  }
  return streams;
}

export function addStop(program: Command, context: Context): void {
  program
    .command("stop")
    .description("Stop the daemon of this home. Open work continues at the next start.")
    .option("--seconds <number>", "Seconds to wait for the daemon to stop.", "90")
    .option("--force", "Kill the daemon. Running sessions lose unsaved work.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency stop", "agency stop --force"))
    .action(async (flags: { seconds: string; force?: true; json?: true }) => {
      const home = homeOf(context.env);
      const seconds = Number(flags.seconds);
      if (!Number.isFinite(seconds) || seconds < 0) throw notStopSeconds(flags.seconds);
      const { announcedProcess, isHomeHeld } = await import("../daemon/home.ts");
      const { url } = announcedIn(home);
      // The daemon is not asked, because it may hang or have lost its database.
      const pid = isHomeHeld(home) ? announcedProcess(home) : undefined;
      if (pid === undefined) throw new NoDaemon(`No daemon is running on ${home}.`);
      process.kill(pid, flags.force === true ? "SIGKILL" : "SIGTERM");
      const from = performance.now();
      for (let isTold = flags.json === true; isHomeHeld(home) && announcedProcess(home) === pid;) {
        const waited = performance.now() - from;
        if (waited > 2000 && !isTold) {
          context.terminal.out(waitsForStop(pid, seconds));
          isTold = true;
        }
        if (waited > seconds * 1000) throw stopsSlowly(pid, seconds);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      print(context, flags, { url, stopped: true }, "Agency is stopped. Start it again: agency up");
    });
}
