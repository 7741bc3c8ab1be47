import { setTimeout as sleep } from "node:timers/promises";
import type { Entry } from "./bench.ts";
import { fillAgents, fillOutcomes } from "./fill.ts";
import { atRest, prepareHome, residentMegabytes, startDaemon } from "./home.ts";
import { type Correspondents, type Requests, startLoad } from "./load.ts";

const clients = 16;
/** An idle daemon gives memory back after 2 to 4 seconds (src/cli/idle-memory.ts). */
const untilIdle = 6000;

/** The daemon's memory at rest, after 16 clients have asked as fast as they could, and when it has rested again. */
export const memory: Entry = {
  name: "memory",
  about: "the daemon's memory at rest, after load, and afterwards",
  onlyIfNamed: true,
  run: async (bench) => {
    const milliseconds = bench.quick ? 200 : 8000;
    const waits = bench.quick ? [1, 2] : [30, 120];
    const home = await prepareHome(bench, async ({ store, companyId, rootAgentId }) => {
      await fillOutcomes(store, companyId, rootAgentId, rootAgentId, 2000);
      const agents = await fillAgents(store, companyId, rootAgentId, 1000, 6);
      return agents.filter(({ path }) => path.length === 3).slice(0, clients);
    });
    const daemon = await startDaemon(bench, home);
    const load = startLoad();
    try {
      await sleep(untilIdle);
      const rest = residentMegabytes(daemon.pid);
      const pairs: Correspondents[] = [];
      for (const { id, path } of home.filled)
        pairs.push({
          senderToken: await daemon.agentKey(path.at(-2) ?? ""),
          receiverToken: await daemon.agentKey(id),
          receiverId: id,
        });
      const { companyId } = home;
      const kinds: readonly Requests[] = [
        { kind: "create file", companyIds: [companyId], bytes: 1000 },
        { kind: "create outcome", companyId, parents: [home.rootAgentId] },
        { kind: "mail", companyId, pairs },
        { kind: "get", paths: [`/api/companies/${companyId}/agents?limit=1000`] },
      ];
      for (const requests of kinds) {
        const { perSecond } = await load.run({
          url: daemon.url,
          token: home.boardToken,
          clients,
          milliseconds,
          requests,
        });
        bench.say(`${requests.kind}: ${Math.round(perSecond)}/s`);
      }
      const baseline = { what: "before the load", value: rest };
      const unit = "MB" as const;
      const figures = [{ name: "memory after load", unit, value: residentMegabytes(daemon.pid), baseline }];
      // Content that the load wrote is still moved to files.
      await atRest(home);
      const from = performance.now();
      for (const seconds of waits) {
        await sleep(seconds * 1000 - (performance.now() - from));
        figures.push({
          name: `memory ${seconds} s after its work`,
          unit,
          value: residentMegabytes(daemon.pid),
          baseline,
        });
      }
      return figures;
    } finally {
      await load.stop();
      await daemon.stop();
    }
  },
};
