import type { Command } from "commander";
import { Refusal } from "../contract/refusal.ts";
import type { Context } from "./terminal.ts";

/** `agency sim`: the program on a virtual clock, with faults chosen by a seed. It touches no home folder and no daemon. */
export function addSim(program: Command, context: Context): void {
  program
    .command("sim")
    .description(
      "Simulate an organization under faults; says which rule broke, if one did, and how to see it again.",
    )
    .requiredOption("--seed <number>", "What happens: the same seed, the same run.", Number)
    .option("--steps <number>", "How much happens before the world has to come to rest.", Number, 500)
    .option("--seeds <count>", "Run so many seeds, from --seed on; stops at the first that fails.", Number, 1)
    .option("--calm", "Nothing goes wrong: no crash, no pause, no fault of the store.")
    .option("--json", "Print the result of each seed as one line of JSON.")
    .action(async (flags: { seed: number; steps: number; seeds: number; calm?: true; json?: true }) => {
      for (const name of ["seed", "steps", "seeds"] as const)
        if (!Number.isSafeInteger(flags[name]) || flags[name] < 0)
          throw new Refusal("invalid", `--${name} is not a whole number.`, "Use a number such as 42.");
      const { describeFailure, simulate } = await import("../simulator/simulate.ts");
      for (let seed = flags.seed; seed < flags.seed + flags.seeds; seed++) {
        const run = await simulate(seed, flags.steps, { calm: flags.calm === true });
        if (flags.json === true) context.terminal.out(JSON.stringify(run));
        else if (run.failure === null)
          context.terminal.out(
            `Seed ${seed}: ${run.lines} lines, every rule held, at rest. Trace ${run.hash}`,
          );
        else context.terminal.out(describeFailure(run.failure, seed));
        if (run.failure === null) continue;
        context.exitCode = 1;
        return;
      }
    });
}
