// The load of other programs on the machine. This test and the processes it started don't count: a limit that they reach by
// themselves is broken.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

export interface OthersLoad {
  /** The factor by which other programs slowed everything down since then (`performance.now()`): 1 on a quiet machine. */
  since(from: number): number;
  stop(): void;
}

export function watchOthers(): OthersLoad {
  const looks = [look()];
  const timer = setInterval(() => looks.push(look()), 1000);
  return {
    since: (from) => {
      const before = looks.findLast(({ at }) => at <= from) ?? look();
      const now = look();
      const total = now.total - before.total;
      if (total < 20) return 1;
      const others = Math.min(0.95, (now.busy - before.busy - (now.own - before.own)) / total);
      // A machine's usual small load beside a test slows nothing down.
      return others < 0.1 ? 1 : 1 / (1 - others);
    },
    stop: () => clearInterval(timer),
  };
}

/** In hundredths of a second, over all cores. */
function look(): { at: number; total: number; busy: number; own: number } {
  const at = performance.now();
  if (!existsSync("/proc/stat")) {
    const total = (at / 10) * availableParallelism();
    return { at, total, busy: total / 2, own: 0 };
  }
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, stolen = 0] =
    readFileSync("/proc/stat", "utf8").split("\n")[0]?.trim().split(/\s+/).slice(1).map(Number) ?? [];
  const busy = user + nice + system + irq + soft + stolen;
  return { at, total: busy + idle + wait, busy, own: ofOwnTree() };
}

function ofOwnTree(): number {
  const all = new Map<number, { parent: number; used: number }>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
      // utime, stime, and the same of ended children.
      const used = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      all.set(Number(name), { parent: Number(fields[1]), used });
    } catch {
      // The process has just ended.
    }
  }
  const isOwn = (pid: number): boolean =>
    pid === process.pid || (pid > 1 && isOwn(all.get(pid)?.parent ?? 0));
  let own = 0;
  for (const [pid, { used }] of all) if (isOwn(pid)) own += used;
  return own;
}
