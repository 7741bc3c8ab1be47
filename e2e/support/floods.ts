// What a second client sees while others flood a server.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Flood, send } from "./flood.ts";

export type { Flood };

export interface Target {
  readonly url: string;
  readonly pid: number;
}

/** A server that reads every request and answers a few bytes: the least that any server does under the same flood. */
export async function bareServer(): Promise<Target & { stop: () => Promise<void> }> {
  const script = `const server = require("node:http").createServer((request, response) => {
    request.resume().on("end", () => response.end("{}"));
  }).listen(0, "127.0.0.1", () => console.log(server.address().port));
  process.stdin.resume().on("end", () => process.exit());`;
  // It ends with this process, because its input then ends.
  const child = spawn(process.execPath, ["-e", script], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const [port]: unknown[] = await once(createInterface({ input: child.stdout }), "line");
  return {
    url: `http://127.0.0.1:${String(port)}`,
    pid: child.pid ?? 0,
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}

export interface Probe {
  readonly method: string;
  readonly path: string;
  readonly token?: string;
  readonly body?: string;
}

export interface Experience {
  readonly p50: number;
  readonly p99: number;
  readonly statuses: readonly number[];
  /** How the flood was answered: each status, and how often. */
  readonly flooded: string;
}

/** Sends the probes in turn, with a short pause after each, while the flood runs. */
export async function under(
  { url }: Target,
  flood: Flood | undefined,
  probes: readonly Probe[],
  milliseconds: number,
): Promise<Experience> {
  const stop = flood === undefined ? async () => "" : await startFlood({ ...flood, url });
  await sleep(300);
  const agent = new Agent({ keepAlive: true });
  const taken: number[] = [];
  const statuses = new Set<number>();
  for (const begun = performance.now(); performance.now() - begun < milliseconds;)
    for (const probe of probes) {
      const sent = performance.now();
      statuses.add(await send({ ...probe, url, agent }));
      taken.push(performance.now() - sent);
      await sleep(2);
    }
  agent.destroy();
  const flooded = await stop();
  const sorted = taken.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), statuses: [...statuses], flooded };
}

async function startFlood(flood: Flood & { url: string }): Promise<() => Promise<string>> {
  const child = fork(fileURLToPath(new URL("flood-process.ts", import.meta.url)), [JSON.stringify(flood)]);
  const ended = once(child, "exit");
  await once(child, "message");
  return async () => {
    const said = once(child, "message");
    child.send("stop");
    const [answers]: unknown[] = await said;
    child.disconnect();
    await ended;
    return String(answers);
  };
}

/** Bytes of memory that the process took for itself. Mapped files don't count: the system takes them back when it needs them. */
export function memoryOf({ pid }: Target): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
}
