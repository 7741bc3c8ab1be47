import { setFlagsFromString } from "node:v8";
import { type Command, Option } from "commander";
import { createClient } from "../client/client.ts";
import { firstCompany } from "./first-company.ts";
import { isolationOf, sandboxNotice } from "./isolation.ts";
import { type Context, daemonOptions, homeOf, portOf, print } from "./terminal.ts";
import { example } from "./texts.ts";

/** `agency up` runs the daemon in the foreground until a signal stops it, and creates the first company. */
export function addUp(program: Command, context: Context): void {
  program
    .command("up")
    .description("Start Agency. The first start creates the home folder and a company.")
    .addOption(
      new Option("--port <number>", "Port to listen on. Defaults to AGENCY_PORT, then 4600.").argParser(
        Number,
      ),
    )
    .option("--home <folder>", "Folder for all data. Defaults to AGENCY_HOME, then ~/.agency.")
    .option("--no-agents", "Answer calls but start no sessions. Same as AGENCY_AGENTS=off.")
    .option("--company <name>", "Name of the first company.", "My company")
    .option(
      "--allow-commands",
      "Let agents defined in <home>/agents/*.md run commands. Read the files first.",
    )
    .option(
      "--allow-unsandboxed",
      "Run programs of agents even without a sandbox. Same as AGENCY_ALLOW_UNSANDBOXED=1.",
    )
    .option("--json", "Print the address as JSON.")
    .addHelpText("after", example("agency up --port 4700"))
    .action(
      async (flags: {
        port?: number;
        home?: string;
        agents: boolean;
        company: string;
        allowCommands?: true;
        allowUnsandboxed?: true;
        json?: true;
      }) => {
        const { env, terminal } = context;
        // Loading the program creates so many objects that V8 would grow the space for new ones to 16 MB and keep it. Holding
        // it small until the daemon is ready saves 13 MB at rest. Under load it may still grow.
        setFlagsFromString("--semi-space-growth-factor=1");
        const { startDaemon } = await import("../daemon/daemon.ts");
        const home = flags.home ?? homeOf(env);
        const daemon = await startDaemon({
          ...daemonOptions(context),
          home,
          port: flags.port ?? portOf(env),
          ...isolationOf(context, flags),
          schedule: flags.agents && env["AGENCY_AGENTS"] !== "off",
          failAt: env["AGENCY_FAIL_AT"],
        });
        const stopped = new Promise<void>((resolve, reject) => {
          for (const signal of ["SIGINT", "SIGTERM"] as const)
            process.once(signal, () => void daemon.stop().then(resolve, reject));
        });
        const client = createClient({ url: daemon.url, token: daemon.token });
        const company = await firstCompany(client, {
          home,
          name: flags.company,
          allowCommands: flags.allowCommands === true,
          say: (notice) => terminal.err(notice),
        }).catch(async (error: unknown) => {
          // Without its first company the daemon is useless: stop it and show the error.
          await daemon.stop();
          throw error;
        });
        setFlagsFromString("--semi-space-growth-factor=2");
        print(
          context,
          flags,
          { url: daemon.url, home, companyId: company.id, sandbox: daemon.sandbox() },
          `Agency is running at ${daemon.url} (data in ${home}).`,
          `Company: ${company.name}. You are its board. Its root agent reports to you.`,
          ...sandboxNotice(daemon.sandbox()),
          ``,
          `In another terminal, try:`,
          `  agency run "Write a guide to bread"    give the organization a goal and watch it work`,
          `  agency org                             see the agents and what they are doing`,
          `  agency tree                            see the outcomes and who is responsible`,
          `  agency inbox                           read your messages`,
          `  agency approvals                       see the requests that need your decision`,
          `  agency --help                          see all commands`,
          ``,
          `If the command \`agency\` is not installed, use \`npx agency\`. Press Ctrl-C to stop.`,
        );
        await stopped;
      },
    );
}
