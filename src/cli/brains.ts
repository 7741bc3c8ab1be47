import type { Command } from "commander";
import { updateAgent } from "../contract/agents.ts";
import { updateCompany, viewCompany } from "../contract/companies.ts";
import { listBrains } from "../contract/hiring.ts";
import { JsonObject } from "../contract/words.ts";
import { clientOf, companyOf, type Context, nounOf, print } from "./terminal.ts";
import { companyFlag, example, jsonFlag, notJson } from "./texts.ts";

/** `agency brains use` gives a brain to the root agent, and to every agent that is later hired without one. */
export function addBrains(program: Command, context: Context): void {
  nounOf(program, "brains")
    .command("use")
    .description("Choose the brain of the root agent, and of agents that are hired later without one.")
    .argument("<type>", "Type of brain. `agency brains` lists them.")
    .option("--model <name>", "Model of the root agent. Default: the default model of the brain's provider.")
    .option("--adapter-config <json>", "Configuration of the brain. Default: the brain's own defaults.")
    .option(...companyFlag)
    .option(...jsonFlag)
    .addHelpText(
      "after",
      example(
        "agency brains use claude_local --model claude-sonnet-4-5",
        `agency brains use claude_local --adapter-config '{"login":"subscription"}'`,
      ),
    )
    .action(
      async (
        type: string,
        flags: { model?: string; adapterConfig?: string; company?: string; json?: true },
      ) => {
        const client = clientOf(context.env);
        const config = configIn(flags.adapterConfig ?? "{}");
        const companyId = await companyOf(client, flags.company);
        const company = await client.call(updateCompany, {
          companyId,
          defaultAdapterType: type,
          defaultAdapterConfig: config,
        });
        const root = await client.call(updateAgent, {
          id: (await client.call(viewCompany, { companyId })).rootAgentId,
          adapterType: type,
          adapterConfig: config,
          model: flags.model ?? null,
        });
        const { brains } = await client.call(listBrains, { companyId });
        const found = brains.find((brain) => brain.type === type);
        print(
          context,
          flags,
          { company: company.name, agent: root.name, type, config, model: flags.model ?? null },
          `${root.name} (${company.name}) now uses the brain ${type}. Agents hired from now on use it too; earlier hires keep theirs.`,
          found === undefined || found.available
            ? `Try it: agency brains test ${type}`
            : `It can't work yet. ${found.says}`,
        );
      },
    );
}

function configIn(text: string) {
  try {
    return JsonObject.parse(JSON.parse(text));
  } catch {
    throw notJson("adapterConfig");
  }
}
