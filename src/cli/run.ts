import { Command, CommanderError, Option } from "commander";
import { NoDaemon } from "../client/client.ts";
import { Refusal, refusalCodes } from "../contract/refusal.ts";
import { addApprovals } from "./approvals.ts";
import { addBrains } from "./brains.ts";
import { addConnect } from "./connect.ts";
import { addCopies } from "./copies.ts";
import { addKnowledge } from "./adding.ts";
import { addAudit } from "./audit.ts";
import { addResults, addSave } from "./saving.ts";
import { addFollow, addRun } from "./goal.ts";
import { addFire, addReorganize } from "./reorganize.ts";
import { addHire } from "./hire.ts";
import { addShare, addSkills } from "./share.ts";
import { addDoctor } from "./doctor.ts";
import { addSecretSet } from "./secrets.ts";
import { addServerImport } from "./import-servers.ts";
import { addSim } from "./sim.ts";
import { addBench } from "./measuring.ts";
import { addSignIn } from "./people.ts";
import { commandsForTools } from "./tool-commands.ts";
import { type Context, Interrupted, screenOn, type Terminal } from "./terminal.ts";
import { ShortIds } from "./short-ids.ts";
import { styled, wrapped } from "./look.ts";
import { didYouMean } from "../contract/nearest.ts";
import { addOperations } from "./operations.ts";
import { addTree } from "./tree.ts";
import { asFlag, orSignIn } from "./texts.ts";
import { addCompletion } from "./completion.ts";
import { addHelp, firstScreenEnd, groupOf } from "./help.ts";
import { addLogs } from "./logs.ts";
import { addService } from "./background.ts";
import { addShortcuts } from "./shortcuts.ts";
import { addStatus, notRunning } from "./status.ts";
import { systemTrouble } from "./trouble.ts";
import { cliVersion } from "./version.ts";
import { addStop, addUp } from "./up.ts";
import { addWhy } from "./why.ts";
import { addUse, useChosen } from "./use.ts";
import { tokenOf } from "./where.ts";

/**
 * The command line. Most commands are derived from the table of operations (operations.ts). Commands that make more than one
 * call have separate files. Exit codes: 0 ok, 1 refused, 2 wrong usage, 3 no daemon, 4 a person is needed.
 */
export async function run(args: readonly string[], env: NodeJS.ProcessEnv, outer: Terminal): Promise<number> {
  const isJson = args.includes("--json");
  const shorts = new ShortIds(env);
  const terminal = screenOn(outer, shorts, isJson);
  const context: Context = { env, terminal, shorts, exitCode: 0 };
  const program = commandsOf(context, args);
  const before = env["AGENCY_AS"];
  let ran = "";
  program.hook("preAction", (_, command) => {
    for (let each: Command | null = command; each !== null; each = each.parent)
      ran = `${each.name()} ${ran}`.trim();
    // `agency outcomes --as mill` passes the flag to the noun, and runs its verb `list`.
    for (let each: Command | null = command, found = false; each !== null && !found; each = each.parent) {
      const as: unknown = each.opts()["as"];
      found = typeof as === "string";
      if (typeof as === "string") env["AGENCY_AS"] = as;
    }
  });
  try {
    const wrong = unknownVerb(program, args);
    if (wrong !== undefined) {
      terminal.err(wrong);
      return 2;
    }
    await program.parseAsync(args.length === 0 ? ["status"] : [...args], { from: "user" });
    return context.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof Interrupted) return 130;
    if (error instanceof NoDaemon) {
      if (args.length === 0) {
        terminal.out(notRunning(env));
        return 3;
      }
      terminal.err(tokenOf(env) === undefined ? `${error.message}\n${orSignIn}` : error.message);
      return 3;
    }
    if (error instanceof Refusal) {
      if (isJson) terminal.out(JSON.stringify(error.toBody()));
      else {
        const hint = hintFor(error, ran);
        terminal.err([error.message, hint, ...commandsForTools(hint)].join("\n"));
      }
      return refusalCodes[error.code].exit;
    }
    terminal.err(systemTrouble(error, env) ?? (error instanceof Error ? error.message : String(error)));
    return 1;
  } finally {
    await terminal.written();
    if (before === undefined) delete env["AGENCY_AS"];
    else env["AGENCY_AS"] = before;
  }
}

/** The next step for a person at a command line. The daemon's own hints name headers and the description of its API. */
function hintFor({ code, hint }: Refusal, ran: string): string {
  if (code === "unauthenticated")
    return 'Sign in with a link that a board person gave you: agency sign-in "<link>"';
  return hint.replace(
    /^\S+ takes .* GET \/api\/openapi\.json describes them\.$/,
    `See what it takes: ${ran} --help`,
  );
}

/** All commands. Only the typed one gets its flags; the others have a name and a sentence (operations.ts). */
export function commandsOf(context: Context, args: readonly string[]): Command {
  const { terminal } = context;
  const columns = terminal.columns ?? 80;
  const program = new Command("agency")
    .description("Run an organization of AI agents on your own machine.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
      getOutHelpWidth: () => columns,
      getErrHelpWidth: () => columns,
    })
    .configureHelp({
      subcommandTerm: termOf,
      styleTitle: (title) => styled("bold", title),
      formatItem: (term, widest, description) => helpItem(term, widest, description, columns),
    })
    .showHelpAfterError("(add --help to see what this command accepts)")
    .enablePositionalOptions()
    .version(`agency ${cliVersion}`, "--version", "Show the version.")
    .helpOption("-h, --help", "Show this help.")
    .helpCommand(false)
    .addHelpText("after", firstScreenEnd);
  for (const add of [
    addUp,
    addStop,
    addStatus,
    addRun,
    addFollow,
    addHire,
    addFire,
    addDoctor,
    addTree,
    addWhy,
    addShare,
    addCopies,
    addSim,
    addBench,
  ])
    add(program, context);
  addOperations(program, context, args);
  for (const add of [
    addApprovals,
    addShortcuts,
    addLogs,
    addSkills,
    addReorganize,
    addAudit,
    addSignIn,
    addSecretSet,
    addServerImport,
    addBrains,
    addConnect,
    addUse,
    addKnowledge,
    addSave,
    addResults,
    addService,
    addCompletion,
    addHelp,
  ])
    add(program, context);
  useChosen(program, context);
  program.option(...asFlag);
  takeAs(program);
  for (const command of program.commands) command.helpGroup(groupOf(command.name()));
  return program;
}

/** The description begins at the same column everywhere. A longer term gets a separate line. */
function helpItem(term: string, widest: number, description: string, columns: number): string {
  const width = Math.min(widest, 34);
  const indent = " ".repeat(width + 4);
  const text = wrapped(description, columns - indent.length).replaceAll("\n", `\n${indent}`);
  return `  ${term.padEnd(width)}${term.length > width ? `\n${indent}` : "  "}${text}`.trimEnd();
}

/** The command and its arguments. Its own help has the flags. */
const termOf = (command: Command): string =>
  [
    command.name(),
    ...command.registeredArguments.map((one) => {
      const name = `${one.name()}${one.variadic ? "..." : ""}`;
      return one.required ? `<${name}>` : `[${name}]`;
    }),
  ].join(" ");

/**
 * The refusal for a verb that the noun does not have. Otherwise the noun's default verb would complain about too many
 * arguments.
 */
function unknownVerb(program: Command, args: readonly string[]): string | undefined {
  const [noun, verb] = args.filter((arg, at) => !arg.startsWith("-") && args[at - 1] !== "--as");
  const command = program.commands.find((each) => each.name() === noun);
  if (command === undefined || verb === undefined || command.commands.length === 0) return undefined;
  if (args.indexOf(verb) !== args.indexOf(noun ?? "") + 1) return undefined;
  const verbs = command.commands.flatMap((each) => [each.name(), ...each.aliases()]);
  if (verbs.includes(verb) || verb === "help") return undefined;
  return [
    `error: agency ${noun} has no command \`${verb}\`. ${didYouMean(verb, verbs)}`.trim(),
    `It has: ${verbs.toSorted().join(", ")}.`,
    `(add --help to see what each does)`,
  ].join("\n");
}

/** Every command accepts --as, also after its own name. Only the first screen shows the flag. */
function takeAs(command: Command): void {
  for (const each of command.commands) {
    each.addOption(new Option(...asFlag).hideHelp());
    takeAs(each);
  }
}
