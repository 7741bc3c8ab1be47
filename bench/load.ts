import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/** What a load process is told to do: so many clients, each sending its next request when the last was answered. */
export interface Plan {
  readonly url: string;
  readonly token: string;
  readonly clients: number;
  readonly milliseconds: number;
  readonly requests: Requests;
}

export type Requests =
  | { readonly kind: "get"; readonly paths: readonly string[] }
  /** Each client overwrites a file of its own, with the version and hash it got last. */
  | { readonly kind: "overwrite"; readonly files: readonly Pair[]; readonly bytes: number }
  | { readonly kind: "create file"; readonly companyId: string; readonly bytes: number }
  | { readonly kind: "create outcome"; readonly companyId: string; readonly parents: readonly string[] }
  /** Each client hires somebody, approves that, and so on: two requests a pair. */
  | { readonly kind: "hire and approve"; readonly companyId: string }
  /** Each client has a pair of agents: one sends, the other reads it and acknowledges it. Three calls a message. */
  | { readonly kind: "mail"; readonly companyId: string; readonly pairs: readonly Correspondents[] }
  | {
      readonly kind: "mcp";
      readonly path: string;
      readonly era: "2025" | "2026";
      readonly tool: string;
      readonly inputs: readonly Readonly<Record<string, unknown>>[];
    };

export interface Correspondents {
  readonly senderToken: string;
  readonly receiverToken: string;
  readonly receiverId: string;
}

export interface Pair {
  readonly id: string;
  readonly version: number;
  readonly hash: string;
}

const Loaded = z.object({ perSecond: z.number(), p50: z.number(), p99: z.number() });
export type Loaded = z.infer<typeof Loaded>;

/** Load comes from a process of its own, so that it does not run on the time of what it measures. */
export interface Load {
  readonly run: (plan: Plan) => Promise<Loaded>;
  readonly stop: () => Promise<void>;
}

export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL("load-process.ts", import.meta.url)), { stdio: "inherit" });
  const ended = once(child, "exit");
  return {
    run: async (plan) => {
      child.send(plan);
      const [answer]: unknown[] = await Promise.race([
        once(child, "message"),
        ended.then(() => Promise.reject(new Error("the load process ended"))),
      ]);
      if (typeof answer === "string") throw new Error(answer);
      return Loaded.parse(answer);
    },
    stop: async () => {
      child.disconnect();
      await ended;
    },
  };
}
