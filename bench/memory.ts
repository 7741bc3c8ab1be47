import { setTimeout as sleep } from "node:timers/promises";
import type { Entry } from "./bench.ts";
import { atRest, residentMegabytes, untilIdle } from "./home.ts";
import { withMixedLoad } from "./mixed-load.ts";

/** The daemon's memory in three states: at rest, after 16 clients have asked as fast as they could, and at rest again. */
export const memory: Entry = {
  name: "memory",
  about: "the daemon's memory at rest, after load, and afterwards",
  onlyIfNamed: true,
  run: (bench) =>
    withMixedLoad(bench, { agents: 1000, outcomes: 2000 }, async ({ daemon, home, ask, kinds }) => {
      const milliseconds = bench.quick ? 200 : 8000;
      const waits = bench.quick ? [1, 2] : [30, 120];
      await sleep(untilIdle);
      const rest = residentMegabytes(daemon.pid);
      for (const requests of await kinds()) {
        const { perSecond } = await ask(requests, milliseconds);
        bench.say(`${requests.kind}: ${Math.round(perSecond)}/s`);
      }
      const unit = "MB" as const;
      const baseline = { what: "before the load", value: rest };
      const figures: Awaited<ReturnType<Entry["run"]>> = [
        { name: "memory at rest", unit, value: rest, aim: { atMost: 100 } },
        { name: "memory after load", unit, value: residentMegabytes(daemon.pid), baseline },
      ];
      // Content from the load is still being moved to files.
      await atRest(home);
      const from = performance.now();
      for (const seconds of waits) {
        await sleep(seconds * 1000 - (performance.now() - from));
        const value = residentMegabytes(daemon.pid);
        figures.push({
          name: `memory ${seconds} s after its work`,
          unit,
          value,
          baseline,
          aim: { atMost: 100 },
        });
      }
      return figures;
    }),
};
