// Floods a server from another process: the measuring process must be idle between its requests.
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { Flood, send } from "./flood.ts";

const flood = Flood.extend({ url: z.string() }).parse(JSON.parse(process.argv[2] ?? ""));
const body = bodyOf(flood.body);
const agent = new Agent({ keepAlive: true });
const statuses = new Map<number, number>();
let stopped = false;
process.once("disconnect", () => process.exit());
process.once("message", () => {
  stopped = true;
  agent.destroy();
  process.send?.(Object.fromEntries(statuses));
});
process.send?.("ready");
for (let count = 0; count < flood.loops; count++) void loop();

async function loop(): Promise<void> {
  while (!stopped)
    try {
      const status = await send({ ...flood, agent, body });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    } catch {
      // The server closed the connection.
      await sleep(5);
    }
}

function bodyOf(wanted: Flood["body"]): Buffer | string | undefined {
  if (wanted === undefined || typeof wanted === "string") return wanted;
  if (wanted.kind === "spaces") return Buffer.alloc(wanted.bytes, " ");
  const keys: string[] = [];
  for (let size = 0; size < wanted.bytes; size += (keys.at(-1)?.length ?? 0) + 1)
    keys.push(`"k${keys.length}":0`);
  return Buffer.from(`{${keys.join(",")}}`);
}
