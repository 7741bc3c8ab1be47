// The answers to a second client while others flood a server.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { type Flood, send } from "./flood.ts";

export type { Flood };

export interface Target {
  readonly url: string;
  readonly pid: number;
}

/** A server that reads every request and answers a few bytes: the minimum for any server under the same flood. */
export async function bareServer(): Promise<Target & { stop: () => Promise<void> }> {
  const script = `const server = require("node:http").createServer((request, response) => {
    request.resume().on("end", () => response.end("{}"));
  }).listen(0, "127.0.0.1", () => console.log(server.address().port));
  process.stdin.resume().on("end", () => process.exit());`;
  // It ends with this process, because its input is then closed.
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
  /** The answers to the flood: each status with its count. */
  readonly flooded: Readonly<Record<string, number>>;
  /** How long the flood took, in seconds. */
  readonly seconds: number;
}

/** Sends the probes in turn, with a short pause after each, while the flood runs. */
export async function under(
  { url }: Target,
  flood: Flood | undefined,
  probes: readonly Probe[],
  milliseconds: number,
): Promise<Experience> {
  const begun = performance.now();
  const stop = flood === undefined ? async () => ({}) : await startFlood({ ...flood, url });
  await sleep(300);
  const agent = new Agent({ keepAlive: true });
  const taken: number[] = [];
  const statuses = new Set<number>();
  for (const first = performance.now(); performance.now() - first < milliseconds || taken.length < 9;)
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
  const seconds = (performance.now() - begun) / 1000;
  return { p50: at(0.5), p99: at(0.99), statuses: [...statuses], flooded, seconds };
}

/** For the reader of a test or a benchmark. */
export function told({ p50, p99, flooded }: Experience): string {
  const answers = Object.entries(flooded).map(([status, count]) => `${count} × ${status}`);
  return `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, flood answered ${answers.join(", ")}`;
}

async function startFlood(flood: Flood & { url: string }): Promise<() => Promise<Experience["flooded"]>> {
  const child = fork(fileURLToPath(new URL("flood-process.ts", import.meta.url)), [JSON.stringify(flood)]);
  const ended = once(child, "exit");
  await once(child, "message");
  return async () => {
    const said = once(child, "message");
    child.send("stop");
    const [answers]: unknown[] = await said;
    child.disconnect();
    await ended;
    return Answers.parse(answers);
  };
}

const Answers = z.record(z.string(), z.number());

/** Bytes of memory that belong to the process alone. Mapped files don't count: the system can take them back. */
export function memoryOf({ pid }: Target): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
}

/**
 * The memory of the process at rest. After a burst, an idle process returns memory. Without a limit to wait for, it is the
 * memory after ten seconds.
 */
export async function memoryAtRest(target: Target, limit = 0): Promise<number> {
  const seconds = limit === 0 ? 10 : 60;
  for (let waited = 0; waited < seconds && memoryOf(target) > limit; waited++) await sleep(1000);
  return memoryOf(target);
}
