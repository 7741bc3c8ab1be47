import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const intervalMs = 2000;
/** Below this share of its time the daemon is idle. */
const idleShare = 0.05;
/** Less than this is not worth a collection. */
const worthBytes = 8_000_000;
/** Collecting takes about 1 ms per MB. A larger heap is left to V8. */
const largestHeap = 400_000_000;

/**
 * Gives memory back to the system while the daemon is idle. On their own, V8 and the database keep what a burst of calls made
 * them take: 150 MB after half a minute of load. What counts is the memory of the process, not of the heap: V8 itself empties the
 * heap, but keeps the pages.
 */
export function returnMemoryWhenIdle(rest: () => void): void {
  setFlagsFromString("--expose-gc");
  const collect: (options: object) => void = runInNewContext("gc");
  let resident = 0;
  let utilization = performance.eventLoopUtilization();
  setInterval(() => {
    const before = utilization;
    utilization = performance.eventLoopUtilization();
    if (performance.eventLoopUtilization(utilization, before).utilization > idleShare) return;
    if (process.memoryUsage.rss() - resident < worthBytes) return;
    if (process.memoryUsage().heapUsed > largestHeap) return;
    rest();
    collect({ type: "major", flavor: "last-resort" });
    resident = process.memoryUsage.rss();
  }, intervalMs).unref();
}
