import { performance } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const intervalMs = 2000;
/** If the daemon uses less than this share of its time, it is idle. */
const idleShare = 0.05;
/** A collection that frees less than this is not worth its time. */
const worthBytes = 4_000_000;
/** Collecting takes about 1 ms per MB. A larger heap is left to V8. */
const largestHeap = 400_000_000;

/**
 * Returns memory to the system while the daemon is idle. By themselves, V8, the database and malloc keep the memory that a
 * burst of calls needed: 150 MB after half a minute of load. This looks at the memory of the process, not of the heap: V8
 * empties the heap itself, but keeps the pages.
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
 * Calls `malloc_trim`. glibc keeps every free page between two used pieces of memory: 30 MB after half a minute of load.
 * `malloc_trim` returns these pages, and SQLite can call it: SQLite loads a library by name and calls a function in it with a
 * pointer. `malloc_trim` takes the pointer for the number of bytes that the end of the heap may keep
 * (docs/decisions/0089-trimming-the-heap-of-c.md).
 */
function trimMalloc(): void {
  const caller = new DatabaseSync(":memory:", { allowExtension: true });
  try {
    caller.loadExtension("libc.so.6", "malloc_trim");
  } catch {
    // SQLite takes the result 1, "something was returned", for an error. With another C library, this file does not exist.
  } finally {
    caller.close();
  }
}
