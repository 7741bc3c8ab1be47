import { join } from "node:path";
import type { Command } from "commander";
import type { Client } from "../client/client.ts";
import { listEvents, type ToldEvent } from "../contract/ledger.ts";
import { daemonLog, newestLines } from "./daemon-log.ts";
import { cut, styled, when } from "./look.ts";
import { clientOf, companyOf, type Context } from "./terminal.ts";
import { companyFlag, example, noDaemonLog } from "./texts.ts";
import { homeOf } from "./where.ts";

/** `agency logs` prints what happened in the company, one sentence a line. `-f` waits for more. */
interface Flags {
  readonly company?: string;
  readonly follow?: true;
  readonly limit: number;
  readonly daemon?: true;
  readonly json?: true;
}

export function addLogs(program: Command, context: Context): void {
  program
    .command("logs")
    .description("Print the events of the company, newest last.")
    .option("-f, --follow", "Keep printing new events until Ctrl-C.")
    .option("--limit <number>", "How many of the last events to print.", Number, 30)
    .option("--daemon", "Print the log of a daemon that was started with `agency up --detach`.")
    .option(...companyFlag)
    .option("--json", "Print each event as one line of JSON.")
    .addHelpText("after", example("agency logs -f", "agency logs --daemon"))
    .action(async (flags: Flags) => {
      if (flags.daemon === true) return printDaemonLog(context, flags.limit);
      const client = clientOf(context.env);
      const companyId = await companyOf(client, flags.company);
      const { events } = await client.call(listEvents, { companyId, order: "newest", limit: flags.limit });
      tell(context, events.toReversed(), flags);
      if (flags.follow === true) await follow(context, client, companyId, events[0]?.seq ?? 0, flags);
    });
}

async function follow(
  context: Context,
  client: Client,
  companyId: string,
  last: number,
  flags: Flags,
): Promise<void> {
  let isLeaving = false;
  const release = context.terminal.onInterrupt?.(() => (isLeaving = true));
  try {
    for (let after = last; !isLeaving; await new Promise((resolve) => setTimeout(resolve, 500))) {
      const { events } = await client.call(listEvents, { companyId, after, limit: 1000 });
      tell(context, events, flags);
      after = events.at(-1)?.seq ?? after;
    }
  } finally {
    release?.();
  }
}

function tell({ terminal }: Context, events: readonly ToldEvent[], { json, follow: isLive }: Flags): void {
  for (const event of events) {
    if (json === true) terminal.out(JSON.stringify(event));
    else {
      const time = isLive === true ? clockTime(event.at) : when(event.at, Date.now()).padEnd(14);
      terminal.out(eventLine(time, event.says, terminal.columns));
    }
  }
}

/** The time of day in the local time zone. */
export const clockTime = (at: string): string => new Date(at).toTimeString().slice(0, 8);

export const eventLine = (time: string, says: string, columns = Infinity): string =>
  `${styled("dim", time)}  ${cut(says, columns - time.length - 2)}`;

function printDaemonLog({ env, terminal }: Context, limit: number): void {
  const home = homeOf(env);
  const lines = newestLines(home, limit);
  if (lines === undefined) throw noDaemonLog(join(home, daemonLog));
  terminal.out(lines);
}
