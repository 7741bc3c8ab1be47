import { availableParallelism, loadavg } from "node:os";

/**
 * How many milliseconds a test allows for something that takes `promised` at most on a machine with nothing else to do. Other
 * programs and other tests slow it down. Without the rule that the test is about, it takes far longer, or never ends.
 */
export function allowed(promised: number): number {
  const [load = 0] = loadavg();
  return promised * (load > availableParallelism() / 2 ? 6 : 2);
}
