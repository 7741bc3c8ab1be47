import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { type Entry, rounds, sizes, sliceMilliseconds } from "./bench.ts";
import { fillFiles, fillOutcomes } from "./fill.ts";
import { type Daemon, type Home, prepareHome, startDaemon } from "./home.ts";
import { type Pair, type Requests, startLoad } from "./load.ts";
import { inTurns } from "./timing.ts";

/**
 * Tool calls over HTTP as brains make them, in both revisions of the protocol. `read_file` writes a durable event, and
 * `my_outcomes` only reads. The baseline is the SDK's own handler with a tool that does nothing.
 */
export const mcp: Entry = {
  name: "mcp",
  about: "MCP tool calls over HTTP",
  run: async (bench) => {
    const [few, many] = sizes(bench, 20_000, 200);
    const load = startLoad();
    const stops: (() => Promise<void>)[] = [() => load.stop()];
    try {
      const empty = await startEmpty();
      stops.push(empty.stop);
      const subjects: { home: Filled; daemon: Daemon; token: string }[] = [];
      for (const rows of [few, many]) {
        bench.say(`filling a home with ${rows} files and ${rows} outcomes`);
        const home = await prepareHome(bench, async ({ store, companyId, rootAgentId }) => ({
          files: await fillFiles(store, companyId, rootAgentId, rows, () => payload),
          outcomes: await fillOutcomes(store, companyId, rootAgentId, rootAgentId, rows),
        }));
        const daemon = await startDaemon(bench, home);
        stops.push(daemon.stop);
        subjects.push({ home, daemon, token: await daemon.agentKey(home.rootAgentId) });
      }
      const figures = [];
      for (const [name, requestsOn] of tools)
        for (const era of ["2025", "2026"] as const)
          for (const clients of [1, 16]) {
            const run = async (url: string, token: string, requests: Requests) => {
              const milliseconds = sliceMilliseconds(bench);
              return (await load.run({ url, token, clients, milliseconds, requests })).perSecond;
            };
            const slice = (subject: (typeof subjects)[number] | undefined) => async () =>
              subject === undefined
                ? Number.NaN
                : run(subject.daemon.url, subject.token, requestsOn(subject.home, era));
            const raw = () =>
              run(empty.url, "none", { kind: "mcp", era, path: "/", tool: "nothing", inputs: [{}] });
            for (const warm of [raw, ...subjects.map(slice)]) await warm();
            const measured = await inTurns(rounds(bench), {
              small: slice(subjects[0]),
              large: slice(subjects[1]),
              raw,
            });
            figures.push({
              name: `${name} (${era}), ${clients} client${clients === 1 ? "" : "s"}`,
              unit: "/s" as const,
              rows: `${many} of each`,
              value: measured.large,
              small: measured.small,
              baseline: { what: "empty calls", value: measured.raw },
              aim: { atLeast: 1000 },
            });
          }
      return figures;
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

const payload = "Some notes of ordinary length. ".repeat(40).slice(0, 1000);

type Filled = Home<{ files: Pair[]; outcomes: string[] }>;

const tools: readonly (readonly [string, (home: Filled, era: "2025" | "2026") => Requests])[] = [
  [
    "read_file",
    (home, era) => ({
      kind: "mcp",
      era,
      path: "/mcp/kb",
      tool: "read_file",
      inputs: home.filled.files.slice(0, 100).map(({ id }) => ({ id })),
    }),
  ],
  [
    "my_outcomes",
    (_, era) => ({ kind: "mcp", era, path: "/mcp/outcome", tool: "my_outcomes", inputs: [{ limit: 10 }] }),
  ],
];

async function startEmpty(): Promise<{ url: string; stop: () => Promise<void> }> {
  const child = fork(fileURLToPath(new URL("empty-mcp-process.ts", import.meta.url)), { stdio: "inherit" });
  const ended = once(child, "exit");
  const [address]: unknown[] = await once(child, "message");
  const { port } = z.object({ port: z.number() }).parse(address);
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      child.disconnect();
      await ended;
    },
  };
}
