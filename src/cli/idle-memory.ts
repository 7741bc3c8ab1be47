import { performance } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
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
 * Gives memory back to the system while the daemon is idle. On their own, V8, the database and malloc keep what a burst of
 * calls made them take: 150 MB after half a minute of load. What counts is the memory of the process, not of the heap: V8 itself
 * empties the heap, but keeps the pages.
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
    trimMalloc();
    resident = process.memoryUsage.rss();
  }, intervalMs).unref();
}

/**
 * glibc keeps every page between two pieces of memory that are in use: 30 MB after half a minute of load. `malloc_trim` gives
 * them back, and SQLite can call it: it takes the name of a library and of a function in it, and gives that function a pointer.
 * `malloc_trim` takes it for the number of bytes that the end of the heap may keep (docs/decisions/0089-trimming-the-heap-of-c.md).
 */
function trimMalloc(): void {
  const caller = new DatabaseSync(":memory:", { allowExtension: true });
  try {
    caller.loadExtension("libc.so.6", "malloc_trim");
  } catch {
    // SQLite takes 1, "something was given back", for an error. Where another C library is used, there is no such file.
  } finally {
    caller.close();
  }
}
