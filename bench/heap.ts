import { createServer } from "node:net";
import { once } from "node:events";
import { z } from "zod";
import type { Entry } from "./bench.ts";
import { withMixedLoad } from "./mixed-load.ts";

const perSecond = 300;
const leastPerSecond = 295;

/** The live heap of the daemon, without garbage, at 300 calls a second: files, outcomes, mail and lists in turn. */
export const heap: Entry = {
  name: "heap",
  about: "the daemon's heap after ten minutes at 300 operations a second",
  onlyIfNamed: true,
  run: async (bench) => {
    const [warm, end] = bench.quick ? [2000, 6000] : [120_000, 600_000];
    const port = await freePort();
    const size = { agents: 100, outcomes: 200, nodeOptions: `--inspect-port=127.0.0.1:${port}` };
    return withMixedLoad(bench, size, async ({ daemon, ask, kinds }) => {
      const mixed = await kinds();
      process.kill(daemon.pid, "SIGUSR1");
      const inspector = await openInspector(port);
      const began = performance.now();
      const slice = bench.quick ? 500 : 5000;
      let slices = 0;
      let rates = 0;
      const until = async (milliseconds: number): Promise<void> => {
        for (let turn = 0; performance.now() - began < milliseconds; turn++) {
          const requests = mixed[turn % mixed.length] ?? { kind: "get", paths: ["/api/health"] };
          rates += (await ask(requests, slice, perSecond)).perSecond;
          slices += 1;
        }
      };
      await until(warm);
      const before = await inspector.heapMegabytes();
      bench.say(`${before.toFixed(1)} MB after ${warm / 60_000} minutes`);
      await until(end);
      const after = await inspector.heapMegabytes();
      inspector.close();
      return [
        {
          name: "heap without garbage",
          unit: "MB" as const,
          rows: `${end / 60_000} min`,
          value: after,
          baseline: { what: `after ${warm / 1000} s`, value: before },
          aim: { atMost: 1.05, of: "baseline" as const },
        },
        // A daemon that did less than it was asked for would have less garbage, too.
        {
          name: "operations while the heap was measured",
          unit: "/s" as const,
          rows: `${end / 60_000} min`,
          value: rates / slices,
          aim: { atLeast: leastPerSecond },
        },
      ];
    });
  },
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

const Targets = z.array(z.object({ webSocketDebuggerUrl: z.string() }));
const Answer = z.object({
  id: z.number(),
  result: z.looseObject({ usedSize: z.number().optional() }).optional(),
});

/** Node's own inspector, which SIGUSR1 opens. */
async function openInspector(
  port: number,
): Promise<{ heapMegabytes: () => Promise<number>; close: () => void }> {
  const socket = new WebSocket(await address(port));
  await once(socket, "open");
  let last = 0;
  const ask = async (method: string): Promise<number> => {
    const id = ++last;
    const answered = new Promise<number>((resolve) => {
      const hear = ({ data }: MessageEvent): void => {
        const answer = Answer.safeParse(JSON.parse(String(data))).data;
        if (answer?.id !== id) return;
        socket.removeEventListener("message", hear);
        resolve(answer.result?.usedSize ?? 0);
      };
      socket.addEventListener("message", hear);
    });
    socket.send(JSON.stringify({ id, method }));
    return answered;
  };
  return {
    heapMegabytes: async () => {
      // Objects that wait for finalization are free only after a second round.
      for (let round = 0; round < 2; round++) await ask("HeapProfiler.collectGarbage");
      return (await ask("Runtime.getHeapUsage")) / 1_000_000;
    },
    close: () => socket.close(),
  };
}

async function address(port: number): Promise<string> {
  for (let tries = 0; ; tries++)
    try {
      const targets = Targets.parse(await (await fetch(`http://127.0.0.1:${port}/json/list`)).json());
      return targets[0]?.webSocketDebuggerUrl ?? "";
    } catch (error) {
      if (tries > 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
}
