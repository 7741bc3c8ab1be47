import { newMood } from "./agent-turn.ts";
import { Broken } from "./broken.ts";
import { checkStep } from "./checks.ts";
import { foundWorld } from "./founding.ts";
import { comeToRest } from "./rest.ts";
import { start, step } from "./steps.ts";
import { World } from "./world.ts";

/**
 * One run of the simulator: the real program on a virtual clock with simulated processes. A seed decides every action and
 * every fault. The same seed produces the same trace, line by line.
 */
export interface Run {
  readonly seed: number;
  readonly steps: number;
  /** SHA-256 of the whole trace. */
  readonly hash: string;
  readonly lines: number;
  /** How often each kind of action happened. */
  readonly counts: Readonly<Record<string, number>>;
  readonly failure: Failure | null;
}

export interface Failure {
  /** The step that found the failure. It exceeds the number of steps if the world was already coming to rest. */
  readonly step: number;
  readonly rule: string;
  readonly message: string;
  readonly trace: readonly string[];
  /** The command that repeats the run. */
  readonly replay: string;
}

const thoroughEvery = 20;

/** With `calm` there are no faults. Nodes then run without their sweep, because events alone must tell them about all work. */
export async function simulate(seed: number, steps: number, options: { calm?: boolean } = {}): Promise<Run> {
  const world = new World(seed, options.calm === true);
  const mood = newMood();
  let failure: Failure | null = null;
  let at = 0;
  try {
    await foundWorld(world);
    for (const node of world.nodes) await start(world, node, false);
    await checkStep(world, true);
    for (at = 1; at <= steps; at++) {
      await step(world, mood);
      await world.quiet();
      await checkStep(world, at % thoroughEvery === 0);
      for (const { machine } of world.nodes) machine.forgetTheDead();
    }
    await comeToRest(world, mood);
  } catch (error) {
    failure = {
      step: at,
      rule: error instanceof Broken ? error.rule : "the simulator itself does not throw",
      message:
        error instanceof Broken
          ? error.message
          : error instanceof Error
            ? (error.stack ?? "")
            : String(error),
      trace: world.trace.last(),
      replay: `agency sim --seed ${seed} --steps ${steps}${world.calm ? " --calm" : ""}`,
    };
  } finally {
    world.say(`the last hash of the ledger is ${world.watch.head}`);
    await world.store.close();
  }
  return {
    seed,
    steps,
    hash: world.trace.digest(),
    lines: world.trace.lines,
    counts: Object.fromEntries([...world.counts].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    failure,
  };
}

export function describeFailure({ step, rule, message, trace, replay }: Failure, seed: number): string {
  return [
    `Seed ${seed} broke a rule at step ${step}: ${rule}.`,
    message,
    "",
    ...trace.map((line) => `  ${line}`),
    "",
    `Replay: ${replay}`,
  ].join("\n");
}
