import { Command, CommanderError } from "commander";
import { NoDaemon } from "../client/client.ts";
import { Refusal, refusalCodes } from "../contract/refusal.ts";
import { addAuditVerify } from "./audit.ts";
import { addRun } from "./goal.ts";
import { addFire, addReorganize } from "./reorganize.ts";
import { addHire } from "./hire.ts";
import { addShare, addSkills } from "./share.ts";
import { addDoctor } from "./doctor.ts";
import { addSecretSet } from "./secrets.ts";
import { addSim } from "./sim.ts";
import { escaping, type Terminal } from "./terminal.ts";
import { addOperations } from "./operations.ts";
import { addTree } from "./tree.ts";
import { example } from "./texts.ts";
import { addUp } from "./up.ts";

/**
 * The command line. Most commands are derived from the table of operations (operations.ts). The others make more than one
 * call, and each of those has its own file. Exit codes: 0 ok, 1 refused, 2 wrong usage, 3 no daemon.
 */
export async function run(args: readonly string[], env: NodeJS.ProcessEnv, outer: Terminal): Promise<number> {
  const terminal = escaping(outer);
  const program = new Command("agency")
    .description("Run an organization of AI agents on your own machine.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
    })
    .showHelpAfterError("(add --help to see what this command accepts)")
    .enablePositionalOptions()
    .helpOption("-h, --help", "Show this help.")
    .helpCommand("help [command]", "Show the help of a command.")
    .addHelpText("after", example("agency up", 'agency run "Write a one-page guide to baking bread"'));
  const context = { env, terminal, exitCode: 0 };
  addUp(program, context);
  addRun(program, context);
  addHire(program, context);
  addFire(program, context);
  addDoctor(program, context);
  addTree(program, context);
  addShare(program, context);
  addSim(program, context);
  addOperations(program, context);
  addSkills(program, context);
  addReorganize(program, context);
  addAuditVerify(program, context);
  addSecretSet(program, context);
  try {
    await program.parseAsync([...args], { from: "user" });
    return context.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof NoDaemon) {
      terminal.err(error.message);
      return 3;
    }
    if (error instanceof Refusal) {
      if (args.includes("--json")) terminal.out(JSON.stringify(error.toBody()));
      else terminal.err(`${error.message}\n${error.hint}`);
      return refusalCodes[error.code].exit;
    }
    terminal.err(error instanceof Error ? error.message : String(error));
    return 1;
  }
}
