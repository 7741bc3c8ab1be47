import { resolve } from "node:path";
import type { Command } from "commander";
import { type Context, databaseIn, drawingOf, Interrupted, print } from "./terminal.ts";
import { drawTable } from "./look.ts";
import { example, jsonFlag, notSeconds } from "./texts.ts";
import { entryPoint, homeOf } from "./where.ts";

/** `agency bench` measures a throw-away installation of the same kind, so nothing of the user's data is read or changed. */
export function addBench(program: Command, context: Context): void {
  program
    .command("bench")
    .description("Measure how fast Agency is on this machine and its database. Your data is not used.")
    .option(
      "--home <folder>",
      "Home whose disk or database server is measured. Defaults to AGENCY_HOME, then ~/.agency.",
    )
    .option("--seconds <number>", "Seconds to measure each figure.", Number, 2)
    .option(...jsonFlag)
    .addHelpText("after", example("agency bench", "agency bench --seconds 10 --json"))
    .action(async (flags: { home?: string; seconds: number; json?: true }) => {
      if (!(flags.seconds > 0 && flags.seconds <= 600)) throw notSeconds();
      const [{ openScratch }, { measureSpeed }] = await Promise.all([
        import("../daemon/scratch.ts"),
        import("../daemon/speed.ts"),
      ]);
      const scratch = await openScratch({
        ...databaseIn(context.env),
        home: resolve(flags.home ?? homeOf(context.env)),
        cli: entryPoint(),
        path: context.env["PATH"],
      });
      const stopped = stopping();
      try {
        const measured = await Promise.race([
          measureSpeed(scratch, flags.seconds, (line) => {
            if (flags.json !== true) context.terminal.err(line);
          }),
          stopped.signal,
        ]);
        const { version, store, machine, figures } = measured;
        print(
          context,
          flags,
          measured,
          `Agency ${version} with ${store === "sqlite" ? "SQLite" : "PostgreSQL"}, Node ${machine.node}, ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB`,
          "",
          drawTable(figures.map(rowOf), drawingOf(context.terminal, context.shorts), columns),
          "",
          "The ratio compares Agency with the raw loop: 1 means equal. Raw loops that are slow too point to the disk or the database.",
        );
      } finally {
        stopped.end();
        await scratch.close();
      }
    });
}

const columns = ["figure", "value", "rawLoop", "ratio"];

interface Line {
  readonly what: string;
  readonly unit: "/s" | "ms" | "MB";
  readonly value: number;
  readonly raw: { readonly what: string; readonly value: number };
  readonly ratio: number;
}

const rowOf = ({ what, unit, value, raw, ratio }: Line) => ({
  figure: what,
  value: amount(value, unit),
  rawLoop: `${amount(raw.value, unit)} ${raw.what}`,
  ratio: ratio.toFixed(2),
});

function amount(value: number, unit: Line["unit"]): string {
  const digits = value >= 100 ? 0 : 1;
  const text = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return unit === "/s" ? `${text}/s` : `${text} ${unit}`;
}

/** Lets a signal end the measuring. Everything made for it is removed before the command ends. */
function stopping(): { signal: Promise<never>; end: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const stop = (): void => reject(new Interrupted());
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, stop);
  return {
    signal: promise,
    end: () => {
      for (const signal of signals) process.off(signal, stop);
    },
  };
}
