import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { startDaemon } from "../e2e/support/daemon.ts";
import { flooded } from "../e2e/support/flooded.ts";
import { bareServer, memoryAtRest, memoryOf, told, under } from "../e2e/support/floods.ts";
import type { Entry } from "./bench.ts";
import type { Figure } from "./figures.ts";

/**
 * The waiting times of a second client that works normally while another caller floods the daemon. The baseline is a bare HTTP
 * server under the same flood.
 */
export const floods: Entry = {
  name: "floods",
  about: "calls of a second client while another caller floods the daemon",
  run: async (bench) => {
    const [files, milliseconds] = bench.quick ? [5, 100] : [500, 3000];
    const daemon = await startDaemon({
      home: mkdtempSync(join(bench.folder, "home-")),
      command: [process.execPath, bench.cli],
      databaseUrl: bench.store === "postgres" ? await bench.newDatabase() : undefined,
      env: { AGENCY_AGENTS: "off" },
    }).ready;
    const bare = await bareServer();
    try {
      const company = await flooded(daemon, files);
      const { probes } = company;
      const cases = (bench.quick ? [20] : [500, 900]).flatMap((sockets) =>
        Object.entries(company.floods(sockets)).filter(([, { loops }]) => sockets < 900 || loops === sockets),
      );
      if (!bench.quick) for (const [, flood] of cases) await under(daemon, flood, probes, 1000);
      const base = bench.quick ? memoryOf(daemon) : await memoryAtRest(daemon);
      const figures: Omit<Figure, "store">[] = [];
      for (const [name, flood] of cases) {
        const raw = await under(bare, flood, probes, milliseconds);
        const seen = await under(daemon, flood, probes, milliseconds);
        bench.say(`${name}, ${flood.loops} sockets: ${told(seen)}; bare: ${told(raw)}`);
        figures.push({
          name: `${name}, p99`,
          rows: `${flood.loops} sockets`,
          unit: "ms",
          value: seen.p99,
          baseline: { what: "a bare server", value: raw.p99 },
          aim: { atMost: Math.max(100, 4 * raw.p99) },
        });
      }
      const now = bench.quick ? memoryOf(daemon) : await memoryAtRest(daemon, base * 1.2);
      figures.push({
        name: "memory after the floods",
        unit: "MB",
        value: now / 1e6,
        baseline: { what: "before", value: base / 1e6 },
        aim: { atMost: 1.2, of: "baseline" },
      });
      return figures;
    } finally {
      await bare.stop();
      await daemon.stop();
    }
  },
};
