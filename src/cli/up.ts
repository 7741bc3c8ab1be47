import { type Command, Option } from "commander";
import { createClient } from "../client/client.ts";
import { firstCompany } from "./first-company.ts";
import { type Context, homeOf, portOf } from "./terminal.ts";

/** `agency up`: the daemon in the foreground, with a first company, until it is told to stop. */
export function addUp(program: Command, context: Context): void {
  program
    .command("up")
    .description("Start the daemon; makes the home folder and a first company when there is none.")
    .addOption(
      new Option("--port <number>", "Where to listen; default AGENCY_PORT or 4600.").argParser(Number),
    )
    .option("--home <folder>", "The home folder; default AGENCY_HOME or ~/.agency.")
    .option("--no-agents", "Answer calls, but start no sessions (also AGENCY_AGENTS=off).")
    .option("--company <name>", "The name of the first company.", "My company")
    .option(
      "--allow-commands",
      "The first company's agents may run commands, where agents/*.md of the home say so.",
    )
    .option("--json", "Print where it listens as JSON.")
    .action(
      async (flags: {
        port?: number;
        home?: string;
        agents: boolean;
        company: string;
        allowCommands?: true;
        json?: true;
      }) => {
        const { env, terminal } = context;
        const { startDaemon } = await import("../daemon/daemon.ts");
        const home = flags.home ?? homeOf(env);
        const daemon = await startDaemon({
          home,
          port: flags.port ?? portOf(env),
          databaseUrl: env["DATABASE_URL"],
          sandbox: env["AGENCY_SANDBOX"] !== "off",
          schedule: flags.agents && env["AGENCY_AGENTS"] !== "off",
          failAt: env["AGENCY_FAIL_AT"],
          log: (line) => terminal.err(JSON.stringify(line)),
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
          // A daemon without a company is of no use to whoever wanted these agents.
          await daemon.stop();
          throw error;
        });
        terminal.out(
          flags.json === true
            ? JSON.stringify({ url: daemon.url, home, companyId: company.id })
            : [
                `Agency is up at ${daemon.url} (home ${home}).`,
                `Company: ${company.name}. Its root agent answers to you, the board.`,
                ``,
                `In another terminal:`,
                `  agency tree                                   what is to be achieved, and who is responsible`,
                `  agency agents create Ada --role Researcher    an agent below the root`,
                `  agency outcomes create "…" --parents ${company.rootOutcomeId}`,
                `  agency kb create "Notes" --file notes.md      a knowledge file`,
                `  agency access explain ada kb:<id>             who may do what, and why`,
                `  agency --help                                 everything else`,
                ``,
                `Without an installed command, use: npx agency …  Stop with Ctrl-C.`,
              ].join("\n"),
        );
        await stopped;
      },
    );
}
