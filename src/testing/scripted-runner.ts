import { newAgentDefaults } from "../agents/table.ts";
import type { Dispatch } from "../dispatch/dispatch.ts";
import type { Exit, Runner, StartSpec } from "../processes/runner.ts";
import type { TestCaller } from "./organization.ts";

/**
 * A runner whose processes are functions of the test. They call dispatch with the session's own token.
 *
 *   planned ──start──▶ gated ──release──▶ playing ──script ends, throws, or kill──▶ ended
 *
 * verify() fails on a session without a plan, a plan without a session, a script that threw, and a process that is still
 * gated.
 */
export type Script = (session: ScriptedSession) => Promise<Partial<Exit> | void>;

export interface ScriptedSession extends StartSpec {
  /** Calls an operation as the session. After a kill every call throws, because a dead process can't call. */
  readonly call: TestCaller;
  /** Waits until the test opens the gate. Until then the session counts in held(). */
  readonly hold: (gate: Promise<unknown>) => Promise<void>;
}

export interface ScriptedRunner extends Runner {
  /** Plans the agent's next sessions, one script for each. */
  plan(agentId: string, ...scripts: Script[]): void;
  /** Sets the script for sessions without a plan. Without this script, such a session is a failure. */
  otherwise(script: Script): void;
  /** Drops the agent's remaining plans, because another node played them. */
  forget(agentId: string): void;
  /** Every started session, in order. */
  readonly started: readonly StartSpec[];
  readonly killed: ReadonlySet<string>;
  /** Sessions whose processes the scheduler has suspended. Scripts run on. */
  readonly heldStill: ReadonlySet<string>;
  readonly orphansKilled: readonly { readonly pid: number; readonly started: string }[];
  readonly cleaned: readonly string[];
  /** The number of processes that have not ended. */
  alive(): number;
  /** The number of processes that wait for the test. */
  held(): number;
  /** Ends the gated processes, as the death of their node would. They have not run. */
  closeGates(): void;
  /** Makes the next start of a process of this agent fail with this error. */
  failStart(agentId: string, error: Error): void;
  verify(): void;
}

/** An agent's row, for tests of code that takes one. */
export const scriptedAgent: StartSpec["agent"] = {
  ...newAgentDefaults,
  id: "01900000-0000-7000-8000-000000000001",
  company_id: "01900000-0000-7000-8000-000000000000",
  name: "Ann",
  name_key: "ann",
  slug: "ann",
  role: "Writer",
  boss_id: null,
  mandate_id: "01900000-0000-7000-8000-000000000001",
  state_file_id: "01900000-0000-7000-8000-000000000002",
  brain_type: "rehearsal",
  brain_config: "{}",
  epoch: 1,
  created_at: 0,
};

/** A start of such an agent that was told nothing, for tests of runners. */
export const scriptedStart: StartSpec = {
  id: "session",
  token: "token",
  agent: scriptedAgent,
  workspace: "/nowhere",
  briefing: {
    text: "",
    assignment: "",
    systemPrompt: "",
    situation: {},
    mcpServers: [],
    mayConsult: false,
  },
  skills: [],
  secrets: [],
  limits: { processes: 100, memoryMb: 1000, diskMb: 100 },
  onUsage: () => undefined,
};

class Killed extends Error {}

interface Process {
  readonly spec: StartSpec;
  state: "gated" | "playing" | "ended";
  killed: boolean;
  holds: number;
  readonly end: (exit: Exit) => void;
}

export function scriptedRunner(dispatch: Dispatch): ScriptedRunner {
  const plans = new Map<string, Script[]>();
  const failures = new Map<string, Error>();
  const problems: unknown[] = [];
  const started: StartSpec[] = [];
  const killed = new Set<string>();
  const heldStill = new Set<string>();
  const orphansKilled: { pid: number; started: string }[] = [];
  const cleaned: string[] = [];
  const processes: Process[] = [];
  let anybody: Script | undefined;
  let pids = 1000;

  const runner: Runner = {
    workspaceFor: (id) => `/nowhere/${id}`,
    canStart: () => true,
    leaseRenewal: () => () => undefined,
    killOrphan: (pid, since) => void orphansKilled.push({ pid, started: since }),
    takeExit: () => undefined,
    cleanUp: async (id) => void cleaned.push(id),
    cleanUpOthers: async () => undefined,
    start: async (spec) => {
      const failure = failures.get(spec.agent.id);
      if (failures.delete(spec.agent.id)) throw failure ?? new Error("unreachable");
      const script = plans.get(spec.agent.id)?.shift() ?? anybody;
      started.push(spec);
      const { promise: exited, resolve } = Promise.withResolvers<Exit>();
      const process: Process = {
        spec,
        state: "gated",
        killed: false,
        holds: 0,
        end: (exit) => {
          process.state = "ended";
          resolve(exit);
        },
      };
      processes.push(process);
      const endWith = (code: number | null, reason: string) => (): void => {
        process.killed = true;
        killed.add(spec.id);
        process.end({ code, reason, output: "" });
      };
      return {
        pid: ++pids,
        started: `start-${pids}`,
        exited,
        release: () => {
          process.state = "playing";
          void play(process, script);
        },
        hold: (still) => void (still ? heldStill.add(spec.id) : heldStill.delete(spec.id)),
        // The real programs exit with 143 when they are asked to end.
        stop: endWith(143, "exited with code 143"),
        kill: endWith(null, "ended by SIGKILL"),
      };
    },
  };

  async function play(process: Process, script: Script | undefined): Promise<void> {
    const { spec } = process;
    if (script === undefined) {
      problems.push(
        new Error(`no session of ${spec.agent.name} was planned, but one started:\n${spec.briefing.text}`),
      );
      process.end({ code: 99, reason: "no session was planned", output: "" });
      return;
    }
    const call: TestCaller = async (operation, input, options = {}) => {
      if (process.killed) throw new Killed();
      const answer = await dispatch({ operation, token: spec.token, input, key: options.key });
      if (process.killed) throw new Killed();
      return operation.output.parse(answer);
    };
    const hold = async (gate: Promise<unknown>): Promise<void> => {
      process.holds += 1;
      await gate;
      process.holds -= 1;
      if (process.killed) throw new Killed();
    };
    try {
      const exit = (await script({ ...spec, call, hold })) ?? {};
      process.end({ code: 0, reason: "exited with code 0", output: "", ...exit });
    } catch (error) {
      if (!(error instanceof Killed)) problems.push(error);
      process.end({ code: 1, reason: "exited with code 1", output: "" });
    }
  }

  return {
    ...runner,
    started,
    killed,
    heldStill,
    orphansKilled,
    cleaned,
    plan: (agentId, ...scripts) => {
      plans.set(agentId, [...(plans.get(agentId) ?? []), ...scripts]);
    },
    otherwise: (script) => {
      anybody = script;
    },
    forget: (agentId) => void plans.delete(agentId),
    closeGates: () => {
      for (const { state, end } of processes)
        if (state === "gated") end({ code: 1, reason: "its gate was closed", output: "" });
    },
    failStart: (agentId, error) => void failures.set(agentId, error),
    alive: () => processes.filter(({ state }) => state !== "ended").length,
    held: () => processes.filter(({ state, holds }) => state === "playing" && holds > 0).length,
    verify: () => {
      const [first, ...more] = problems.splice(0);
      if (first !== undefined)
        throw more.length === 0
          ? first
          : new AggregateError([first, ...more], `${more.length + 1} scripts failed`);
      const unused = [...plans.values()].reduce((sum, left) => sum + left.length, 0);
      if (unused > 0)
        throw new Error(`${unused} planned session${unused === 1 ? " was" : "s were"} never started`);
      if (failures.size > 0)
        throw new Error("failStart was called for an agent, but none of its sessions was started");
      const gated = processes.filter(({ state }) => state === "gated");
      if (gated.length > 0)
        throw new Error(
          `a process of ${gated[0]?.spec.agent.name ?? ""} was started but neither released nor ended`,
        );
    },
  };
}
