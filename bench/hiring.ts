import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Entry, rounds, sizes, sliceMilliseconds } from "./bench.ts";
import { fillAgents } from "./fill.ts";
import { atRest, type Daemon, type Home, prepareHome, startDaemon } from "./home.ts";
import { startLoad } from "./load.ts";
import { inTurns, ratePerSecond } from "./timing.ts";

/**
 * Hires an agent and approves the hire over HTTP. Both are durable when they are answered: agent, mandate, state document,
 * approval and events. The baseline is a loop that commits one row.
 */
export const hiring: Entry = {
  name: "hiring",
  about: "hires with their approvals over HTTP",
  run: async (bench) => {
    const [few, many] = sizes(bench, 10_000, 200);
    const load = startLoad();
    const stops: (() => Promise<void>)[] = [() => load.stop()];
    try {
      const raw = new DatabaseSync(join(mkdtempSync(join(bench.folder, "raw-")), "raw.db"));
      stops.push(async () => raw.close());
      raw.exec(
        "pragma journal_mode = wal; pragma synchronous = full; create table raw (id text, at integer)",
      );
      const insert = raw.prepare("insert into raw values (?, ?)");
      const subjects: { home: Home<unknown>; daemon: Daemon }[] = [];
      for (const rows of [few, many]) {
        bench.say(`filling a home with ${rows} agents`);
        const home = await prepareHome(bench, ({ store, companyId, rootAgentId }) =>
          fillAgents(store, companyId, rootAgentId, rows, 6),
        );
        const daemon = await startDaemon(bench, home);
        stops.push(daemon.stop);
        subjects.push({ home, daemon });
      }
      const [small, large] = [0, 1].map((index) => async () => {
        const subject = subjects[index];
        if (subject === undefined) return Number.NaN;
        for (const { home } of subjects) await atRest(home);
        const { perSecond } = await load.run({
          url: subject.daemon.url,
          token: subject.home.boardToken,
          clients: 16,
          milliseconds: sliceMilliseconds(bench),
          requests: { kind: "hire and approve", companyId: subject.home.companyId },
        });
        return perSecond / 2;
      });
      if (small === undefined || large === undefined) return [];
      await small();
      await large();
      const measured = await inTurns(rounds(bench), {
        small,
        large,
        raw: () => ratePerSecond(sliceMilliseconds(bench), async (n) => insert.run(`id ${n}`, Date.now())),
      });
      return [
        {
          name: "hire and approve, 16 clients",
          unit: "/s" as const,
          rows: `${many} agents`,
          value: measured.large,
          small: measured.small,
          baseline: { what: "commits of one row", value: measured.raw },
          aim: { atLeast: 0.15, of: "baseline" as const },
        },
      ];
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};
