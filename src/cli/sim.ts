import type { Command } from "commander";
import type { Context } from "./terminal.ts";
import { example, notANumber } from "./texts.ts";

/** `agency sim` runs the program on a virtual clock with faults chosen by a seed. It needs no home folder and no daemon. */
export function addSim(program: Command, context: Context): void {
  program
    .command("sim")
    .description(
      "Simulate an organization under faults. A broken rule is reported with the command that reproduces it.",
    )
    .requiredOption("--seed <number>", "Seed of the run. The same seed gives the same run.", Number)
    .option(
      "--steps <number>",
      "Number of random steps before the organization must come to rest.",
      Number,
      500,
    )
    .option(
      "--seeds <count>",
      "Number of seeds to run, starting at --seed. Stops at the first failure.",
      Number,
      1,
    )
    .option("--calm", "Inject no faults: no crashes, pauses or store errors.")
    .option("--json", "Print the result of each seed as one line of JSON.")
    .addHelpText("after", example("agency sim --seed 42 --seeds 10"))
    .action(async (flags: { seed: number; steps: number; seeds: number; calm?: true; json?: true }) => {
      for (const name of ["seed", "steps", "seeds"] as const)
        if (!Number.isSafeInteger(flags[name]) || flags[name] < 0) throw notANumber(name);
      const { describeFailure, simulate } = await import("../simulator/simulate.ts");
      for (let seed = flags.seed; seed < flags.seed + flags.seeds; seed++) {
        const run = await simulate(seed, flags.steps, { calm: flags.calm === true });
        if (flags.json === true) context.terminal.out(JSON.stringify(run));
        else if (run.failure === null)
          context.terminal.out(
            `Seed ${seed}: every rule held and the organization came to rest. Trace: ${run.lines} lines, hash ${run.hash}`,
          );
        else context.terminal.out(describeFailure(run.failure, seed));
        if (run.failure === null) continue;
        context.exitCode = 1;
        return;
      }
    });
}
