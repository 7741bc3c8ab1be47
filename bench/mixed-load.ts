import type { Bench } from "./bench.ts";
import { fillAgents, fillOutcomes, type Place } from "./fill.ts";
import { correspondents, type Daemon, type Home, prepareHome, startDaemon } from "./home.ts";
import { type Loaded, type Requests, startLoad } from "./load.ts";

const clients = 16;

/** A daemon whose memory is measured, and calls to it. */
export interface Loadable {
  readonly daemon: Daemon;
  readonly home: Home<readonly Place[]>;
  /** 16 clients send requests of one kind, as fast as they can or no more than `perSecond`. */
  readonly ask: (requests: Requests, milliseconds: number, perSecond?: number) => Promise<Loaded>;
  /** Files, outcomes, mail and lists. */
  readonly kinds: () => Promise<readonly Requests[]>;
}

/** Starts a daemon on a home with agents and outcomes, and stops it after the work. */
export async function withMixedLoad<T>(
  bench: Bench,
  size: { readonly agents: number; readonly outcomes: number; readonly nodeOptions?: string },
  work: (loadable: Loadable) => Promise<T>,
): Promise<T> {
  const home = await prepareHome(bench, async ({ store, companyId, rootAgentId }) => {
    await fillOutcomes(store, companyId, rootAgentId, rootAgentId, size.outcomes);
    const agents = await fillAgents(store, companyId, rootAgentId, size.agents, 6);
    return agents.filter(({ path }) => path.length === 3).slice(0, clients);
  });
  const { nodeOptions } = size;
  const daemon = await startDaemon(bench, home, nodeOptions === undefined ? {} : { nodeOptions });
  const load = startLoad();
  const { companyId } = home;
  try {
    return await work({
      daemon,
      home,
      ask: (requests, milliseconds, perSecond) =>
        load.run({
          url: daemon.url,
          token: home.boardToken,
          clients,
          milliseconds,
          ...(perSecond === undefined ? {} : { perSecond }),
          requests,
        }),
      kinds: async () => [
        { kind: "create file", companyIds: [companyId], bytes: 1000 },
        { kind: "create outcome", companyId, parents: [home.rootAgentId] },
        { kind: "mail", companyId, pairs: await correspondents(daemon, home.filled) },
        { kind: "get", paths: [`/api/companies/${companyId}/agents?limit=${size.agents}`] },
      ],
    });
  } finally {
    await load.stop();
    await daemon.stop();
  }
}
