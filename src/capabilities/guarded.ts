import type { z } from "zod";
import { Settings } from "../contract/companies.ts";
import type { Need, Operation } from "../contract/operation.ts";
import type { Actor } from "../events/ledger.ts";
import type { Tx } from "../store/store.ts";
import type { Caller } from "./identity.ts";

/**
 * guarded() is the only way to make an operation callable. What it makes can be run by the dispatcher alone, which
 * identifies the caller, finds the company, and checks the operation's needs in the same transaction (dispatch.ts).
 */
export interface Guarded {
  readonly operation: Operation;
  /** Checks an input from outside; what comes back is bound to it. */
  readonly accept: (raw: unknown) => Accepted | z.ZodError;
}

export interface Accepted {
  readonly input: Readonly<Record<string, unknown>>;
  readonly needs: "board" | "member" | readonly Need[];
  readonly run: (call: Surroundings) => Promise<unknown>;
}

export interface Call<I> extends Surroundings {
  readonly input: I;
}

export interface Surroundings {
  /** On an operation that only reads, writing through this fails. */
  readonly tx: Tx;
  readonly caller: Caller;
  readonly actor: Actor;
  /** The company everything in this call happens in. Empty for an operation of the installation. */
  readonly companyId: string;
  readonly newId: () => string;
  readonly newSecret: () => string;
  readonly settings: () => Promise<Settings>;
  /** Appends to the ledger in this transaction; the operation's own name unless another is given. */
  readonly record: (
    subject: string | null,
    data: Readonly<Record<string, unknown>>,
    as?: string,
  ) => Promise<void>;
}

export function guarded<I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  run: (call: Call<z.infer<I>>) => Promise<z.infer<O>>,
): Guarded {
  return {
    operation,
    accept: (raw) => {
      const parsed = operation.input.safeParse(raw);
      if (!parsed.success) return parsed.error;
      const input = parsed.data;
      const { needs } = operation;
      return {
        input,
        needs: typeof needs === "function" ? needs(input) : needs,
        run: (surroundings) => run({ ...surroundings, input }),
      };
    },
  };
}

/** Made once: making a schema takes many times as long as using it. */
const StoredSettings = Settings.partial();

export const defaultSettings: Settings = {
  maxFileBytes: 10 * 1024 * 1024,
  maxSessions: 4,
  messageRetentionDays: 90,
  defaultAdapterType: "rehearsal",
  allowedAdapterTypes: ["rehearsal", "human"],
  requireBoardApprovalForNewAgents: true,
  maxAgents: null,
  defaultAdapterConfig: {},
  chatLLMProvider: null,
  chatLLMModel: null,
  approvalExpirySeconds: 86_400,
  maxDelegations: 3,
  maxDelegationDepth: 2,
  maxOpenOutcomes: 200,
  growthSessionMinutes: 60,
  growthWaitingOutcomes: 10,
  growthInboxMessages: 20,
  growthWaitMinutes: 60,
  monthlyBudget: { usd: 1000, tokens: 1_000_000_000, sessions: 100_000 },
  sessionBudget: { usd: 1, tokens: 1_000_000 },
};

/** Settings are stored as far as they were set; the rest is the default of the running version. */
export function parseSettings(stored: string): Settings {
  const said = storedSettings(stored);
  return Settings.parse({
    ...defaultSettings,
    ...said,
    // A part that was never said has its default: no budget is without a limit by omission.
    monthlyBudget: { ...defaultSettings.monthlyBudget, ...said.monthlyBudget },
    sessionBudget: { ...defaultSettings.sessionBudget, ...said.sessionBudget },
  });
}

export function storedSettings(stored: string): { [name in keyof Settings]?: Settings[name] | undefined } {
  return StoredSettings.parse(JSON.parse(stored));
}
