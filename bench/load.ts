import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/** The orders of a load process. Each client sends its next request once the last one was answered. */
export interface Plan {
  readonly url: string;
  readonly token: string;
  readonly clients: number;
  readonly milliseconds: number;
  /** The clients together send no more than this. Without it, each sends as soon as it can. */
  readonly perSecond?: number;
  readonly requests: Requests;
}

export type Requests =
  /** `packed`: asks for compressed answers, as browsers do, and does not unpack them. */
  | { readonly kind: "get"; readonly paths: readonly string[]; readonly packed?: true }
  /** Each client overwrites its own file, based on the version and hash of its last write. */
  | { readonly kind: "overwrite"; readonly files: readonly Pair[]; readonly bytes: number }
  /** The clients take turns among the companies. */
  | { readonly kind: "create file"; readonly companyIds: readonly string[]; readonly bytes: number }
  | { readonly kind: "create outcome"; readonly companyId: string; readonly parents: readonly string[] }
  /** Each client hires an agent, approves the hire, and repeats that: two requests for each hire. */
  | { readonly kind: "hire and approve"; readonly companyId: string }
  /** Each client has a pair of agents. One sends, the other reads and acknowledges: three calls for each message. */
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

/** Runs the load in another process, so it does not take CPU time from the code it measures. */
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
