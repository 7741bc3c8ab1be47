import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Entry, rounds, sizes } from "./bench.ts";
import { fillOutcomes } from "./fill.ts";
import { type Home, prepareHome, startDaemon } from "./home.ts";
import { inTurns } from "./timing.ts";

/**
 * `agency status` as a person types it: a process from its start to its end. The baseline is a Node process that does nothing.
 */
export const status: Entry = {
  name: "status",
  about: "agency status on a running daemon",
  run: async (bench) => {
    const [few, many] = sizes(bench, 1000, 100);
    const slices = [];
    const daemons = [];
    for (const rows of [few, many]) {
      const home: Home<unknown> = await prepareHome(bench, ({ store, companyId, rootAgentId }) =>
        fillOutcomes(store, companyId, rootAgentId, rootAgentId, rows),
      );
      daemons.push(await startDaemon(bench, home));
      slices.push(() => lasts([bench.cli, "status"], { AGENCY_HOME: home.path }));
    }
    try {
      const [small, large] = slices;
      // The first run of each writes the compile cache and fills the caches of the daemon.
      for (const slice of slices) await slice();
      const measured = await inTurns(rounds(bench) * 4, {
        ...(small && { small }),
        ...(large && { large }),
        raw: () => lasts(["-e", "0"]),
      });
      return [
        {
          name: "agency status",
          unit: "ms" as const,
          rows: `${many} outcomes`,
          value: measured.large,
          small: measured.small,
          baseline: { what: "node -e 0", value: measured.raw },
          aim: { atMost: 150 },
        },
      ];
    } finally {
      for (const daemon of daemons) await daemon.stop();
    }
  },
};

async function lasts(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<number> {
  const begun = performance.now();
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: "ignore" });
  const [code]: unknown[] = await once(child, "exit");
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${String(code)}`);
  return performance.now() - begun;
}
