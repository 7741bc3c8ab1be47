import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { makeHomeFolder } from "../client/home-folder.ts";
import { listCompanies } from "../contract/companies.ts";
import { table } from "./show.ts";
import { clientOf, type Context, findCompany, drawingFor, print } from "./terminal.ts";
import { example, jsonFlag } from "./texts.ts";
import { chosenCompany, chosenFile, homeOf } from "./where.ts";

/** `agency use <company>` chooses the company for all further commands of this home folder. */
export function addUse(program: Command, context: Context): void {
  const { env } = context;
  const file = join(homeOf(env), chosenFile);
  program
    .command("use")
    .description("Choose the company for the following commands. Without a company, show the choice.")
    .argument("[company]", "Id, name or slug of a company.")
    .option("--none", "Forget the choice.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency use Bakery", "AGENCY_COMPANY=Bakery agency org"))
    .action(async (wanted: string | undefined, flags: { none?: true; json?: true }) => {
      if (flags.none === true) {
        rmSync(file, { force: true });
        return print(context, flags, { company: null }, "No company is chosen.");
      }
      const client = clientOf(env);
      if (wanted === undefined) {
        const { companies } = await client.call(listCompanies, { limit: 1000 });
        const chosen = chosenCompany(env);
        const company = chosen === undefined ? null : await findCompany(client, chosen);
        const text = company === null ? "No company is chosen." : `Commands use ${company.name}.`;
        return print(
          context,
          flags,
          { company },
          text,
          "",
          table("companies", companies, await drawingFor(context, companies)),
        );
      }
      const company = await findCompany(client, wanted);
      makeHomeFolder(homeOf(env));
      writeFileSync(file, `${company.id}\n`, { mode: 0o600 });
      print(
        context,
        flags,
        { company },
        `Commands now use ${company.name}. To use another for one command: --company <company>.`,
      );
    });
}

/** Gives every command that takes --company the chosen company, unless the flag is given. */
export function useChosen(program: Command, context: Context): void {
  program.hook("preAction", (_, command) => {
    const takesCompany = command.options.some(({ long }) => long === "--company");
    if (!takesCompany || looksAtAll.has(command.name()) || command.getOptionValue("company") !== undefined)
      return;
    command.setOptionValue("company", chosenCompany(context.env));
  });
}

/** These commands look at all companies unless one is named. */
const looksAtAll = new Set(["up", "doctor"]);
