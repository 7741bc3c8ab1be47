import { readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";

/**
 * How many milliseconds a test allows for something that takes at most `promised` on an idle machine. Other programs and other
 * tests slow it down. Without the rule under test, it takes far longer, or never ends.
 */
export function allowed(promised: number): number {
  const perCore = waiting() / availableParallelism();
  return Math.ceil(promised * (perCore > 1 / 2 ? Math.max(6, 3 * perCore) : 2));
}

/**
 * How many threads want a core: the average of the last minute or, if that is more, the present number. The average does not
 * include work that has just begun.
 */
function waiting(): number {
  const [average = 0] = loadavg();
  try {
    // "0.20 0.18 0.12 3/80 11206": three of 80 run or wait for a core.
    const [, now = 0] = / (\d+)\//.exec(readFileSync("/proc/loadavg", "utf8")) ?? [];
    return Math.max(average, Number(now));
  } catch {
    return average;
  }
}
