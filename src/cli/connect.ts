import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Argument, type Command } from "commander";
import { createClient } from "../client/client.ts";
import { linkPerson, signIn, signOut, viewMe } from "../contract/people.ts";
import { refusalOf } from "../contract/refusal.ts";
import { connectFile, localUrl, serveProgram } from "./mcp-bridge.ts";
import { forgetSignIn, keepSignIn } from "./signed-in.ts";
import { clientOf, type Context, print } from "./terminal.ts";
import { example, jsonFlag, notConnected, programFails } from "./texts.ts";
import { entryPoint, homeOf, signInOf, urlOf } from "./where.ts";

/**
 * `agency connect claude|codex` gives a person's own Claude Code or Codex the tools of Agency. The program gets a separate
 * sign-in of that person, which `agency me` lists. Its token stays in Agency's home. The program starts a bridge that reads the
 * token there. So the token is in no command line and no configuration, and the daemon may change its port.
 */
interface Program {
  readonly name: string;
  readonly command: string;
  readonly install: string;
  readonly adds: (env: readonly string[], run: readonly string[]) => readonly string[];
  readonly removes: readonly string[];
}

const programs: Readonly<Record<string, Program>> = {
  claude: {
    name: "Claude Code",
    command: "claude",
    install: "npm install --global @anthropic-ai/claude-code",
    adds: (env, run) => [
      "mcp",
      "add",
      "--scope",
      "user",
      "agency",
      ...env.flatMap((one) => ["-e", one]),
      "--",
      ...run,
    ],
    removes: ["mcp", "remove", "--scope", "user", "agency"],
  },
  codex: {
    name: "Codex",
    command: "codex",
    install: "npm install --global @openai/codex",
    adds: (env, run) => ["mcp", "add", ...env.flatMap((one) => ["--env", one]), "agency", "--", ...run],
    removes: ["mcp", "remove", "agency"],
  },
};

export function addConnect(program: Command, context: Context): void {
  const { env } = context;
  const which = () => new Argument("<program>", "claude or codex.").choices(Object.keys(programs));
  program
    .command("connect")
    .description("Give your own Claude Code or Codex the tools of Agency, with your rights.")
    .addArgument(which())
    .option("--remove", "Remove the tools, and end the sign-in.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency connect claude", "agency connect codex --remove"))
    .action(async (key: string, flags: { remove?: true; json?: true }) => {
      const { name, ...known } = programs[key] ?? missing(key);
      const run = (args: readonly string[]) => runs({ name, ...known }, args, env);
      const file = connectFile(key);
      if (flags.remove === true) {
        await run(known.removes).catch(() => undefined);
        const kept = signInOf(homeOf(env), file);
        if (kept !== undefined) await refusalOf(createClient(kept).call(signOut, {}));
        forgetSignIn(homeOf(env), file);
        return print(
          context,
          flags,
          { program: key, connected: false },
          `${name} is not connected any more.`,
        );
      }
      // Without the program, there is nothing to sign in.
      await run(["--version"]);
      const person = await signedIn(context, file, `${name} (agency connect)`);
      const variables = ["AGENCY_HOME", "AGENCY_AS", "AGENCY_COMPANY"].flatMap((variable) => {
        const value = variable === "AGENCY_HOME" ? homeOf(env) : env[variable];
        return value === undefined || value === "" ? [] : [`${variable}=${value}`];
      });
      await run(known.removes).catch(() => undefined);
      await run(known.adds(variables, [process.execPath, entryPoint(), "mcp", key]));
      print(
        context,
        flags,
        { program: key, connected: true, person },
        `${name} now has the tools of Agency, as ${person}. Start it and say: "Use agency. What needs me?"`,
        `To end it: agency connect ${key} --remove. \`agency me\` lists its sign-in.`,
      );
    });
  program
    .command("mcp", { hidden: true })
    .description("Connect a program that speaks MCP on standard input and output.")
    .addArgument(which())
    .addHelpText("after", example("agency mcp claude"))
    .action(async (key: string) => {
      if (!(await serveProgram(env, key))) throw notConnected(key);
    });
}

/** The name of the person. A sign-in that is still valid is used again. */
async function signedIn({ env }: Context, file: string, label: string): Promise<string> {
  const home = homeOf(env);
  const client = clientOf(env);
  const me = await client.call(viewMe, {});
  const kept = signInOf(home, file);
  if (kept !== undefined) {
    const connected = await createClient({ ...kept, url: localUrl(env, kept.url) })
      .call(viewMe, {})
      .catch(() => undefined);
    if (connected?.person.id === me.person.id) return me.person.name;
    if (connected !== undefined) await refusalOf(createClient(kept).call(signOut, {}));
  }
  const { code } = await client.call(linkPerson, { id: "me" });
  const url = urlOf(env);
  const made = await createClient({ url, token: undefined }).call(signIn, { code, kind: "program", label });
  keepSignIn(home, { url, token: made.token ?? "" }, file);
  return made.person.name;
}

async function runs(
  { name, command, install }: Pick<Program, "name" | "command" | "install">,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  try {
    await promisify(execFile)(command, args, { env, timeout: 30_000 });
  } catch (error) {
    throw programFails(name, install, error);
  }
}

function missing(key: string): never {
  throw notConnected(key);
}
