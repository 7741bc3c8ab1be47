import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const intervalMs = 2000;
/** Below this share of its time the daemon is idle. */
const idleShare = 0.02;
/** Less than this is not worth a collection. */
const worthBytes = 8_000_000;
/** Collecting takes about 1 ms per MB. A larger heap is left to V8. */
const largestHeap = 150_000_000;

/**
 * Gives memory back to the system while the daemon is idle. V8 on its own keeps the space that a burst of calls made it
 * take: about 40 MB after one request of each kind.
 */
export function returnMemoryWhenIdle(): void {
  setFlagsFromString("--expose-gc");
  const collect: (options: object) => void = runInNewContext("gc");
  let used = 0;
  let utilization = performance.eventLoopUtilization();
  setInterval(() => {
    const before = utilization;
    utilization = performance.eventLoopUtilization();
    if (performance.eventLoopUtilization(utilization, before).utilization > idleShare) return;
    const { heapUsed } = process.memoryUsage();
    if (heapUsed - used < worthBytes || heapUsed > largestHeap) return;
    collect({ type: "major", flavor: "last-resort" });
    used = process.memoryUsage().heapUsed;
  }, intervalMs).unref();
}
