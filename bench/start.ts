import { setTimeout as sleep } from "node:timers/promises";
import { type Entry, rounds, sizes } from "./bench.ts";
import { fillOutcomes } from "./fill.ts";
import { type Home, prepareHome, residentMegabytes, startDaemon, untilIdle } from "./home.ts";
import { bareNode } from "../src/daemon/speed.ts";
import { inTurns } from "./timing.ts";

/**
 * The time from the start of the daemon until it is healthy, and its memory then. The baseline is a Node process that only
 * listens.
 */
export const start: Entry = {
  name: "start",
  about: "start of the daemon until it is healthy, and its memory",
  run: async (bench) => {
    const [few, many] = sizes(bench, 20_000, 200);
    const homes: Home<unknown>[] = [];
    for (const rows of [few, many]) {
      bench.say(`filling a home with ${rows} outcomes`);
      homes.push(
        await prepareHome(bench, ({ store, companyId, rootAgentId }) =>
          fillOutcomes(store, companyId, rootAgentId, rootAgentId, rows),
        ),
      );
    }
    const memory: Record<"small" | "large" | "raw", number[]> = { small: [], large: [], raw: [] };
    const idle: number[] = [];
    const slice = (name: "small" | "large", home: Home<unknown> | undefined) => async () => {
      if (home === undefined) return Number.NaN;
      const daemon = await startDaemon(bench, home);
      memory[name].push(residentMegabytes(daemon.pid));
      if (name === "large" && idle.length < 3) {
        await sleep(untilIdle);
        idle.push(residentMegabytes(daemon.pid));
      }
      await daemon.stop();
      return daemon.startMilliseconds;
    };
    const measured = await inTurns(rounds(bench), {
      small: slice("small", homes[0]),
      large: slice("large", homes[1]),
      raw: async () => {
        const { milliseconds, megabytes } = await bareNode();
        memory.raw.push(megabytes);
        return milliseconds;
      },
    });
    const median = (values: readonly number[]): number =>
      values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
    const rows = `${many} outcomes`;
    return [
      {
        name: "start until healthy",
        unit: "ms" as const,
        rows,
        value: measured.large,
        small: measured.small,
        aim: { atMost: 300 },
        baseline: { what: "a Node that listens", value: measured.raw },
      },
      {
        name: "memory after start",
        unit: "MB" as const,
        rows,
        value: median(memory.large),
        small: median(memory.small),
        baseline: { what: "a Node that listens", value: median(memory.raw) },
      },
      {
        name: "memory when idle",
        unit: "MB" as const,
        rows,
        value: median(idle),
        aim: { atMost: 100 },
        baseline: { what: "a Node that listens", value: median(memory.raw) },
      },
    ];
  },
};
