import { useEffect } from "react";
import { liveNow } from "./live.ts";
import type { PageOperation } from "./operations.ts";
import { cache } from "./reading.ts";

const every = 5000;

/**
 * While sessions run, what they print and cost leaves no event. The answers of this operation that are on the screen are read
 * again every few seconds. A hidden page asks for nothing.
 */
export function useRenewing({ name }: Pick<PageOperation, "name">, isRunning: boolean): void {
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => {
      if (document.hidden || liveNow().state === "lost") return;
      for (const query of cache.getQueryCache().findAll({ queryKey: [name], type: "active" }))
        void query.fetch().catch(() => undefined);
    }, every);
    return () => clearInterval(timer);
  }, [name, isRunning]);
}
