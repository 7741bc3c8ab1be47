import type { Command } from "commander";
import { setSecret } from "../contract/secrets.ts";
import { clientOf, companyOf, type Context, nounOf, print } from "./terminal.ts";
import { homeOf } from "./where.ts";
import { companyFlag, example, jsonFlag, secretAsArgument, secretIsSet } from "./texts.ts";

/** `agency secrets set` reads the value from a prompt or from standard input, because every user can read arguments. */
export function addSecretSet(program: Command, context: Context): void {
  nounOf(program, "secrets")
    .command("set")
    .description("Set a secret. The value comes from a prompt or from standard input.")
    .argument("<name>", "Name of the secret, such as API_KEY.")
    // Without this, Commander would only complain about too many arguments.
    .allowExcessArguments()
    .option(...companyFlag)
    .option(...jsonFlag)
    .addHelpText("after", example("agency secrets set API_KEY", "agency secrets set API_KEY < key.txt"))
    .action(async (name: string, flags: { company?: string; json?: true }, { args }: Command) => {
      const [plain = name] = name.split("=", 1);
      if (args.length > 1 || plain !== name) throw secretAsArgument(plain);
      const { askSecret, readStdin } = context.terminal;
      const client = clientOf(context.env);
      const companyId = await companyOf(client, flags.company);
      const value = await (askSecret?.(`Value of ${name} (not shown): `) ??
        readStdin().then((bytes) => bytes.toString("utf8").replace(/\r?\n$/, "")));
      const secret = await client.call(setSecret, { companyId, name, value });
      print(context, flags, secret, secretIsSet(secret, homeOf(context.env)));
    });
}
